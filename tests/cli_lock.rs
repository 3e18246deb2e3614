//! kopt.lock: what keeps an entry valid, and what makes it stale.

mod cli_common;

use cli_common::{Folder, TRANSPOSE};

/// Records the padding of the transpose into `gen`, then changes the source.
fn recorded(change: impl Fn(&str) -> String) -> Folder {
    let folder = Folder::new(&[("src/transpose.cu", TRANSPOSE)]);
    folder.kopt("apply --skill pad_shared --out gen src/transpose.cu").expect(0).says("wrote gen");
    let changed = change(TRANSPOSE);
    folder.put("src/transpose.cu", changed.as_bytes());
    folder
}

type Change = fn(&str) -> String;

#[test]
fn comments_white_space_and_other_functions_keep_the_lock_valid() {
    let table: &[(&str, Change)] = &[
        ("nothing", |t| t.to_owned()),
        ("a comment above", |t| format!("// new\n/* lines\n */\n{t}")),
        ("a comment in the kernel", |t| t.replace("__syncthreads();", "__syncthreads();  // all of the tile")),
        ("another comment", |t| t.replace("A tile whose", "The tile, whose")),
        ("indentation", |t| t.replace("    int ", "\tint ")),
        ("line ends", |t| t.replace('\n', "\r\n")),
        ("another function", |t| format!("static int twice(int x) {{ return 2 * x; }}\n{t}")),
    ];
    for (what, change) in table {
        let folder = recorded(change);
        let run = folder.kopt("apply --locked --out locked src/transpose.cu");
        assert_eq!(run.code, Some(0), "{what}\n{}\n{}", run.out, run.err);
        let expected = change(TRANSPOSE).replace("tile[32][32];", "tile[32][32 + 1];");
        assert_eq!(folder.get("locked/src/transpose.cu"), expected, "{what}");
    }
}

#[test]
fn a_change_of_what_the_rewrite_rests_on_makes_it_stale() {
    let table: &[(&str, Change, &str)] = &[
        ("a bound", |t| t.replace("if (x < n && y < n)", "if (x < n && y <= n)"), "K0513"),
        ("an extent", |t| t.replace("tile[32][32];", "tile[32][64];"), "K0513"),
        ("a launch", |t| t.replace("dim3(32, 32)", "dim3(32, 8)"), "K0514"),
        (
            "a second launch",
            |t| t.replace("\n}\n\nvoid run", "\n}\nvoid other(float* x) { transpose<<<1, 32>>>(x, x, 4); }\nvoid run"),
            "K0514",
        ),
        ("the name", |t| t.replace("transpose", "turn"), "K0512"),
    ];
    for (what, change, code) in table {
        let folder = recorded(change);
        let run = folder.kopt("apply --locked --out locked src/transpose.cu");
        assert_eq!(run.code, Some(1), "{what}\n{}\n{}", run.out, run.err);
        assert!(run.err.contains(code), "{what}: {code}\n{}", run.err);
        assert!(!folder.path("locked").exists(), "{what}: nothing is written");
    }
}

const SUM: &str = "\
__global__ void block_sum(const float* x, float* y) {
    __shared__ float sm[256];
    int tid = threadIdx.x;
    sm[tid] = x[blockIdx.x * 256 + tid];
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (tid < s) sm[tid] += sm[tid + s];  // halves
        __syncthreads();
    }
    if (tid == 0) y[blockIdx.x] = sm[0];
}

void run(const float* x, float* y) { block_sum<<<64, 256>>>(x, y); }
";

#[test]
fn a_comment_inside_the_replaced_text_is_not_lost() {
    let folder = Folder::new(&[("s.cu", SUM)]);
    folder.kopt("apply --skill shuffle_reduce --out gen s.cu").expect(0).says("__shfl_down_sync");
    let command = "apply --locked --out locked s.cu";
    folder.kopt(command).expect(0);
    assert_eq!(folder.get("gen/s.cu"), folder.get("locked/s.cu"));
    folder.put("s.cu", SUM.replace("// halves", "// the tree").as_bytes());
    folder.kopt(command).expect(1).says("K0517");
    folder.put("s.cu", SUM.replace("    sm[tid] = x", "    // one each\n    sm[tid] = x").as_bytes());
    folder.kopt(command).expect(0);
    assert!(folder.get("locked/s.cu").contains("// one each"));
}

#[test]
fn a_macro_outside_the_kernel_is_judged_again() {
    let text = format!("#define ROWS 32\n{}", TRANSPOSE.replace("tile[32][32]", "tile[32][ROWS]"));
    let folder = Folder::new(&[("t.cu", &text)]);
    folder.kopt("apply --skill pad_shared --out gen t.cu").expect(0);
    folder.kopt("apply --locked --out locked t.cu").expect(0);
    folder.put("t.cu", text.replace("ROWS 32", "ROWS 33").as_bytes());
    // The tile has another size, which no condition and no edit depends on.
    folder.kopt("apply --locked --out locked t.cu").expect(0);
    folder.put("t.cu", text.replace("ROWS 32", "ROWS 9000").as_bytes());
    folder.kopt("apply --locked --out locked t.cu").expect(1).says("K0518");
}

const SKILL: &str = r#"
skill use_rsqrt "reciprocal square root" {
  direction throughput
  intent    "one instruction instead of two"
  class     approximating because "rounded once instead of twice"
  touches   body
  scope     { case any  language cuda  platform sm_70.. }
  match     c: call(sqrtf)
  require { datatypes none  layout none  storage none  pipeline none  hardware none }
  effect    instructions falls
  risk      "none"
  body cuda template { """sqrtf($x)""" => """__fsqrt_rn($x)""" }
  example "one" { before """__global__ void k(float* x) { x[threadIdx.x] = sqrtf(x[threadIdx.x]); }""" }
  refuse "none" { before """__global__ void k(float* x) { x[0] = 1.0f; }""" because match }
}
"#;

#[test]
fn a_change_of_the_skill_or_its_body_makes_it_stale() {
    let kernel = "__global__ void k(float* x) { x[threadIdx.x] = sqrtf(x[threadIdx.x]); }\n";
    let folder =
        Folder::new(&[("k.cu", kernel), ("own/use_rsqrt.skill", SKILL), ("kopt.toml", "skills = [\"own\"]\n")]);
    folder.kopt("apply --skill use_rsqrt --even-if-not-paying --out gen k.cu").expect(0);
    folder.kopt("apply --locked k.cu").expect(0).says("__fsqrt_rn");
    // A comment in the skill file is no change of the skill.
    folder.put("own/use_rsqrt.skill", format!("# a comment\n{SKILL}").as_bytes());
    folder.kopt("apply --locked k.cu").expect(0);
    folder.put("own/use_rsqrt.skill", SKILL.replace("one instruction", "a single instruction").as_bytes());
    folder.kopt("apply --locked k.cu").expect(1).says("K0515");
    std::fs::remove_file(folder.path("own/use_rsqrt.skill")).expect("it was there");
    folder.kopt("apply --locked k.cu").expect(1).says("K0515");
}

#[test]
fn what_is_done_already_is_done() {
    let folder = Folder::new(&[("t.cu", TRANSPOSE)]);
    folder.kopt("apply --skill pad_shared --write t.cu").expect(0);
    let lock = folder.get("kopt.lock");
    let written = folder.get("t.cu");
    folder.kopt("apply --locked --write t.cu").expect(0).says("already done");
    folder.kopt("apply --skill pad_shared --write t.cu").expect(0).says("already done");
    assert_eq!((folder.get("kopt.lock"), folder.get("t.cu")), (lock.clone(), written));
    // The original, taken from version control again, is rewritten as recorded.
    folder.put("t.cu", TRANSPOSE.as_bytes());
    folder.kopt("apply --locked --write t.cu").expect(0);
    assert_eq!(folder.get("t.cu"), TRANSPOSE.replace("[32][32];", "[32][32 + 1];"));
    assert_eq!(folder.get("kopt.lock"), lock);
}

#[test]
fn a_damaged_lock_is_named() {
    let folder = Folder::new(&[("t.cu", TRANSPOSE), ("kopt.lock", "version = 9\n")]);
    folder.kopt("apply --locked t.cu").expect(2).says("version 9");
    folder.put("kopt.lock", b"version = 1\n[[file\n");
    folder.kopt("apply --locked t.cu").expect(2).says("K0511");
    folder.kopt("apply --skill pad_shared --write t.cu").expect(2).says("K0511");
}
