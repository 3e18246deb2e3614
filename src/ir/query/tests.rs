//! Questions asked of small kernels, in both directions.

use super::*;
use crate::source::mask::MacroTable;
use crate::source::{FileId, SourceFile};
use crate::syntax::cuda::parse_unit;

fn unit(text: &str) -> Unit {
    parse_unit(FileId(0), &SourceFile::new("test.cu", text.as_bytes()), &MacroTable::default())
}

fn kernel(body: &str) -> Function {
    let text = format!(
        "__device__ void set(int& a, const int& b, int c);\n__global__ void k(float* p, int n, int i) {{ {body} }}"
    );
    let unit = unit(&text);
    let found = unit.kernels().next().cloned();
    found.expect("the text has one kernel")
}

/// The expression of the statement at `index`.
fn root(f: &Function, index: usize) -> ExprId {
    roots_of(f.stmt(f.body.stmts[index]))[0]
}

fn known() -> Signatures {
    let mut known = Signatures::default();
    known.add(&unit("__device__ void set(int& a, const int& b, int c) {}"));
    known
}

fn written(body: &str) -> Vec<String> {
    let f = kernel(body);
    let known = known();
    let vars = f.body.stmts.iter().flat_map(|s| vars_written(&f, *s, &known)).collect::<BTreeSet<_>>();
    vars.into_iter().map(|v| f.var(v).name.clone()).collect()
}

#[test]
fn same_expressions_are_the_same_wherever_they_stand() {
    let f = kernel("p[i * n + 1]; p[i*n + (1)]; p[n * i + 1]; (float)i; (double)i; max(i, n); max(n, i); i++; ++i;");
    let same = |a, b| same_expr(&f, root(&f, a), root(&f, b));
    assert!(same(0, 1));
    assert!(!same(0, 2), "order matters: nothing is reassociated");
    assert!(!same(3, 4), "the type of a cast matters");
    assert!(!same(5, 6));
    assert!(!same(7, 8));
}

#[test]
fn side_effects_are_writes_and_unknown_calls() {
    let f =
        kernel("i + p[n]; sqrtf(p[i]); __ldg(p + i); i = 3; p[i++]; helper(i); atomicAdd(p, 1.f); __syncthreads();");
    let effects: Vec<bool> = (0..8).map(|s| has_side_effects(&f, root(&f, s))).collect();
    assert_eq!(effects, [false, false, false, true, true, true, true, true]);
}

#[test]
fn writes_go_through_references_and_addresses() {
    assert_eq!(written("i = 1; p[n] = 2;"), ["i"], "memory is no variable");
    assert_eq!(written("n++;"), ["n"]);
    assert_eq!(written("set(i, n, 3);"), ["i"], "constant references and values are not written");
    assert_eq!(written("set(3, n, i);"), Vec::<String>::new());
    assert_eq!(written("unknown(i);"), ["i"], "an unknown function may take a reference");
    assert_eq!(written("sqrtf(i); max(i, n); __shfl_sync(~0u, i, n);"), Vec::<String>::new());
    assert_eq!(written("load(&n);"), ["n"]);
    assert_eq!(written("asm(\"mov %0, 1;\" : \"=r\"(i) : \"r\"(n));"), ["i"]);
    assert_eq!(written("if (n) { for (int j = 0; j < n; j++) i += j; }"), ["i", "j"]);
    assert_eq!(written("float4 v; v.x = 1;"), ["v"]);
}

#[test]
fn an_address_taken_is_seen() {
    let f = kernel("int a = 0, b = 0, c = 0; f(&a); int& r = b; c = a + b; p = &p[i];");
    let taken = |name: &str| {
        let index = f.vars.iter().position(|v| v.name == name).expect("declared above");
        address_taken(&f, VarId(index as u32))
    };
    assert!(taken("a"));
    assert!(taken("b"));
    assert!(!taken("c"));
    assert!(!taken("p"), "the address of an element is not that of the pointer");
}

#[test]
fn statements_come_in_the_order_of_the_text() {
    let f = kernel("if (n) { i = 1; for (int j = 0; j < n; j++) { p[j] = 0; } } else i = 2; p[0] = 3;");
    let starts: Vec<u32> = stmts_in(&f, &f.body).iter().map(|s| f.stmt(*s).span.start).collect();
    assert_eq!(starts.len(), 7);
    assert!(starts.is_sorted());
    let last = root(&f, 1);
    assert_eq!(stmt_of_expr(&f, last), Some(f.body.stmts[1]));
}

#[test]
fn a_kernel_used_as_a_value_is_mentioned() {
    let u = unit(
        "__global__ void a() {} __global__ void b() {} void h() { a<<<1, 1>>>(); cudaLaunchKernel((void*)b, 1, 1, 0, 0, 0); }",
    );
    assert!(mentions(&u, "a").is_empty());
    assert_eq!(mentions(&u, "b").len(), 1);
}
