//! `kopt run --on gpu` and `kopt verify --on`: without a GPU a missing tier that is named, with one the same bits as in
//! the interpreter, and the same verdict.

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

#[test]
fn a_comparison_on_a_gpu_is_made_or_named_missing() {
    let files = [
        ("scale.ptx", SCALE),
        ("scale.contract.toml", CONTRACT),
        ("adding.ptx", include_str!("data/verify/scale_by_adding.ptx")),
        ("wrong.ptx", include_str!("data/verify/scale_wrong.ptx")),
    ];
    let folder = Folder::new(&files);
    let there = matches!(kopt::gpu::find(), kopt::gpu::Gpu::Found { .. });
    let right = folder.kopt("verify scale.ptx adding.ptx --candidate-kernel triple --on both");
    if there {
        assert!(right.code == Some(0) && right.out.contains("on the GPU: equal bits on"), "{right:?}");
        let wrong = folder.kopt("verify scale.ptx wrong.ptx --on both");
        assert!(wrong.code == Some(3) && wrong.out.contains("tier 3): not run"), "{wrong:?}");
        let alone = folder.kopt("verify scale.ptx wrong.ptx --on gpu");
        assert!(alone.code == Some(3) && alone.err.contains("on the GPU: "), "{alone:?}");
    } else {
        assert!(right.code == Some(5) && right.err.contains("K0680"), "{right:?}");
    }
}

#[test]
fn tools_that_watch_a_gpu_need_one() {
    let folder = Folder::new(&[("scale.ptx", SCALE), ("scale.contract.toml", CONTRACT)]);
    if matches!(kopt::gpu::find(), kopt::gpu::Gpu::Found { .. }) {
        return;
    }
    for command in ["run scale.ptx --sanitize", "verify scale.ptx scale.ptx --sanitize", "profile scale.ptx --on gpu"] {
        let missing = folder.kopt(command);
        assert!(missing.code == Some(5) && missing.err.contains("K0680"), "{command}: {missing:?}");
        assert!(missing.err.contains("next: kopt doctor"), "{command}: {missing:?}");
    }
}
