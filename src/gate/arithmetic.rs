//! The precision of a kernel's arithmetic, read off its PTX.

/// What one instruction rounds to: the unit roundoff of f16, bf16 or TF32 products and sums, of f32, of f64.
const FAMILIES: &[(&str, f64)] =
    &[(".bf16", 1.0 / 256.0), (".f16", 1.0 / 2048.0), (".tf32", 1.0 / 2048.0), (".f32", F32)];
/// That of f32.
pub const F32: f64 = 1.0 / 16_777_216.0;
const F64: f64 = 1.0 / 9_007_199_254_740_992.0;
const ROUNDING: &[&str] =
    &["add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"];

/// The unit roundoff of the least precise arithmetic in a PTX text; that of f64 where nothing rounds. Matrix
/// instructions count by the type in which they sum, and TF32 ones by that of their factors, which they round.
pub fn unit_roundoff(ptx: &str) -> f64 {
    ptx.lines().filter_map(of_line).fold(F64, f64::max)
}

fn of_line(line: &str) -> Option<f64> {
    let line = line.trim_start();
    let line = if line.starts_with('@') { line.split_once(' ')?.1.trim_start() } else { line };
    let opcode = line.split_whitespace().next()?;
    let base = opcode.split('.').next()?;
    if matches!(base, "mma" | "wmma" | "wgmma") {
        if opcode.contains(".tf32") {
            return Some(1.0 / 2048.0);
        }
        // The last types are those of factors and sums: `.f32.f16.f16.f32`.
        let sum = opcode.trim_end_matches(';').rsplit('.').next()?;
        return FAMILIES.iter().find(|(t, _)| t.get(1..) == Some(sum)).map(|(_, u)| *u);
    }
    if !ROUNDING.contains(&base) {
        return None;
    }
    FAMILIES.iter().find(|(t, _)| opcode.contains(t)).map(|(_, u)| *u)
}

/// Opcodes of approximate functions in a PTX text, sorted.
pub fn approximate(ptx: &str) -> Vec<String> {
    let opcode = |line: &str| -> Option<String> {
        let line = line.trim_start();
        let line = if line.starts_with('@') { line.split_once(' ')?.1.trim_start() } else { line };
        let word = line.split_whitespace().next()?.trim_end_matches(';');
        word.contains(".approx").then(|| word.to_owned())
    };
    let mut found: Vec<String> = ptx.lines().filter_map(opcode).collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_precise_arithmetic_counts() {
        let f32 = 1.0 / 16_777_216.0;
        for (text, want) in [
            ("\tfma.rn.f32 \t%f1, %f2, %f3, %f4;", f32),
            ("\t@%p1 add.f32 %f1, %f2, %f3;\n\tfma.rn.f16x2 %r1, %r2, %r3, %r4;", 1.0 / 2048.0),
            ("fma.rn.bf16 %rs1, %rs2, %rs3, %rs4;", 1.0 / 256.0),
            ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};", f32),
            ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%f1}, {%r1}, {%r2}, {%f2};", 1.0 / 2048.0),
            ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r2}, {%f2};", 1.0 / 2048.0),
            ("add.s32 %r1, %r2, %r3;\nld.global.f32 %f1, [%rd1];\ncvt.f32.f16 %f1, %rs1;", F64),
        ] {
            assert_eq!(unit_roundoff(text), want, "{text}");
        }
    }

    #[test]
    fn approximate_functions_are_named_once() {
        let text = "ex2.approx.ftz.f32 %f1, %f2;\n@%p1 ex2.approx.ftz.f32 %f1, %f2;\nadd.f32 %f1, %f1, %f2;\ntanh.approx.f32 %f3, %f1;";
        assert_eq!(approximate(text), ["ex2.approx.ftz.f32", "tanh.approx.f32"]);
    }
}
