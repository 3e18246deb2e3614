//! `Mode::Float64`, the reference: right also where code looks at the bits of floats or builds floats from bits.

use super::harness::Case;
use kopt::compile::{CompileRequest, NoHeaders, Target, slice};
use kopt::ptx::{Mode, Options, Program, parse};

const TEXT: &str = include_str!("../data/ptx/reference/functions.cu");

/// A kernel of the file with its function in f64, and how far the reference may be off for a result of 1, or for larger
/// ones relative to them: half a unit of f32 for storing it, and the error of the function's own polynomial.
type Function = (&'static str, fn(f64) -> f64, f64);

const FUNCTIONS: &[Function] = &[
    ("f_expf", f64::exp, 7e-8),
    ("f_exp10f", |x| 10f64.powf(x * f64::from(0.3f32)), 7e-8),
    ("f_exp2f", f64::exp2, 7e-8),
    ("f_expm1f", f64::exp_m1, 1e-7),
    ("f_logf", |x| x.abs().ln(), 2e-7),
    ("f_log1pf", |x| x.abs().ln_1p(), 2e-7),
    ("f_powf", |x| x.abs().powf(f64::from(1.7f32)), 1e-7),
    ("f_tanhf", f64::tanh, 1e-7),
    ("f_sinf", f64::sin, 1e-7),
    ("f_rintf", f64::round_ties_even, 0.0),
    ("f_fast_exp", f64::exp, 2e-7),
    ("f_exp2_by_shift", f64::exp2, 7e-8),
    ("f_exp2_by_magic", f64::exp2, 7e-8),
    ("f_exp2_by_table", f64::exp2, 7e-8),
    ("f_rint_by_magic", f64::round_ties_even, 0.0),
    ("f_abs_by_bits", |x| (3.0 * x).abs(), 6e-8),
    ("f_split_and_joined", |x| x, 6e-8),
    ("f_upper_and_lower", |x| x * x, 6e-8),
    ("f_clamped", clamped, 6e-8),
    ("f_harmonic_by_key", |x| x * x + (1..=2000).map(|k| 1.0 / f64::from(k)).sum::<f64>(), 6e-8),
];

fn clamped(x: f64) -> f64 {
    let tenth = f64::from(0.1f32);
    (x * tenth).clamp(0.0, 1.0) + (0.5 - x * tenth).clamp(0.0, 1.0)
}

#[test]
fn functions_of_bits_are_as_in_double_precision() {
    let Some(gate) = super::gate() else { return };
    let case = Case::read(TEXT);
    let names: Vec<&str> = TEXT.lines().filter_map(|l| l.strip_prefix("ELEMENTWISE(")?.split(',').next()).collect();
    assert_eq!(names, FUNCTIONS.iter().map(|f| f.0).collect::<Vec<_>>());
    let mut wrong = vec![];
    for fast in [false, true] {
        let options: &[String] = if fast { &["--ftz=true".to_owned()] } else { &[] };
        for (name, function, tolerance) in FUNCTIONS {
            let cut = slice("user.cu", TEXT, &Target::Name(name), &NoHeaders).unwrap_or_else(|e| panic!("{name}: {e}"));
            let request = CompileRequest { slice: &cut, names: vec![], arch: "sm_80", options };
            let compiled = gate.compile(&request).unwrap_or_else(|e| panic!("{name}: {e}"));
            let program =
                Program::decode(&parse(&compiled.ptx).unwrap(), name).unwrap_or_else(|e| panic!("{name}: {e}"));
            let (memory, outcome) = case.run(&program, Options { mode: Mode::Float64, ..Options::default() });
            assert!(outcome.completed, "{name}");
            let inputs = case.floats(&memory, "in");
            let worst = case.floats(&memory, "out").into_iter().zip(inputs).map(|(value, x)| {
                let exact = function(f64::from(x));
                ((f64::from(value) - exact).abs() / exact.abs().max(1.0), x, value, exact)
            });
            let worst = worst.max_by(|a, b| a.0.total_cmp(&b.0)).expect("values");
            if worst.0.is_nan() || worst.0 > *tolerance {
                wrong.push(format!("{name}, fast {fast}: {worst:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
