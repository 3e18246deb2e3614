//! Functions of a value: arithmetic, helpers, and the calls that `use_fast_intrinsic` looks for.

use super::elem::Elem;
use super::kernel::Kernel;

/// `value` itself, or a function of it, in the type that is computed with.
pub fn applied(k: &mut Kernel, e: &Elem, value: &str) -> String {
    let calls = if k.approximate { 16 } else { 2 };
    match k.c.weighted(&[(9, 0), (2, 1), (1, 2), (1, 3), (calls, 4)]) {
        1 if e.is_float() => format!("{value} * {}", e.literal(2)),
        1 => format!("({value} & {})", e.literal(7)),
        2 => {
            let body = if e.is_float() { format!("v * {} + v", e.literal(3)) } else { format!("v ^ {}", e.literal(3)) };
            k.helper(format!("__device__ __forceinline__ {0} twist({0} v) {{ return {body}; }}", e.compute));
            format!("twist({value})")
        }
        3 if e.is_float() => format!("({value} > {0} ? {value} : {0})", e.literal(0)),
        3 => format!("max(({0}){value}, ({0})2)", e.compute),
        4 if e.compute == "float" => call(k, value),
        _ => value.to_owned(),
    }
}

/// A call of the math library, or of something that looks like one.
fn call(k: &mut Kernel, value: &str) -> String {
    let form = k.c.weighted(&[
        (6, 0),
        (3, 1),
        (3, 2),
        (3, 3),
        (2, 4),
        (1, 5),
        (1, 6),
        (1, 7),
        (1, 8),
        (1, 9),
        (1, 10),
        (1, 11),
        (1, 12),
    ]);
    let clamped = format!("fminf(fmaxf({value}, -3.0f), 3.0f)");
    match form {
        1 => format!("logf({value} * {value} + 0.5f)"),
        2 => format!("sinf({clamped})"),
        3 => format!("cosf({clamped})"),
        4 => format!("logf(1.0f + expf({value}))"),
        // As far as the argument is known, it may be anything.
        5 => format!("sinf({value})"),
        6 => {
            k.helper("namespace own { __device__ float expf(float v) { return v * v; } }".into());
            format!("own::expf({value})")
        }
        7 => {
            k.helper("#define EXP(v) expf(v)".into());
            format!("EXP({value})")
        }
        8 => {
            let bounded = k.c.one_of(&["logf(1.0f + expf(-v))", "expf(v) * 0.5f", "cosf(v)"]);
            let name = k.fresh("soft");
            k.helper(format!("__device__ float {name}(float v) {{ return {bounded}; }}"));
            format!("{name}({value})")
        }
        // The fast sine has no correct digit left out there.
        10 => {
            let f = k.c.one_of(&["sinf", "cosf"]);
            format!("{f}({value} * 3000.0f)")
        }
        11 => {
            k.helper("namespace own { __device__ float expf(float v) { return v * v; } }".into());
            k.first("using own::expf;".into());
            format!("expf({value})")
        }
        12 => {
            let f = k.fresh("both");
            k.helper(format!("__host__ __device__ float {f}(float v, int n) {{\n  float s = 0.0f;\n  for (int i = 0; i < n; ++i) s += logf(1.0f + v * v * i);\n  return s;\n}}"));
            format!("{f}({value}, 3)")
        }
        9 => format!("::expf({value} * 0.25f)"),
        _ => {
            let minus = k.c.one_of(&["-", "0.5f * ", ""]);
            format!("expf({minus}{value})")
        }
    }
}

/// Elements that are taken one by one, with a step that is no constant: calls in a loop and nothing to widen.
pub fn elementwise(k: &mut Kernel) {
    let e = super::elem::FLOAT;
    let (x, y) = (k.input(&e, "4 * rows"), k.output(&e, "4 * rows"));
    let i = k.fresh("i");
    let step = k.c.one_of(&["gridDim.x * blockDim.x * blockDim.y", "rows"]);
    k.line("if (r < rows) {");
    k.line(format!("for (int {i} = r; {i} < 4 * rows; {i} += {step}) {{"));
    if k.c.chance(1, 3) {
        let v = k.fresh("v");
        k.line(format!("  const float {v} = {x}[{i}];"));
        let value = applied(k, &e, &v);
        k.line(format!("  {y}[{i}] = 1.0f / (1.5f + {value} * {value});"));
    } else {
        let value = applied(k, &e, &format!("{x}[{i}]"));
        k.line(format!("  {y}[{i}] = {value};"));
    }
    k.line("}");
    k.line("}");
}
