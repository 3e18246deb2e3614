//! What a test adds to the facts at hand is what another walk would find.

use super::*;

const DIVIDING: &str = "__global__ void k(const float* x, float* y, int rows, int cols) {
  int quarter = (cols - 8) / 4;
  for (int i = 0; i < quarter; ++i) y[i] = x[4 * i];
}
";

const HALVING: &str = "__global__ void k(float* y, unsigned rows, unsigned cols) {
  __shared__ float t[256];
  int i = threadIdx.x;
  t[i] = y[blockIdx.x * cols + i];
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    if (i < s && cols % 2 == 0) t[i] += t[i + s];
    __syncthreads();
  }
  if (i == 0) y[blockIdx.x] = t[0];
}
void f(float* y, int n) { k<<<n, 256>>>(y, n, 1024); }
int main() { f(nullptr, 3); }
";

/// Everything that was found, walks at launches included.
fn found(analysis: &Analysis) -> Vec<String> {
    let of = |f: &Facts| format!("{:?} {:?}", f.context.known, f.walked);
    std::iter::once(&analysis.general).chain(analysis.visible()).map(of).collect()
}

/// For each kernel of the text, whether the test could be added; if so, what that gives is compared with another walk.
fn added(text: &str, assume: &[&str], test: &[&str], walk_before: bool) -> Vec<bool> {
    let mut sources = Sources::default();
    let source = SourceFile::new("k.cu", text);
    let unit = crate::syntax::cuda::parse_unit(FileId(0), &source, &Default::default());
    sources.add(source);
    let program = Program { units: vec![unit], complete: text.contains("main(") };
    let macros = macros_of(&program, &sources);
    let read = |list: &[&str]| -> Vec<Assumption> {
        list.iter().map(|a| parse_assumption(a, None).expect("an assumption")).collect()
    };
    let (before, more) = (read(assume), read(test));
    let of = |kernel| {
        let known: Vec<&Assumption> = before.iter().collect();
        let analysis = analyse(&program, &macros, kernel, &known).expect("a kernel");
        if walk_before {
            found(&analysis);
        }
        let both: Vec<&Assumption> = before.iter().chain(&more).collect();
        let again = analyse(&program, &macros, kernel, &both).expect("a kernel");
        let here = analysis.assuming(&more);
        here.iter().for_each(|here| assert_eq!(found(here), found(&again), "{assume:?} {test:?} {text}"));
        here.is_some()
    };
    program.kernels().into_iter().map(of).collect()
}

#[test]
fn a_test_adds_what_another_walk_would_find() {
    let demo = include_str!("../../cli/demo/attention_rows.cu");
    let tests: [&[&str]; 4] = [
        &["cols % 4 == 0"],
        &["rows % 8 == 0", "cols % 4 == 0", "blockDim.x % 32 == 0"],
        &["cols % 6 == 4"],
        &["nothing % 2 == 0"],
    ];
    for test in tests {
        for assume in [&[][..], &["cols % 2 == 0", "rows <= 4096"], &["cols >= 16", "aligned(x, 16)", "no_wrap"]] {
            for walk_before in [false, true] {
                assert_eq!(added(demo, assume, test, walk_before), [true; 4]);
                assert_eq!(added(HALVING, assume, test, walk_before), [true]);
                // What is known not to be negative is divided without being asked.
                assert_eq!(added(DIVIDING, assume, test, walk_before), [assume.contains(&"cols >= 16")]);
            }
        }
    }
}

#[test]
fn other_tests_need_another_walk() {
    assert_eq!(added(HALVING, &[], &["cols % 4 == 0", "rows <= 64"], true), [false]);
    assert_eq!(added(HALVING, &[], &["aligned(y, 16)"], false), [false]);
}
