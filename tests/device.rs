//! `kopt run --on gpu`: without a GPU a missing tier that is named, with one the same bits as in the interpreter.

mod cli_common;

use cli_common::Folder;

const SCALE: &str = include_str!("data/verify/scale.ptx");
const CONTRACT: &str = include_str!("data/verify/scale.contract.toml");

#[test]
fn a_gpu_is_used_or_its_absence_named() {
    let folder = Folder::new(&[("scale.ptx", SCALE), ("scale.contract.toml", CONTRACT)]);
    let there = matches!(kopt::gpu::find(), kopt::gpu::Gpu::Found { .. });
    let arguments = "run scale.ptx --contract scale.contract.toml";
    assert_eq!(folder.kopt(arguments).code, Some(0));
    let both = folder.kopt(&format!("{arguments} --on both"));
    if there {
        assert!(both.code == Some(0) && both.out.contains("equal bit by bit"), "{both:?}");
        let missing = folder.kopt(&format!("{arguments} --on gpu --device 999"));
        assert!(missing.code == Some(5) && missing.err.contains("K0680"), "{missing:?}");
    } else {
        assert!(both.code == Some(5) && both.err.contains("K0680"), "{both:?}");
        assert!(both.err.contains("next: kopt doctor"), "{both:?}");
    }
}
