use super::*;

fn write(dir: &Path, name: &str, text: &[u8]) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
    std::fs::write(path, text).expect("file");
}

fn names(project: &Project, root: &Path) -> Vec<String> {
    project.files.iter().map(|f| f.path.strip_prefix(root).unwrap_or(&f.path).display().to_string()).collect()
}

#[test]
fn headers_are_followed_once_and_give_their_macros() {
    let dir = tempfile::tempdir().expect("folder");
    let root = dir.path();
    write(
        root,
        "src/a.cu",
        b"#include \"../inc/k.h\"\n#include <vector>\n#include \"gone.h\"\nK_GLOBAL k(int* p) { p[TILE] = 1; }\n",
    );
    write(root, "inc/k.h", b"#pragma once\n#include \"n.h\"\n#define K_GLOBAL K_GLOBAL_ void\n");
    write(root, "inc/n.h", b"#include \"k.h\"\n#define K_GLOBAL_ static __global__\n#define TILE (1 << 4)\n");
    let project = load(&[root.join("src/a.cu")], &Options { root: Some(root.to_path_buf()), ..Options::default() });
    assert_eq!(names(&project, root), ["src/a.cu", "inc/k.h", "inc/n.h"]);
    assert_eq!(project.macros.kernel_aliases(), ["K_GLOBAL", "K_GLOBAL_"]);
    assert_eq!(project.constants(), [("TILE".to_owned(), 16)]);
    assert_eq!(project.files.iter().map(|f| f.needs_parse).collect::<Vec<_>>(), [true, true, true]);
    assert_eq!(project.problems.iter().map(|p| p.code).collect::<Vec<_>>(), [Code(11)]);
    let masked = mask::mask(&project.sources.get(project.files[0].id).text, &project.macros);
    assert_eq!(masked.kernels.len(), 1);
}

#[test]
fn folders_are_walked_in_order_and_ignore_files_count() {
    let dir = tempfile::tempdir().expect("folder");
    let root = dir.path();
    write(root, "b.cu", b"int b;");
    write(root, "a.cuh", b"int a;");
    write(root, "build/c.cu", b"int c;");
    write(root, "notes.txt", b"__global__");
    write(root, ".gitignore", b"build/\n");
    let project = load(&[root.to_path_buf()], &Options::default());
    assert_eq!(names(&project, root), ["a.cuh", "b.cu"]);
    assert!(project.files.iter().all(|f| !f.needs_parse));
}

#[test]
fn what_cannot_be_read_is_said() {
    let dir = tempfile::tempdir().expect("folder");
    write(dir.path(), "latin.cu", b"// caf\xe9\nint x;\n");
    let large = std::fs::File::create(dir.path().join("large.cu")).expect("file");
    large.set_len(MAX_BYTES + 1).expect("sparse file");
    let project = load(&[dir.path().to_path_buf(), dir.path().join("gone.cu")], &Options::default());
    let mut codes: Vec<u16> = project.problems.iter().map(|p| p.code.0).collect();
    codes.sort_unstable();
    assert_eq!(codes, [3, 4, 5]);
    assert_eq!(project.files.len(), 1);
}

#[test]
fn definitions_from_the_command_line_count() {
    let dir = tempfile::tempdir().expect("folder");
    write(dir.path(), "a.cu", b"int x;");
    let defines = vec![("N".to_owned(), Some("4".to_owned())), ("FLAG".to_owned(), None)];
    let project = load(&[dir.path().join("a.cu")], &Options { defines, ..Options::default() });
    assert_eq!(project.constants(), [("FLAG".to_owned(), 1), ("N".to_owned(), 4)]);
}

#[test]
fn headers_are_found_by_name_where_one_is_nearest_and_files_know_who_includes_them() {
    use crate::compile::HeaderSource;
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "a/k.cu",
        "#include <tools.h>\n#include \"deep/one.cuh\"\n#include <math.h>\n#include \"twice.h\"\n__global__ void k() {}\n",
    );
    write("lib/tools.h", "int tools;\n");
    write("lib/deep/one.cuh", "#include \"two.cuh\"\n__device__ int one;\n");
    write("lib/deep/two.cuh", "__device__ int two;\n");
    write("lib/math.h", "int own_math;\n");
    write("b/twice.h", "int b;\n");
    write("c/twice.h", "int c;\n");
    let project =
        load(&[dir.path().to_path_buf()], &Options { root: Some(dir.path().to_path_buf()), ..Options::default() });
    let headers = Headers::new(&project, &[]);
    let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let open = |name: &str, angled| headers.open(&at("a/k.cu"), name, angled).map(|h| h.path);
    assert_eq!(open("tools.h", true), Some(at("lib/tools.h")));
    assert_eq!(open("deep/one.cuh", false), Some(at("lib/deep/one.cuh")));
    // Two are equally near; a standard header is never a file of the project; a name is not a part of one.
    for name in ["twice.h", "math.h", "ools.h", "none.h", ""] {
        assert_eq!(open(name, name == "math.h"), None, "{name}");
    }
    let includers = Includers::of(&project, &headers);
    let of = |name: &str| -> Vec<String> {
        let file = project.files.iter().find(|f| f.path == dir.path().join(name)).unwrap();
        includers.of_file(file.id).into_iter().map(|id| project.sources.get(id).name.to_string()).collect()
    };
    assert_eq!(of("lib/deep/two.cuh"), [at("a/k.cu"), at("lib/deep/one.cuh")]);
    assert_eq!(of("lib/tools.h"), [at("a/k.cu")]);
    assert!(of("a/k.cu").is_empty() && of("b/twice.h").is_empty());
}

#[cfg(unix)]
#[test]
fn a_file_is_read_once_whatever_way_leads_to_it() {
    let dir = tempfile::tempdir().expect("folder");
    let root = dir.path();
    write(root, "lib/k.cuh", b"#pragma once\n__device__ int k() { return 1; }\n");
    write(
        root,
        "app/a.cu",
        b"#include \"../lib/k.cuh\"\n#include \"link.cuh\"\n#include \"linked/k.cuh\"\n#include <k.cuh>\n",
    );
    std::os::unix::fs::symlink("../lib/k.cuh", root.join("app/link.cuh")).expect("link");
    std::os::unix::fs::symlink("../lib", root.join("app/linked")).expect("link");
    let options =
        Options { include_dirs: vec![root.join("lib")], root: Some(root.to_path_buf()), ..Options::default() };
    let project = load(&[root.join("app/a.cu")], &options);
    assert_eq!(names(&project, root), ["app/a.cu", "lib/k.cuh"]);
    assert!(project.problems.is_empty(), "{:?}", project.problems);
    let mut identities = Identities::default();
    let ways = [
        "lib/k.cuh",
        "app/../lib/k.cuh",
        "app/link.cuh",
        "app/linked/k.cuh",
        "lib/./k.cuh",
        "gone/k.cuh",
        "lib/gone.cuh",
        "app/..",
    ];
    for way in ways.map(|w| root.join(w)) {
        assert_eq!(identities.of(&way), identity(&way), "{}", way.display());
    }
}

#[test]
fn a_name_that_every_file_includes_leads_to_the_nearest() {
    let dir = tempfile::tempdir().expect("folder");
    let root = dir.path();
    for folder in ["a", "b", "include"] {
        write(root, &format!("{folder}/use.cu"), b"#include \"t.h\"\n#include <t.h>\n#include \"none.h\"\n");
    }
    write(root, "a/t.h", b"#define T 1\n");
    write(root, "include/t.h", b"#define T 2\n");
    let project = load(&[root.to_path_buf()], &Options { root: Some(root.to_path_buf()), ..Options::default() });
    let of = |name: &str| {
        let file = project.files.iter().find(|f| f.path == root.join(name)).expect("the file");
        file.includes.iter().map(|p| p.strip_prefix(root).unwrap_or(p).display().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(of("a/use.cu"), ["a/t.h", "include/t.h"]);
    assert_eq!(of("b/use.cu"), ["include/t.h", "include/t.h"]);
    assert_eq!(of("include/use.cu"), ["include/t.h", "include/t.h"]);
    assert_eq!(project.problems.iter().map(|p| p.code).collect::<Vec<_>>(), [Code(11); 3]);
}
