//! `kopt verify`, `run`, `profile` and `gate selftest`, as their users call them.
//!
//! PTX needs no compiler. What needs NVRTC says so when there is none, and fails then if `KOPT_REQUIRE_TIER1=1`.

mod cli_common;

use cli_common::Folder;

const SUM: &str = "\
// kopt: dims.n = { samples = [300], max = 5000 }
// kopt: args.x = { role = \"in\", dtype = \"f32\", shape = [\"n\"] }
// kopt: args.y = { role = \"out\", dtype = \"f32\", shape = [1] }
// kopt: launch = { grid = 1, block = 32, args = [\"x\", \"y\", \"i32(n)\"] }
__global__ void sum(const float* x, float* y, int n) {
    float s = 0.0f;
    for (int i = threadIdx.x; i < n; i += 32) s += x[i];
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);
    if (threadIdx.x == 0) y[0] = s;
}
";

/// The files of tests/data/verify and those given.
fn folder(more: &[(&str, &str)]) -> Folder {
    let folder = Folder::new(more);
    for entry in std::fs::read_dir("tests/data/verify").expect("a folder") {
        let path = entry.expect("a file").path();
        folder.put(&path.file_name().expect("a name").to_string_lossy(), &std::fs::read(&path).expect("a file"));
    }
    folder
}

#[test]
fn ptx_pairs_need_no_compiler() {
    let cases: &[(&str, i32, &[&str])] = &[
        ("verify scale.ptx scale.ptx", 0, &["verdict: equal bits on", "launches: the original's"]),
        ("verify scale.ptx scale_by_adding.ptx --candidate-kernel triple", 0, &["verdict: within tolerance on"]),
        ("verify scale.ptx scale_wrong.ptx", 3, &["K0650", "first: y[", "ulp apart", "verdict: failed in"]),
        ("verify scale.ptx scale_unguarded.ptx", 3, &["K0651", "access out of bounds", "past the end of `"]),
        ("verify scale.ptx scale_unsupported.ptx", 6, &["K0652"]),
        ("verify scale_unguarded.ptx scale.ptx", 2, &["K0660", "--contract"]),
        ("verify a.fatbin b.fatbin", 2, &["K0660"]),
        ("verify scale.ptx absent.ptx", 2, &["K0541"]),
    ];
    let folder = folder(&[]);
    for (command, code, parts) in cases {
        let run = folder.kopt(command);
        run.expect(*code);
        parts.iter().for_each(|p| _ = run.says(p));
    }
}

#[test]
fn a_tolerance_of_the_contract_is_obeyed() {
    let folder = folder(&[]);
    let text = folder.get("scale.contract.toml");
    folder.put("exact.toml", format!("{text}\n[tolerance.y]\nexact = true\n").as_bytes());
    folder.put("loose.toml", format!("{text}\n[tolerance.y]\nrms = 1e-2\nmax = 1e-1\n").as_bytes());
    let adding = "verify scale.ptx scale_by_adding.ptx --candidate-kernel triple --contract";
    folder.kopt(&format!("{adding} exact.toml")).expect(3).says("allowed: equal bits");
    // So loose a bound takes the next lower precision for right.
    folder.kopt("verify scale.ptx scale_wrong.ptx --contract loose.toml").expect(6).says("next lower precision");
}

#[test]
fn cells_in_which_the_original_is_not_defined_count_for_nothing() {
    let folder = folder(&[]);
    let run = folder.kopt("verify scale_unguarded.ptx scale.ptx --contract scale.contract.toml");
    run.expect(6).says("K0655").says("the original is not defined on the contract's own sample");
    // Whole blocks are what it was written for.
    let text =
        folder.get("scale.contract.toml").replace("[500]", "[512]").replace("max =", "divisible_by = 128\nmax =");
    folder.put("whole.toml", text.as_bytes());
    folder.kopt("verify scale_unguarded.ptx scale.ptx --contract whole.toml").expect(0).says("equal bits on");
}

#[test]
fn the_answer_is_the_same_on_any_number_of_threads() {
    let folder = folder(&[]);
    let run = |threads: &str| {
        let mut command = folder.command(env!("CARGO_BIN_EXE_kopt"));
        let words = "--format json verify scale.ptx scale_wrong.ptx --seed 7".split_whitespace();
        let output = command.env("RAYON_NUM_THREADS", threads).args(words).output().expect("kopt starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(run("1"), run("3"));
}

#[test]
fn reports_stand_alone_and_other_seeds_are_other_inputs() {
    let folder = folder(&[]);
    folder.kopt("verify scale.ptx scale_wrong.ptx --html report.html").expect(3);
    let page = folder.get("report.html");
    for part in
        ["<!doctype html>", "<svg ", "Not checked", "Difference of the sources", "kopt verify scale.ptx", "K0650"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("<script"));
    let of = |seed: u32| {
        folder.kopt(&format!("--format json run scale.ptx --seed {seed}")).json()["run"]["outputs"].to_string()
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn run_shows_outputs_and_findings() {
    let folder = folder(&[]);
    folder
        .kopt("run scale.ptx --dim n=5 --contents integers")
        .expect(0)
        .says("output y (f32, 5 elements")
        .says("0 findings");
    folder.kopt("run scale_unguarded.ptx --contract scale.contract.toml").expect(3).says("K0651");
    folder.kopt("run scale.ptx --dim m=5").expect(2).says("no dim `m`").says("choose of n");
    folder.kopt("run scale.ptx --dim n=200000").expect(2).says("n <= 100000");
    folder
        .kopt("profile scale.ptx --gpu t4")
        .expect(0)
        .says("estimated")
        .says("sectors per request")
        .says("roofline of t4");
}

#[test]
fn without_a_compiler_cuda_files_name_the_missing_tier() {
    let folder = folder(&[("sum.cu", SUM)]);
    let run = folder.kopt("verify sum.cu sum.cu");
    if run.code != Some(0) {
        run.expect(5).says("K0410").says("kopt toolchain install");
    }
}

#[test]
fn what_the_file_does_not_show_is_asked_and_not_guessed() {
    let unlaunched = "__global__ void add(const float* x, float* y, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = x[i] + 1.0f;\n}\n";
    let folder = folder(&[("add.cu", unlaunched)]);
    let run = folder.kopt("verify add.cu add.cu");
    run.expect(6).says("K0653").says("kopt contract infer --write add.cu");
}

#[test]
fn faults_are_shown_on_the_candidates_own_line() {
    let broken = SUM.replace("i < n; i += 32", "i <= n; i += 32");
    let folder = folder(&[("sum.cu", SUM), ("broken.cu", &broken)]);
    let Some(run) = folder.kopt_compiling("verify sum.cu broken.cu") else { return };
    run.expect(3).says("broken.cu:7:").says("i <= n").says("access out of bounds");
    let Some(run) = folder.kopt_compiling("verify sum.cu sum.cu") else { return };
    run.expect(0).says("equal bits on").says("registers per thread");
}

#[test]
fn the_gate_refuses_what_is_wrong_and_passes_what_is_right() {
    let folder = folder(&[]);
    let Some(run) = folder.kopt_compiling("--format json gate selftest") else { return };
    let value = run.json();
    let cases = value["cases"].as_array().expect("cases");
    let wrong: Vec<String> = cases.iter().filter(|c| c["as_expected"] != true).map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((run.code, value["passed"].as_bool()), (Some(0), Some(true)));
    let refused = cases.iter().filter(|c| c["expected"] == "refused").count();
    assert!(refused >= 40 && cases.len() - refused >= 12, "{refused} of {}", cases.len());
}

#[test]
fn an_unknown_case_is_no_success() {
    folder(&[]).kopt("gate selftest nothing-of-this-name").expect(2).says("K0662");
}
