//! `kopt optimize` as its users call it, without a model.

mod cli_common;

use cli_common::Folder;

/// Two skills of two directions apply, in any order.
const KERNEL: &str = "\
// kopt: dims.rows = { samples = [40], min = 1, max = 256 }
// kopt: dims.cols = { samples = [64], min = 4, max = 128, divisible_by = 4 }
// kopt: args.x = { role = \"in\", dtype = \"f32\", shape = [\"rows\", \"cols\"], align = 16 }
// kopt: args.y = { role = \"out\", dtype = \"f32\", shape = [\"rows\"] }
// kopt: permissions = { approximate = true }
// kopt: launch = { grid = \"ceil_div(rows, 32)\", block = 32, args = [\"x\", \"y\", \"i32(rows)\", \"i32(cols)\"] }
__global__ void row_sum(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float acc = 0.0f;
    for (int i = 0; i < cols; ++i) acc += expf(x[r * cols + i]);
    y[r] = acc;
}
";

/// Looks right and computes something else: only running it tells.
const WRONG: &str = "\
skill use_wrong_base \"another base\" {
  direction throughput
  intent    \"exponentials of base two\"
  class     preserving because \"it looks the same\"
  touches   body
  scope     { case any  language cuda  platform sm_70.. }
  match     c: call(expf)
  require {
    datatypes { resolves_to_builtin(c) because \"a function of the program's own has this name\" }
    layout   none
    storage  none
    pipeline none
    hardware none
  }
  pays when { in_hot_path(c) because \"a call outside of loops is too rare to matter\" }
  body cuda template { \"\"\"expf($x)\"\"\" => \"\"\"exp2f($x)\"\"\" }
  example \"in a loop\" { before \"\"\"
    __global__ void k(float* y, int n) {
      for (int i = threadIdx.x; i < n; i += 32) y[i] = expf(y[i]);
    }
  \"\"\" }
  refuse \"a function of the same name\" { before \"\"\"
    __device__ float expf(float x) { return x; }
    __global__ void k(float* y, int n) {
      for (int i = threadIdx.x; i < n; i += 32) y[i] = expf(y[i]);
    }
  \"\"\" because datatypes }
}
";

fn folder() -> Folder {
    Folder::new(&[("k.cu", KERNEL)])
}

#[test]
fn a_walk_takes_what_is_sound_and_can_be_gone_on_with() {
    let folder = folder();
    let Some(first) = folder.kopt_compiling("optimize k.cu --memory m.sqlite --explain") else { return };
    first.expect(0).says("step 1/6").says("(taken)").says("end: no skill may be applied any more; 2 of 2 taken");
    first.says("not timed").says("draw 0.");
    assert_eq!(folder.get("k.cu"), KERNEL, "nothing is written that was not asked for");
    let patch = folder.get("k.cu.optimize/best.patch");
    assert!(patch.contains("float4") && patch.contains("__expf"), "{patch}");
    folder.git("init -q");
    folder.git("apply --check k.cu.optimize/best.patch");
    folder.kopt("memory --memory m.sqlite show").expect(0).says("2 pieces of evidence, 1 runs");

    folder.kopt("optimize k.cu --memory m.sqlite").expect(2).says("K0704").says("--resume");
    // Everything stands in the journal: no compiler is needed, and nothing is learned twice.
    let dirty = folder.kopt_compiling("optimize k.cu --memory m.sqlite --resume --write").expect("a compiler");
    dirty.expect(2).says("K0544");
    assert_eq!(folder.get("k.cu"), KERNEL);
    let command = "optimize k.cu --memory m.sqlite --resume --write --allow-dirty";
    let resumed = folder.kopt_compiling(command).expect("a compiler");
    resumed.expect(0).says("step 2/6").says("(taken, from the journal)");
    folder.kopt("memory --memory m.sqlite show").expect(0).says("2 pieces of evidence, 1 runs");
    assert!(folder.get("k.cu").contains("float4"));
    folder.kopt("optimize k.cu --memory m.sqlite --resume").expect(2).says("K0705").says("another text of the file");
}

#[test]
fn the_same_seed_takes_the_same_way() {
    let journal = |seed: u32| {
        let folder = folder();
        folder.kopt_compiling(&format!("optimize k.cu --memory m.sqlite --seed {seed}"))?.expect(0);
        let text = folder.get("k.cu.optimize/journal");
        // The run's name and time are its own; choices, texts and verdicts are not.
        let steps = text.lines().skip(1).filter(|l| !l.contains("\"recorded\"")).map(str::to_owned);
        Some(steps.collect::<Vec<_>>())
    };
    let (Some(a), Some(b)) = (journal(3), journal(3)) else { return };
    assert_eq!(a, b);
    let others: Vec<_> = (4..12).filter_map(journal).collect();
    assert!(others.iter().any(|o| *o != a), "another draw comes up among eight seeds");
}

#[test]
fn what_is_wrong_is_left_and_remembered() {
    let folder = folder();
    folder.put("own/use_wrong_base.skill", WRONG.as_bytes());
    folder.put("kopt.toml", b"skills = [\"own\"]\n");
    let Some(run) = folder.kopt_compiling("optimize k.cu --memory m.sqlite --steps 8") else { return };
    run.expect(0)
        .says("throughput: use_wrong_base  (left)")
        .says("wrong")
        .says("memory-access: vectorize_access  (taken)");
    let patch = folder.get("k.cu.optimize/best.patch");
    assert!(!patch.contains("exp2f"), "{patch}");
    folder.kopt("memory --memory m.sqlite show throughput").expect(0).says("use_wrong_base");
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = folder();
    folder.put("plain.cu", cli_common::PLAIN.as_bytes());
    // Arguments, exit code, what is said.
    let table: &[(&str, i32, &str)] = &[
        ("optimize plain.cu --memory m.sqlite", 1, "the original: nothing better was found"),
        ("optimize plain.cu --memory m.sqlite --dry-run", 1, "no skill may be applied"),
        ("optimize k.cu --memory m.sqlite --dry-run", 0, "legal: memory-access: vectorize_access (assumed)"),
        ("optimize k.cu --memory m.sqlite --policy best", 2, "K0700"),
        ("optimize k.cu --memory m.sqlite --steps 0", 2, "K0700"),
        ("optimize absent.cu --memory m.sqlite", 2, "K0004"),
        // Without a compiler nothing can be said of a candidate, and nothing is learned.
        ("optimize k.cu --memory m.sqlite --out o", 6, "nothing can be said"),
        ("optimize k.cu --memory m.sqlite --out o --resume --seed 5", 2, "another policy"),
        ("memory --memory m.sqlite show", 0, "0 pieces of evidence"),
        ("optimize k.cu --policy feedback-only --out p", 6, "nothing can be said"),
    ];
    for (arguments, code, says) in table {
        folder.kopt(arguments).expect(*code).says(says);
    }
    assert!(!folder.path("k.cu.optimize").exists(), "a dry run leaves nothing");
    folder.put("o/journal", b"my own notes\n");
    folder.kopt("optimize k.cu --memory m.sqlite --out o").expect(2).says("K0706");
    assert_eq!(folder.get("o/journal"), "my own notes\n");
}
