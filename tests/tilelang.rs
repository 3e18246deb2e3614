//! TileLang programs: what `kopt lower` says and writes, and lowered ones judged like any other candidate.
//!
//! No test needs TileLang: what it made of tests/data/tilelang/matmul.py is there with its provenance, and a program that
//! answers as TileLang's Python does stands in for it.
#![cfg(unix)]

mod cli_common;

use std::os::unix::fs::PermissionsExt as _;

use cli_common::Folder;

const DATA: &str = "tests/data/tilelang";

fn data(name: &str) -> String {
    std::fs::read_to_string(format!("{DATA}/{name}")).expect(name)
}

fn lowered() -> Folder {
    let folder = Folder::new(&[("matmul.cu", &data("matmul.cu"))]);
    for name in ["matmul.ptx", "wrong.ptx", "matmul.cu", "wrong.cu", "matmul.contract.toml"] {
        folder.put(&format!("lowered/{name}"), data(&format!("lowered/{name}")).as_bytes());
    }
    folder
}

#[test]
fn a_lowered_product_of_matrices_is_verified_end_to_end() {
    let cases = [("matmul", 0, "within tolerance on"), ("wrong", 3, "K0650")];
    let folder = lowered();
    for (name, code, says) in cases {
        let command =
            format!("verify matmul.cu lowered/{name}.ptx --candidate-contract lowered/matmul.contract.toml --budget 1");
        let Some(run) = folder.kopt_compiling(&command) else { return };
        run.expect(code).says(says);
    }
}

/// A size that varies cannot be part of a program.
#[test]
fn a_program_of_one_size_is_no_candidate_for_many() {
    let folder = lowered();
    folder.put("many.cu", data("matmul.cu").replace("min = 128, max = 128", "min = 1, max = 128").as_bytes());
    let command = "verify many.cu lowered/matmul.ptx --candidate-contract lowered/matmul.contract.toml";
    let Some(run) = folder.kopt_compiling(command) else { return };
    run.expect(2).says("K0663").says("do not depend on `m`");
}

/// The user's own files of these names stay as they are; those of an earlier run are written again.
#[test]
fn only_its_own_files_are_written_over() {
    for name in ["twice.cu", "twice.contract.toml", "twice.ptx"] {
        let folder = with_python(PYTHON);
        folder.put(name, b"// mine\n");
        let Some(run) = folder.kopt_compiling("lower k.py twice --python ./python --trust") else { return };
        run.expect(2).says("K0696").says("name another folder with -o");
        assert_eq!(folder.get(name), "// mine\n");
    }
    let folder = with_python(&PYTHON.replace("\"tilelang\": \"0.1.15\"", "\"tilelang\": \"0.1\\n\\u001b[31m\""));
    for _ in 0..2 {
        let run = folder.kopt_compiling("lower k.py twice --python ./python --trust").expect("a compiler");
        run.expect(0).says("by TileLang 0.1??[31m");
    }
}

/// Lowers as TileLang does, a kernel that doubles.
const PYTHON: &str = r#"#!/bin/sh
for last; do :; done
cat > "$last" <<'END'
{"tilelang": "0.1.15", "source": "extern \"C\" __global__ void twice(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }",
 "buffers": [{"name": "x", "dtype": "float32", "shape": [64]}, {"name": "y", "dtype": "float32", "shape": [64]}],
 "kernels": [{"name": "twice", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "parameters": ["x", "y"], "read_only": [0]}],
 "includes": []}
END
"#;

fn with_python(text: &str) -> Folder {
    let folder = Folder::new(&[("k.py", "raise SystemExit('not run here')\n"), ("python", text)]);
    std::fs::set_permissions(folder.path("python"), std::fs::Permissions::from_mode(0o755)).expect("permissions");
    folder
}

#[test]
fn what_is_lowered_is_written_with_its_launches() {
    let folder = with_python(PYTHON);
    let Some(run) = folder.kopt_compiling("lower k.py twice --python ./python --trust -o out") else { return };
    run.expect(0).says("lowered    by TileLang 0.1.15").says("wrote      out/twice.contract.toml");
    assert!(folder.get("out/twice.ptx").contains(".entry twice"));
    let cubin = std::fs::read(folder.path("out/twice.cubin")).expect("a CUBIN");
    assert!(cubin.starts_with(b"\x7fELF"));
    let own = "// kopt: dims.n = { samples = [64], min = 64, max = 64 }\n\
        // kopt: args.x = { role = \"in\", dtype = \"f32\", shape = [\"n\"] }\n\
        // kopt: args.y = { role = \"out\", dtype = \"f32\", shape = [\"n\"] }\n\
        // kopt: launch = { grid = 1, block = 64, args = [\"x\", \"y\"] }\n\
        __global__ void add(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x]; }\n";
    folder.put("add.cu", own.as_bytes());
    let command = "verify add.cu out/twice.ptx --candidate-contract out/twice.contract.toml";
    folder.kopt_compiling(command).expect("a compiler").expect(0).says("equal bits on");
    let json = "--format json lower k.py twice --python ./python --trust -o out";
    let answer = folder.kopt_compiling(json).expect("a compiler").json();
    let schema: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string("docs/schema/lower.json").expect("a schema")).expect("JSON");
    for key in schema["required"].as_array().expect("a list") {
        assert!(!answer[key.as_str().expect("a name")].is_null(), "{key}");
    }
    assert_eq!(answer["files"].as_array().map(Vec::len), Some(4));
}

#[test]
fn what_cannot_be_lowered_is_named() {
    let none = "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'tilelang'\" >&2\nexit 1\n";
    let fails = "#!/bin/sh\necho 'ValueError: tiles must divide' >&2\nexit 1\n";
    let descriptor = PYTHON.replace("\"parameters\": [\"x\"", "\"parameters\": [\"x_desc\"");
    let broken = PYTHON.replace("y[threadIdx.x] =", "y[threadIdx.x] ==;");
    let slow = "#!/bin/sh\nsleep 30\n";
    // What answers in Python's place, more arguments, exit code, and what is said.
    let cases = [
        (PYTHON, "lower k.py twice --python ./python", 2, "--trust"),
        (PYTHON, "lower absent.py twice --python ./python --trust", 2, "K0541"),
        (PYTHON, "lower k.py twice --python ./absent --trust", 5, "K0696"),
        (none, "lower k.py twice --python ./python --trust", 5, "pip install tilelang"),
        (fails, "lower k.py twice --python ./python --trust", 2, "tiles must divide"),
        (&descriptor, "lower k.py twice --python ./python --trust", 6, "descriptor"),
        (&broken, "lower k.py twice --python ./python --trust", 6, "nvcc does not compile"),
        (slow, "lower k.py twice --python ./python --trust --limit 1", 6, "--limit"),
        (PYTHON, "lower k.py ../twice --python ./python --trust -o out", 2, "is no name"),
        (PYTHON, "lower k.py /tmp/twice --python ./python --trust -o out", 2, "is no name"),
    ];
    for (python, command, code, says) in cases {
        let folder = with_python(python);
        let Some(run) = folder.kopt_compiling(command) else { return };
        run.expect(code).says(says);
        assert!(!folder.path("twice.cubin").exists() && !folder.path("twice.ptx").exists());
    }
    with_python(PYTHON).kopt("lower k.py twice --python ./python --trust").expect(5).says("K0410");
}
