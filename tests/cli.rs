//! The command line: exit codes, output as it is documented, robustness against odd input.

mod cli_common;

use std::io::Read as _;
use std::process::Stdio;

use cli_common::{BROKEN, Folder, PLAIN, TRANSPOSE};

#[test]
fn output_is_as_shown() {
    let cache = tempfile::tempdir().expect("a temporary folder");
    trycmd::TestCases::new()
        .env("KOPT_CACHE", cache.path().to_string_lossy())
        .env("NO_COLOR", "1")
        .env("CUDA_HOME", "/nonexistent")
        .env("COLUMNS", "100")
        .case("tests/cmd/*.trycmd");
}

#[test]
fn exit_codes_are_as_documented() {
    let skills = "skills = [\"own\"]\n";
    // Command, exit code, what is said.
    let table: &[(&str, i32, &str)] = &[
        ("check plain.cu", 0, "1 of 1 kernels modelled"),
        ("check transpose.cu", 0, "pad_shared applies"),
        ("check --fail-on paying transpose.cu", 1, "pad_shared applies"),
        ("check --fail-on applies plain.cu", 0, "kernels modelled"),
        ("check --strict transpose.cu", 0, "kernels modelled"),
        ("check --strict broken.cu", 4, "0 of 1 kernels modelled"),
        ("check broken.cu", 0, "0 of 1 kernels modelled"),
        ("check absent.cu", 2, "K0004"),
        ("check --skill pad_sharde plain.cu", 2, "did you mean `pad_shared`?"),
        ("check --arch pascal plain.cu", 2, "an architecture such as sm_80"),
        ("check --config bad.toml plain.cu", 2, "write `arch`"),
        ("check --assume rows%%4 plain.cu", 2, "K0550"),
        ("check --contract absent.toml plain.cu", 2, "K0541"),
        ("apply --skill pad_shared transpose.cu", 0, "tile[32][32 + 1]"),
        ("apply --skill pad_shared plain.cu", 1, "K0543"),
        ("apply --skill pad_shared --allow-refusal plain.cu", 0, "changed nothing"),
        ("apply --skill pad_shared padded.cu", 0, "already done"),
        ("apply --skill pad_shared --at 3 transpose.cu", 0, "tile[32][32 + 1]"),
        ("apply --skill pad_shared --at 4 transpose.cu", 1, "changed nothing"),
        ("apply --skill pad_shared --at 999 transpose.cu", 2, "K0545"),
        ("apply --skill pad_shared --at 3 transpose.cu plain.cu", 2, "exactly one file"),
        ("apply --skill pad_shared --verify none transpose.cu", 0, "compile: not run (--verify none)"),
        ("apply --locked transpose.cu", 1, "K0510"),
        ("apply transpose.cu", 2, "--skill"),
        ("why transpose.cu:3 pad_shared", 0, "proved"),
        ("why transpose.cu:1 pad_shared", 0, "It looks for"),
        ("why transpose.cu pad_shared", 2, "K0545"),
        ("why transpose.cu:0 pad_shared", 2, "K0545"),
        ("explain K0201", 0, "violated"),
        ("explain k0201", 0, "violated"),
        ("explain pad_shared", 0, "pad_shared"),
        ("explain bank_degree", 0, "pad_shared"),
        ("explain --list", 0, "K0513"),
        ("explain K9999", 2, "K0542"),
        ("skills list", 0, "vectorize_access"),
        ("skills show pad_shared", 0, "skill pad_shared"),
        ("skills show pad", 2, "K0542"),
        ("new unroll_loop --direction throughput", 0, "wrote kopt-skills/unroll_loop.skill"),
        ("new unroll_loop --direction throughput", 2, "K0551"),
        ("new Unroll --direction throughput", 2, "no name for a skill"),
        ("new unroll_all --direction throughptu", 2, "did you mean `throughput`?"),
        ("new unroll_all --direction throughput --native", 2, "no checkout"),
        ("init", 0, "wrote kopt.toml"),
        ("init", 2, "K0551"),
        ("doctor", 0, "tier 3"),
        ("toolchain show", 0, "NVRTC"),
        ("completions fish", 0, "complete -c kopt"),
        ("demo --offline", 0, "shuffle_reduce"),
        ("frobnicate", 2, "unrecognized subcommand"),
        ("--version", 0, env!("CARGO_PKG_VERSION")),
    ];
    let padded = TRANSPOSE.replace("[32][32]", "[32][32 + 1]");
    let files = [
        ("transpose.cu", TRANSPOSE),
        ("plain.cu", PLAIN),
        ("broken.cu", BROKEN),
        ("padded.cu", padded.as_str()),
        ("bad.toml", "arhc = \"sm_80\"\n"),
        ("own.toml", skills),
    ];
    let folder = Folder::new(&files);
    for (arguments, code, part) in table {
        let run = folder.kopt(arguments);
        assert_eq!(run.code, Some(*code), "kopt {arguments}\n{}\n--- stderr\n{}", run.out, run.err);
        assert!(
            run.out.contains(part) || run.err.contains(part),
            "`{part}` of kopt {arguments}\n{}\n{}",
            run.out,
            run.err
        );
    }
    assert_eq!(folder.get("transpose.cu"), TRANSPOSE, "nothing is written unless asked for");
}

/// A skill whose template writes a function that does not exist.
const WRONG: &str = r#"
skill call_nothing "a call of nothing" {
  direction throughput
  intent    "show that a kernel that does not compile is not written"
  class     approximating because "this is a test"
  touches   body
  scope     { case any  language cuda  platform sm_70.. }
  match     c: call(sqrtf)
  require { datatypes none  layout none  storage none  pipeline none  hardware none }
  effect    instructions falls
  risk      "none"
  body cuda template { """sqrtf($x)""" => """no_such_function($x)""" }
  example "one" { before """__global__ void k(float* x) { x[threadIdx.x] = sqrtf(x[threadIdx.x]); }""" }
  refuse "none" { before """__global__ void k(float* x) { x[0] = 1.0f; }""" because match }
}
"#;

#[test]
fn what_does_not_compile_is_not_written() {
    let kernel = "__global__ void k(float* x) { x[threadIdx.x] = sqrtf(x[threadIdx.x]); }\n";
    let folder =
        Folder::new(&[("k.cu", kernel), ("own/call_nothing.skill", WRONG), ("kopt.toml", "skills = [\"own\"]\n")]);
    let run = |verify: &str| {
        let mut command = folder.command(env!("CARGO_BIN_EXE_kopt"));
        // The user's own compiler, where there is one.
        command.env_remove("KOPT_CACHE").env("KOPT_CACHE", own_cache());
        command.args([
            "apply",
            "--skill",
            "call_nothing",
            "--even-if-not-paying",
            "--write",
            "--verify",
            verify,
            "k.cu",
        ]);
        command.output().expect("kopt starts")
    };
    let there = kopt::compile::Toolchain::find().nvrtc.is_some();
    let output = run("compile");
    assert_eq!(output.status.code(), Some(if there { 3 } else { 5 }), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(folder.get("k.cu"), kernel);
    assert!(!folder.path("kopt.lock").exists());
    if there {
        assert_eq!(run("auto").status.code(), Some(3));
        assert_eq!(folder.get("k.cu"), kernel);
    }
}

#[test]
fn an_original_that_does_not_compile_makes_the_check_inconclusive() {
    let kernel = TRANSPOSE.replace("in[y * n + x];", "of_another_file(in, y * n + x);");
    let folder = Folder::new(&[("t.cu", &kernel)]);
    let run = |verify: &str| {
        let mut command = folder.command(env!("CARGO_BIN_EXE_kopt"));
        command.env("KOPT_CACHE", own_cache()).args(["apply", "--skill", "pad_shared", "--verify", verify, "t.cu"]);
        command.output().expect("kopt starts")
    };
    let there = kopt::compile::Toolchain::find().nvrtc.is_some();
    assert_eq!(run("compile").status.code(), Some(if there { 6 } else { 5 }));
    let output = run("auto");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains(if there { "not checked: the original does not compile" } else { "not run" }), "{said}");
}

fn own_cache() -> std::ffi::OsString {
    kopt::compile::toolchain::cache_folder().unwrap_or_default().into_os_string()
}

#[test]
fn without_a_compiler_the_required_tier_is_missing() {
    let folder = Folder::new(&[("transpose.cu", TRANSPOSE)]);
    let run = folder.kopt("apply --skill pad_shared --verify compile transpose.cu");
    // A toolkit in the loader's own path is found whatever the cache is.
    if run.code != Some(0) {
        run.expect(5).says("kopt toolchain install");
        folder.kopt("apply --skill pad_shared transpose.cu").expect(0).says("compile: not run (no CUDA compiler");
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let folder = Folder::new(&[]);
    let mut child = folder
        .command(env!("CARGO_BIN_EXE_kopt"))
        .args(["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kopt starts");
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut err).expect("UTF-8");
    let status = child.wait().expect("it ends");
    assert_eq!((status.code(), err.as_str()), (Some(0), ""));
}

#[test]
fn odd_files_are_named_and_do_not_stop_the_others() {
    let folder = Folder::new(&[("src/transpose.cu", TRANSPOSE), ("src/empty.cu", "")]);
    folder.put("src/latin.cu", b"// gr\xfc\xdfe\n__global__ void g(float* x) { x[0] = 1.0f; }\n");
    folder.put("src/zero.cu", b"\0\0__global__ void z(float* x) { x[0] = 1.0f; }\0");
    folder.put("src/deep.cu", format!("__global__ void d(int* x) {{ x[0] = {}1; }}", "(".repeat(50_000)).as_bytes());
    folder.kopt("check src").expect(0).says("pad_shared applies").says("latin.cu is not UTF-8");
    folder.kopt("check .").expect(0).says("pad_shared applies");
    folder.kopt("apply --skill pad_shared src/latin.cu").expect(1);
    folder.kopt("check src/transpose.cu/x").expect(2);
    folder.kopt("apply --skill pad_shared --out src/transpose.cu src/transpose.cu").expect(2);
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf8_are_read() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::new(&[]);
    let name = std::ffi::OsStr::from_bytes(b"tr\xff.cu");
    // Some file systems do not have such names.
    if std::fs::write(folder.path("x").with_file_name(name), TRANSPOSE).is_ok() {
        folder.kopt("check .").expect(0).says("pad_shared applies");
    }
}

#[test]
fn the_memory_says_what_it_did_and_ends_as_documented() {
    let lines = std::fs::read("tests/data/memory/version-1.jsonl").expect("a file");
    let text = String::from_utf8(lines.clone()).expect("UTF-8");
    let folder = Folder::new(&[
        ("kopt.toml", "memory = \"kept/m.sqlite\"\n"),
        ("bent.jsonl", &text.replacen("sm_80", "sm_90", 1)),
        ("notes.txt", "remember the milk"),
        ("damaged.sqlite", "no database any more"),
        ("own/mine.toml", "memory = \"../other.sqlite\"\n"),
    ]);
    folder.put("lines.jsonl", &lines);
    // Command, exit code, what is said. One after another, on the memory that kopt.toml names.
    let table: &[(&str, i32, &str)] = &[
        ("memory show", 2, "K0710"),
        ("memory doctor", 2, "K0710"),
        ("memory export", 2, "K0710"),
        ("memory import bent.jsonl", 2, "K0717"),
        ("memory import absent.jsonl", 2, "K0541"),
        ("memory import lines.jsonl", 0, "24 pieces of evidence, 24 new"),
        ("memory import lines.jsonl", 0, "24 pieces of evidence, 0 new"),
        ("memory show", 0, "24 pieces of evidence, 6 runs"),
        ("memory show", 0, "skill vectorize_access: not tried"),
        ("memory show data-reuse", 0, "goal: fetch each byte"),
        ("memory show skill-3", 0, "f38a23ec41a3ef6eb6039a22e7f78cf3 run-0 step 4"),
        ("memory show f38a23", 0, "data-reuse -> memory-access (skill-3): correct, 1.033x"),
        ("memory show nothing", 2, "K0719"),
        ("memory show --context matmul", 2, "K0719"),
        ("memory graph", 0, "<svg"),
        ("memory graph -o deep/er/g.svg", 0, "bytes"),
        ("memory --memory new.sqlite merge kept/m.sqlite", 0, "24 new"),
        ("memory --memory new.sqlite merge notes.txt", 2, "K0711"),
        ("memory --memory new.sqlite merge damaged.sqlite", 2, "K0713"),
        ("memory --memory new.sqlite merge absent.sqlite", 2, "K0710"),
        ("memory --memory new.sqlite export -o again.jsonl", 0, "24 pieces"),
        ("memory --config own/mine.toml import lines.jsonl", 0, "24 new"),
        ("memory doctor", 0, "sums: sound"),
        ("memory forget --skill skill-3", 0, "5 pieces of evidence of skill-3 are gone"),
        ("memory forget --skill skill-3", 1, "nothing is known of skill-3"),
        ("memory show skill-3", 2, "K0719"),
        ("memory --memory notes.txt import lines.jsonl", 2, "K0711"),
        ("memory --memory damaged.sqlite import lines.jsonl", 0, "damaged.sqlite.damaged-1"),
        ("explain K0713", 0, "--mend"),
    ];
    for (command, code, said) in table {
        let run = folder.kopt(command);
        assert_eq!(run.code, Some(*code), "kopt {command}: {run:?}");
        assert!(run.out.contains(said) || run.err.contains(said), "kopt {command}: {said} in {run:?}");
    }
    assert_eq!(folder.get("again.jsonl"), text);
    assert_eq!(folder.get("notes.txt"), "remember the milk");
    assert_eq!(folder.get("damaged.sqlite.damaged-1"), "no database any more");
    assert!(folder.path("other.sqlite").exists() && folder.path("deep/er/g.svg").exists());
}
