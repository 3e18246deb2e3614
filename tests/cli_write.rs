//! Writing: only what was asked for, whole or not at all, never over work that git does not have.

mod cli_common;

use cli_common::{Folder, PLAIN, TRANSPOSE};

fn padded() -> String {
    TRANSPOSE.replace("[32][32];", "[32][32 + 1];")
}

#[test]
fn a_dirty_file_is_refused_and_others_do_not_matter() {
    let folder = Folder::new(&[("a.cu", TRANSPOSE), ("b.cu", TRANSPOSE)]);
    folder.git("init -q");
    folder.put(".gitignore", b".cache\n");
    folder.git("add a.cu b.cu .gitignore");
    folder.git("commit -q -m first");
    let dirty = format!("{TRANSPOSE}// mine\n");
    folder.put("a.cu", dirty.as_bytes());
    folder.kopt("apply --skill pad_shared --write a.cu").expect(2).says("K0544").says("a.cu");
    assert_eq!(folder.get("a.cu"), dirty);
    assert!(!folder.path("kopt.lock").exists());
    // Neither of two when one is dirty.
    folder.kopt("apply --skill pad_shared --write a.cu b.cu").expect(2).says("K0544");
    assert_eq!(folder.get("b.cu"), TRANSPOSE);
    // A clean file in a dirty tree is written; a dry run and another folder are always possible.
    folder.kopt("apply --skill pad_shared a.cu").expect(0);
    folder.kopt("apply --skill pad_shared --out gen a.cu").expect(0);
    folder.kopt("apply --skill pad_shared --write b.cu").expect(0);
    assert_eq!(folder.get("b.cu"), padded());
    folder.kopt("apply --skill pad_shared --write --allow-dirty a.cu").expect(0);
    assert_eq!(folder.get("a.cu"), format!("{}// mine\n", padded()));
    // A file that git does not know is work that git does not have.
    folder.put("c.cu", TRANSPOSE.as_bytes());
    folder.kopt("apply --skill pad_shared --write c.cu").expect(2).says("K0544");
}

#[test]
fn line_ends_marks_and_permissions_stay() {
    let crlf = format!("\u{feff}{}", TRANSPOSE.replace('\n', "\r\n"));
    let folder = Folder::new(&[("a.cu", &crlf)]);
    #[cfg(unix)]
    set_mode(&folder, 0o754);
    folder.kopt("apply --skill pad_shared --write a.cu").expect(0);
    assert_eq!(folder.get("a.cu"), crlf.replace("[32][32];", "[32][32 + 1];"));
    #[cfg(unix)]
    assert_eq!(mode(&folder), 0o754);
    let left: Vec<_> =
        std::fs::read_dir(folder.path(".")).expect("it is there").flatten().map(|e| e.file_name()).collect();
    assert!(!left.iter().any(|n| n.to_string_lossy().contains(".kopt-")), "{left:?}");
}

#[cfg(unix)]
fn set_mode(folder: &Folder, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder.path("a.cu"), std::fs::Permissions::from_mode(mode)).expect("allowed");
}

#[cfg(unix)]
fn mode(folder: &Folder) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(folder.path("a.cu")).expect("it is there").permissions().mode() & 0o777
}

#[cfg(unix)]
#[test]
fn a_read_only_file_stays_and_so_does_the_other() {
    let folder = Folder::new(&[("a.cu", TRANSPOSE), ("b.cu", TRANSPOSE)]);
    set_mode(&folder, 0o444);
    folder.kopt("apply --skill pad_shared --write b.cu a.cu").expect(2).says("K0541");
    assert_eq!((folder.get("a.cu"), folder.get("b.cu")), (TRANSPOSE.to_owned(), TRANSPOSE.to_owned()));
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let folder = Folder::new(&[("real/a.cu", TRANSPOSE)]);
    std::os::unix::fs::symlink("real/a.cu", folder.path("a.cu")).expect("a link");
    folder.kopt("apply --skill pad_shared --write a.cu").expect(0);
    assert!(folder.path("a.cu").symlink_metadata().expect("it is there").file_type().is_symlink());
    assert_eq!(folder.get("real/a.cu"), padded());
}

#[test]
fn the_output_folder_holds_all_files_and_is_left_alone_when_it_is_right() {
    let folder = Folder::new(&[("src/a.cu", TRANSPOSE), ("src/b.cu", PLAIN)]);
    let command = "apply --skill pad_shared --out gen src/a.cu src/b.cu --depfile gen/all.d";
    folder.kopt(command).expect(0).says("wrote gen/src/a.cu");
    assert_eq!((folder.get("gen/src/a.cu"), folder.get("gen/src/b.cu")), (padded(), PLAIN.to_owned()));
    assert_eq!(folder.get("src/a.cu"), TRANSPOSE);
    let dependencies = folder.get("gen/all.d");
    assert!(dependencies.starts_with("gen/src/a.cu \\\n  gen/src/b.cu: \\\n  src/a.cu"), "{dependencies}");
    let again = folder.kopt(command);
    assert!(!again.expect(0).out.contains("wrote"), "{}", again.out);
    let cargo = folder.kopt("apply --locked --out gen src/a.cu --emit cargo");
    assert_eq!(cargo.expect(0).out, "cargo:rerun-if-changed=src/a.cu\ncargo:rerun-if-changed=kopt.lock\n");
}

#[test]
fn the_diff_can_be_applied_by_git() {
    let folder = Folder::new(&[("src/a.cu", TRANSPOSE)]);
    let run = folder.kopt("apply --skill pad_shared --format json src/a.cu");
    let diff = run.expect(0).json()["files"][0]["diff"].as_str().expect("a diff").to_owned();
    folder.put("x.patch", diff.as_bytes());
    folder.git("apply x.patch");
    assert_eq!(folder.get("src/a.cu"), padded());
}
