//! Every example of every skill compiles before and after its rewrite, for each architecture that the skill's scope
//! admits. Needs tier 1; without it says so, and fails if `KOPT_REQUIRE_TIER1=1`.

mod common;

use common::{apply, case_of};
use kopt::compile::{Cache, CompileGate, CompileRequest, NoHeaders, Target, Toolchain, slice};
use kopt::skill::ast::{Platform, Skill};
use kopt::skill::engine::survey::in_scope;
use kopt::source::{FileId, SourceFile};

const ARCHS: [&str; 4] = ["sm_75", "sm_80", "sm_90a", "sm_120"];

fn compile_all(gate: &CompileGate, text: &str, arch: &str, what: &str, faults: &mut Vec<String>) -> usize {
    let source = SourceFile::new("example.cu", text);
    let unit = common::parse(FileId(0), &source);
    let mut count = 0;
    for kernel in unit.kernels().filter(|k| !k.is_template()) {
        let sliced = match slice("example.cu", text, &Target::Name(&kernel.qualified), &NoHeaders) {
            Ok(sliced) => sliced,
            Err(why) => {
                faults.push(format!("{what}, {}: not cut: {why}", kernel.qualified));
                continue;
            }
        };
        let request = CompileRequest { slice: &sliced, names: vec![], arch, options: &[] };
        match gate.compile(&request) {
            Ok(_) => count += 1,
            Err(error) => faults.push(format!("{what}, {} for {arch}: {error}", kernel.qualified)),
        }
    }
    count
}

fn scope_admits(skill: &Skill, arch: &str) -> bool {
    in_scope(skill, Platform::parse(arch))
}

#[test]
fn examples_compile_before_and_after() {
    let toolchain = Toolchain::find();
    if toolchain.nvrtc.is_none() {
        assert!(std::env::var_os("KOPT_REQUIRE_TIER1").is_none(), "{}", toolchain.report());
        println!("tier 1: not run (no NVRTC; kopt toolchain install)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let gate = CompileGate::new(toolchain, Cache::in_folder(folder.path()));
    let library = kopt::skill::Library::built_in().expect("the built-in skills load");
    let (mut faults, mut compiled) = (vec![], 0);
    for skill in library.iter().map(|s| &s.skill) {
        for example in &skill.examples {
            let case = case_of(&example.before.node, example.contract.as_ref().map(|c| c.node.as_str()));
            let after = apply(skill, &case).sources.get(FileId(0)).text.to_string();
            for arch in ARCHS.into_iter().filter(|a| scope_admits(skill, a)) {
                for (when, text) in [("before", example.before.node.as_str()), ("after", after.as_str())] {
                    let what = format!("{}: \"{}\" {when}", skill.name.node, example.title.node);
                    compiled += compile_all(&gate, text, arch, &what, &mut faults);
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(compiled >= 100, "only {compiled} compilations");
}
