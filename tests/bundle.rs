//! `kopt gate bundle`, `run` and `ingest`, as their users call them. PTX needs no compiler, and the interpreter no GPU.

mod cli_common;

use std::io::{Cursor, Read, Write};

use cli_common::Folder;
use kopt::bundle::{self, Bundle};
use serde_json::Value;

fn folder() -> Folder {
    let folder = Folder::new(&[]);
    for entry in std::fs::read_dir("tests/data/verify").expect("a folder") {
        let path = entry.expect("a file").path();
        folder.put(&path.file_name().expect("a name").to_string_lossy(), &std::fs::read(&path).expect("a file"));
    }
    folder
}

/// With a bundle of a right candidate and a wrong one.
fn bundled() -> Folder {
    let folder = folder();
    folder.kopt("gate bundle scale.ptx scale.ptx scale_wrong.ptx -o b.zip").expect(0).says("2 cases");
    folder
}

fn result(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&folder.get(&format!("b.results/{name}.json"))).expect("JSON")
}

#[test]
fn candidates_are_judged_from_the_bundle_alone_and_read_back() {
    let folder = bundled();
    let elsewhere = Folder::new(&[]);
    elsewhere.put("b.zip", &std::fs::read(folder.path("b.zip")).expect("a bundle"));
    elsewhere.kopt("gate run b.zip --on emulator --html").expect(3).says("equal-bits").says("failed");
    assert_eq!(result(&elsewhere, "scale")["report"]["verdict"], "equal-bits");
    assert_eq!(result(&elsewhere, "scale_wrong")["exit"], 3);
    assert!(elsewhere.get("b.results/scale_wrong.html").contains("first"));
    // The same verdict as without the bundle.
    let direct = folder.kopt("--format json verify scale.ptx scale_wrong.ptx").json();
    let mut report = result(&elsewhere, "scale_wrong")["report"].clone();
    report["reproduce"] = direct["reproduce"].clone();
    assert_eq!(report, direct);
    std::fs::create_dir(folder.path("b.results")).expect("a folder");
    for name in ["scale", "scale_wrong"] {
        let name = format!("b.results/{name}.json");
        folder.put(&name, elsewhere.get(&name).as_bytes());
    }
    folder.kopt("gate ingest b.results").expect(3).says("equal-bits").says("failed").says("2 cases");
}

#[test]
fn what_has_a_result_is_not_judged_again_unless_asked_otherwise() {
    let folder = bundled();
    folder.kopt("gate run b.zip --on emulator").expect(3);
    let mut earlier = result(&folder, "scale");
    earlier["word"] = "earlier".into();
    folder.put("b.results/scale.json", earlier.to_string().as_bytes());
    folder.put("b.results/scale_wrong.json", b"{ cut off");
    folder.kopt("gate run b.zip --on emulator").expect(3).says("1 of 2 have a result").says("1 earlier");
    assert_eq!(result(&folder, "scale_wrong")["exit"], 3, "what was cut off is judged again");
    folder.kopt("gate run b.zip --on emulator --seed 2").expect(3).says("1 equal-bits");
    folder.kopt("gate run b.zip --on emulator --seed 2 --again").expect(3).says("equal-bits");
}

#[test]
fn a_result_is_refused_where_a_file_is_another_one_now() {
    let names = ["scale.ptx", "scale_wrong.ptx", "scale.contract.toml"];
    for name in names {
        let folder = folder();
        folder.kopt("gate bundle scale.ptx scale_wrong.ptx -o b.zip").expect(0);
        folder.kopt("gate run b.zip --on emulator").expect(3);
        folder.kopt("gate ingest b.results").expect(3);
        folder.put(name, format!("{}\n", folder.get(name)).as_bytes());
        folder.kopt("gate ingest b.results").expect(2).says("K0693").says(name);
    }
    let folder = bundled();
    folder.kopt("gate run b.zip --on emulator").expect(3);
    let changes: &[&dyn Fn(&mut Value)] = &[
        &|r| r["case"]["candidate"]["file"] = "scale.ptx".into(),
        &|r| r["case"]["id"] = "0".repeat(64).into(),
        &|r| r["report"]["candidate"]["blake3"] = "0".repeat(64).into(),
        &|r| r["schema"] = "kopt/gate-result/9".into(),
        &|r| r["case"] = Value::Null,
        // What does not belong together, though the id fits.
        &|r| (r["exit"], r["word"]) = (0.into(), "equal-bits".into()),
        &|r| r["exit"] = 0.into(),
        &|r| r["exit"] = 42.into(),
        &|r| (r["exit"], r["not_judged"]) = (0.into(), "the machine was busy".into()),
        &|r| (r["exit"], r["report"], r["not_judged"]) = (0.into(), Value::Null, "fine".into()),
        &|r| r["report"] = Value::Null,
    ];
    let whole = result(&folder, "scale_wrong");
    for change in changes {
        let mut changed = whole.clone();
        change(&mut changed);
        folder.put("b.results/scale_wrong.json", changed.to_string().as_bytes());
        folder.kopt("gate ingest b.results").expect(2).says("K0693");
    }
    Folder::new(&[]).kopt("gate ingest .").expect(2).says("K0693");
}

/// Of a header of macros or templates no line is left in the program.
#[test]
fn a_result_is_refused_where_a_header_is_another_one_now() {
    let kernel = "\
// kopt: dims.n = { samples = [300], max = 5000 }
// kopt: args.y = { role = \"out\", dtype = \"f32\", shape = [\"n\"] }
// kopt: launch = { grid = \"ceil_div(n, 128)\", block = 128, args = [\"y\", \"i32(n)\"] }
__global__ void fill(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = FACTOR;
}
";
    let headers = [
        "#define FACTOR 2.0f\n",
        "constexpr float FACTOR = 2.0f;\n",
        "#define FACTOR get(1.0f)\ntemplate <class T> __device__ T get(T x) { return x + x; }\n",
    ];
    for header in headers {
        for side in ["a.cu", "b.cu"] {
            let text = |name: &str| {
                let own = if name == side { "#include \"cfg.h\"\n" } else { "#define FACTOR 2.0f\n" };
                format!("{own}{kernel}")
            };
            let folder = Folder::new(&[("a.cu", &text("a.cu")), ("b.cu", &text("b.cu")), ("cfg.h", header)]);
            let Some(run) = folder.kopt_compiling("gate bundle a.cu b.cu --for sm_80 -o b.zip") else { return };
            run.expect(0);
            folder.kopt("gate run b.zip --on emulator").expect(0);
            folder.kopt("gate ingest b.results").expect(0).says("equal-bits");
            folder.put("cfg.h", header.replace("2.0f", "3.0f").replace("1.0f", "1.5f").as_bytes());
            folder.kopt("gate ingest b.results").expect(2).says("K0693").says("cfg.h");
        }
    }
}

#[test]
fn a_result_is_refused_where_it_would_come_out_otherwise_now() {
    let kernel = "\
// kopt: dims.n = { samples = [300], max = 5000 }
// kopt: args.y = { role = \"out\", dtype = \"f32\", shape = [\"n\"] }
// kopt: launch = { grid = \"ceil_div(n, 128)\", block = 128, args = [\"y\", \"i32(n)\"] }
__global__ void fill(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = SIGN 1.0f;
}
";
    let config = "define = [\"SIGN=-\"]\n";
    let folder = Folder::new(&[("a.cu", kernel), ("b.cu", kernel), ("kopt.toml", config)]);
    let Some(run) = folder.kopt_compiling("gate bundle a.cu b.cu --for sm_80 -D UNUSED=1 -o b.zip") else { return };
    run.expect(0);
    folder.kopt("gate run b.zip --on emulator").expect(0);
    assert_eq!(result(&folder, "b")["case"]["command"], "kopt verify a.cu b.cu -D UNUSED=1");
    folder.kopt("gate ingest b.results").expect(0);
    folder.put("kopt.toml", config.replace('-', "+").as_bytes());
    folder.kopt("gate ingest b.results").expect(2).says("K0693").says("-DSIGN=-");
    folder.put("kopt.toml", config.as_bytes());
    folder.put("a.contract.toml", b"contract = 1\n");
    folder.kopt("gate ingest b.results").expect(2).says("K0693").says("a.contract.toml");
}

#[cfg(unix)]
#[test]
fn results_are_not_written_through_links() {
    let folder = bundled();
    folder.put("victim.txt", b"mine\n");
    std::fs::create_dir_all(folder.path("b.results")).expect("a folder");
    std::os::unix::fs::symlink("../victim.txt", folder.path("b.results/scale_wrong.json")).expect("a link");
    folder.kopt("gate run b.zip --on emulator").expect(2).says("this is a link");
    assert_eq!(folder.get("victim.txt"), "mine\n");
}

#[test]
fn one_bad_candidate_stops_no_other() {
    let folder = folder();
    let run = folder.kopt("gate bundle scale.ptx scale_unsupported.ptx scale.ptx absent.ptx -o b.zip");
    run.expect(1).says("left out   scale_unsupported.ptx").says("K0652").says("left out   absent.ptx").says("1 case,");
    folder.kopt("gate bundle scale.ptx scale_unsupported.ptx -o none.zip").expect(3).says("K0652");
    assert!(!folder.path("none.zip").exists());
    // Machine code has nothing for the interpreter, and no GPU is asked.
    folder.kopt("gate bundle scale.ptx scale.cubin scale.ptx -o b.zip").expect(0);
    folder
        .kopt("gate run b.zip --on emulator")
        .expect(5)
        .says("not judged")
        .says("built for sm_80")
        .says("1 equal-bits");
    // Names are made unique, and are no paths.
    folder.put("x y.ptx", folder.get("scale.ptx").as_bytes());
    let command = ["gate", "bundle", "scale.ptx", "x y.ptx", "./x y.ptx", "-o", "names.zip"];
    folder.kopt_with(&command).expect(0).says("x-y\n").says("x-y-2\n");
}

#[test]
fn machine_code_is_for_a_gpu() {
    let folder = folder();
    let contract = "--contract scale.contract.toml";
    folder.kopt(&format!("verify scale.ptx scale.cubin {contract}")).expect(2).says("K0660").says("--on gpu");
    folder.put("bare.cubin", &std::fs::read(folder.path("scale.cubin")).expect("a file"));
    folder.kopt("verify bare.cubin scale.ptx").expect(2).says("K0660").says("compiled code does not show");
    folder.put("text.cubin", b"this is no ELF file");
    folder.kopt(&format!("verify scale.ptx text.cubin {contract}")).expect(6).says("K0660").says("no CUBIN");
    let renamed = folder.get("scale.contract.toml").replace("kernel = \"scale\"", "kernel = \"other\"");
    folder.put("other.toml", renamed.as_bytes());
    folder.kopt("verify scale.cubin scale.cubin --contract other.toml").expect(6).says("K0654").says("it has `scale`");
    folder.kopt("verify scale.ptx all.fatbin").expect(2).says("K0660").says("cuobjdump");
}

#[test]
fn a_bundle_is_the_same_bytes_each_time() {
    let folder = bundled();
    let first = std::fs::read(folder.path("b.zip")).expect("a bundle");
    folder.kopt("gate bundle scale.ptx scale.ptx scale_wrong.ptx -o b.zip").expect(0);
    assert_eq!(std::fs::read(folder.path("b.zip")).expect("a bundle"), first);
    let read = bundle::read(Cursor::new(&first)).expect("a bundle");
    let mut again = Cursor::new(vec![]);
    bundle::write(&read, &mut again).expect("written");
    assert_eq!(again.into_inner(), first);
}

/// Gives an entry's new contents, or leaves it out.
type Change<'c> = &'c dyn Fn(&str, Vec<u8>) -> Option<Vec<u8>>;

/// The archive with one entry replaced or left out.
fn altered(bytes: &[u8], change: Change) -> Vec<u8> {
    let mut old = zip::ZipArchive::new(Cursor::new(bytes)).expect("an archive");
    let mut new = zip::ZipWriter::new(Cursor::new(vec![]));
    for n in 0..old.len() {
        let mut entry = old.by_index(n).expect("an entry");
        let name = entry.name().expect("a name").into_owned();
        let mut contents = vec![];
        entry.read_to_end(&mut contents).expect("contents");
        if let Some(contents) = change(&name, contents) {
            new.start_file(name, zip::write::SimpleFileOptions::default()).expect("started");
            new.write_all(&contents).expect("written");
        }
    }
    new.finish().expect("finished").into_inner()
}

#[test]
fn a_bundle_that_was_changed_is_refused_as_a_whole() {
    let folder = bundled();
    let whole = std::fs::read(folder.path("b.zip")).expect("a bundle");
    let manifest = |change: &dyn Fn(&mut Value)| {
        altered(&whole, &|name, contents| {
            if name != "manifest.json" {
                return Some(contents);
            }
            let mut value: Value = serde_json::from_slice(&contents).expect("JSON");
            change(&mut value);
            Some(value.to_string().into_bytes())
        })
    };
    let blob = |change: &dyn Fn(Vec<u8>) -> Option<Vec<u8>>| {
        altered(&whole, &|name, contents| if name == "manifest.json" { Some(contents) } else { change(contents) })
    };
    let cases: &[(Vec<u8>, &str)] = &[
        (vec![], "no bundle"),
        (b"PK no archive".to_vec(), "no bundle"),
        (whole[..whole.len() / 2].to_vec(), "no bundle"),
        (altered(&whole, &|name, c| (name != "manifest.json").then_some(c)), "no manifest.json"),
        (manifest(&|m| m["format"] = 99.into()), "layout 99"),
        (manifest(&|m| m["cases"][0]["candidate"]["builds"][0]["kernels"][0]["symbol"] = "other".into()), "build id"),
        (manifest(&|m| m["cases"][0]["name"] = "../../etc/passwd".into()), "build id"),
        (manifest(&|m| m["cases"][0] = 7.into()), "no bundle"),
        (blob(&|_| None), "missing"),
        (
            blob(&|mut c| {
                c.push(b' ');
                Some(c)
            }),
            "other contents",
        ),
    ];
    for (bytes, part) in cases {
        folder.put("changed.zip", bytes);
        folder.kopt("gate run changed.zip --on emulator").expect(2).says("K0692").says(part);
    }
    folder.kopt("gate run absent.zip --on emulator").expect(2).says("K0541");
}

#[test]
fn a_name_that_leads_elsewhere_is_refused_though_its_id_fits() {
    let folder = bundled();
    let bytes = std::fs::read(folder.path("b.zip")).expect("a bundle");
    for name in ["../../up", "/root", "a/b", ".hidden", ""] {
        let mut read: Bundle = bundle::read(Cursor::new(&bytes)).expect("a bundle");
        read.manifest.cases[0].name = name.to_owned();
        read.manifest.cases[0].id = read.manifest.cases[0].computed_id();
        let mut out = Cursor::new(vec![]);
        bundle::write(&read, &mut out).expect("written");
        let error = bundle::read(out).expect_err(name).to_string();
        assert!(error.contains("no name for a file"), "{name}: {error}");
    }
}

#[test]
fn without_a_gpu_nothing_is_judged_and_nothing_is_written() {
    if !matches!(kopt::gpu::find(), kopt::gpu::Gpu::NoDriver) {
        return;
    }
    let folder = bundled();
    folder.kopt("gate run b.zip").expect(5).says("K0680");
    assert!(!folder.path("b.results/scale.json").exists());
}

#[test]
fn what_was_compiled_from_cuda_is_judged_without_a_compiler() {
    let sum = "\
// kopt: dims.n = { samples = [300], max = 5000 }
// kopt: args.x = { role = \"in\", dtype = \"f32\", shape = [\"n\"] }
// kopt: args.y = { role = \"out\", dtype = \"f32\", shape = [\"n\"] }
// kopt: launch = { grid = \"ceil_div(n, 128)\", block = 128, args = [\"x\", \"y\", \"i32(n)\"] }
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
";
    let folder = Folder::new(&[
        ("a.cu", sum),
        ("b.cu", &sum.replace("2.0f * x[i]", "x[i] + x[i]")),
        ("c.cu", &sum.replace("if (i < n) ", "")),
        ("broken.cu", &sum.replace("2.0f *", "2.0f * nothing *")),
    ]);
    let command = "gate bundle a.cu b.cu c.cu broken.cu --for sm_80 --for sm_90a -o b.zip";
    let Some(run) = folder.kopt_compiling(command) else { return };
    run.expect(1).says("left out   broken.cu").says("built for sm_80, sm_90a");
    let elsewhere = Folder::new(&[]);
    elsewhere.put("b.zip", &std::fs::read(folder.path("b.zip")).expect("a bundle"));
    let run = elsewhere.kopt("gate run b.zip --on emulator --html");
    run.expect(3).says("1 equal-bits, 1 failed");
    // The defect stands on the user's line, whose text came along.
    let page = elsewhere.get("b.results/c.html");
    assert!(page.contains("c.cu:7") && page.contains("y[i] = 2.0f * x[i]"), "{page}");
}
