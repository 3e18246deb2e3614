//! Trees of sums in shared memory: what `shuffle_reduce` looks for, and what it must refuse.

use super::elem::{DOUBLE, Elem, FLOAT, HALF, INT, UNSIGNED};
use super::kernel::Kernel;

/// How two elements are combined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    Add,
    Max,
    Min,
    Xor,
}

/// A reduction over the threads of a block; it has one dimension.
pub fn tree(k: &mut Kernel) {
    match k.c.weighted(&[(24, 0), (1, 1), (1, 2)]) {
        1 => return of_pairs(k),
        2 => return two_in_one(k),
        _ => {}
    }
    let carried = k.carried.clone().filter(|_| k.c.chance(2, 3));
    let drawn = k.c.weighted(&[(8, FLOAT), (4, INT), (1, UNSIGNED), (2, DOUBLE), (1, HALF)]);
    let e = carried.as_ref().map_or(drawn, |c| c.elem);
    k.uses(&e);
    let op = match k.c.weighted(&[(6, Op::Add), (2, Op::Max), (1, Op::Min), (1, Op::Xor)]) {
        Op::Xor if e.is_float() => Op::Add,
        op if e.dtype == "f16" => {
            if op == Op::Xor {
                Op::Add
            } else {
                op
            }
        }
        op => op,
    };
    let threads = k.block[0];
    // A tile of half a warp is filled by its first threads alone.
    let short = threads >= 32 && carried.is_none() && k.c.chance(1, 24);
    let size = if short { 16 } else { k.c.weighted(&[(6, threads), (1, threads + 16), (1, 2 * threads)]) };
    let sm = k.fresh("sm");
    let volatile = if e.header.is_none() && k.c.chance(1, 16) { "volatile " } else { "" };
    k.line(format!("__shared__ {volatile}{} {sm}[{size}];", e.c));
    let t = lane(k, threads, short);
    let value = match &carried {
        Some(c) => c.name.clone(),
        None => {
            let x = k.input(&e, "rows");
            format!("r < rows ? {x}[r] : {}", e.stored(&e.literal(0)))
        }
    };
    let outer = k.c.chance(1, 10).then(|| k.fresh("j"));
    if let Some(j) = &outer {
        k.line(format!("for (int {j} = 0; {j} < 2; ++{j}) {{"));
    }
    let only = if short { format!("if ({t} < 16) ") } else { String::new() };
    k.line(format!("{only}{sm}[{t}] = {value};"));
    let barrier_first = k.c.chance(1, 6);
    if !barrier_first || k.c.chance(1, 4) {
        k.line("__syncthreads();");
    }
    let leaves = !k.barriers_follow && outer.is_none() && !barrier_first && !short && k.c.chance(1, 12);
    if leaves {
        // What they stored is there already; the others go on without them.
        let kept = k.c.one_of(&[threads / 2, threads / 4 * 3, 24, 32]);
        k.line(format!("if (threadIdx.x >= {kept}) return;"));
    }
    let tree = Tree { e, op, sm, t, barrier_first, threads, size };
    levels(k, &tree);
    result(k, &tree, outer.is_some(), leaves || short);
    if outer.is_some() {
        k.line("}");
    }
}

/// What the parts of a tree speak of: element, operation, tile, number of the thread, sizes.
struct Tree {
    e: Elem,
    op: Op,
    sm: String,
    t: String,
    barrier_first: bool,
    threads: u32,
    size: u32,
}

fn lane(k: &mut Kernel, threads: u32, plain: bool) -> String {
    match k.c.weighted(&[(5, 0), (4, 1), (1, 2), (1, 3), (1, 4)]) {
        _ if plain => "threadIdx.x".into(),
        0 => "threadIdx.x".into(),
        form => {
            let name = k.fresh("t");
            let (ty, value) = match form {
                1 => ("const int", "threadIdx.x".to_owned()),
                2 => ("const unsigned int", "threadIdx.x".to_owned()),
                3 => ("const int", format!("{} - threadIdx.x", threads - 1)),
                _ => ("int", format!("r - blockIdx.x * {threads}")),
            };
            k.line(format!("{ty} {name} = {value};"));
            name
        }
    }
}

fn levels(k: &mut Kernel, tree: &Tree) {
    let Tree { e, op, sm, t, barrier_first, threads, size } = tree;
    let (op, barrier_first) = (*op, *barrier_first);
    let s = k.fresh("s");
    let start = if *size == 16 {
        "8".to_owned()
    } else {
        k.c.weighted(&[
            (6, "blockDim.x / 2".to_owned()),
            (2, "blockDim.x >> 1".to_owned()),
            (3, (threads / 2).to_string()),
        ])
    };
    let step = k.c.weighted(&[
        (6, format!("{s} >>= 1")),
        (3, format!("{s} /= 2")),
        (1, format!("{s} = {s} / 2")),
        (1, format!("{s} /= 3")),
    ]);
    let ends = k.c.weighted(&[(8, "> 0"), (2, "!= 0"), (2, ">= 1"), (1, "> 1"), (1, "> 16")]);
    let ty = k.c.weighted(&[(6, "int"), (3, "unsigned int")]);
    let is_while = k.c.chance(1, 8);
    if is_while {
        k.line(format!("{ty} {s} = {start};"));
        k.line(format!("while ({s} {ends}) {{"));
    } else {
        k.line(format!("for ({ty} {s} = {start}; {s} {ends}; {step}) {{"));
    }
    if barrier_first {
        k.line("  __syncthreads();");
    }
    let guard = match k.c.weighted(&[(12, 0), (1, 1), (1, 2)]) {
        1 => format!("{t} < {s} && {t} + {s} < {size}"),
        2 => format!("{t} + {s} < 2 * {s}"),
        _ => format!("{t} < {s}"),
    };
    let (own, other) = (format!("{sm}[{t}]"), format!("{sm}[{t} + {s}]"));
    let update = update(k, e, op, &own, &other);
    let more = if k.c.chance(1, 12) { Some(k.c.below(4)) } else { None };
    let counter = k.fresh("n");
    if more == Some(3) {
        // Declared before the loop, whose header is the last line so far.
        k.insert_before_last(if barrier_first { 2 } else { 1 }, format!("int {counter} = 0;"));
    }
    if k.c.chance(1, 3) && more.is_none() {
        k.line(format!("  if ({guard}) {update}"));
    } else {
        k.line(format!("  if ({guard}) {{"));
        k.line(format!("    {update}"));
        match more {
            Some(0) => k.line(format!("    if ({s} == 2) {own} = {own};")),
            Some(1) => k.line(format!("    if ({s} == 2) {own} = {};", e.stored(&e.literal(1)))),
            Some(2) => k.line(format!("    {own} = {own};")),
            _ => {}
        }
        k.line("  }");
    }
    if more == Some(3) {
        k.line(format!("  {counter} += 1;"));
    }
    if !barrier_first {
        k.line("  __syncthreads();");
    }
    if is_while {
        k.line(format!("  {step};"));
    }
    k.line("}");
    if more == Some(3) {
        let y = k.output(&INT, "rows");
        k.line(format!("if (r < rows) {y}[r] = {counter};"));
    }
}

fn update(k: &mut Kernel, e: &Elem, op: Op, own: &str, other: &str) -> String {
    let half = e.dtype == "f16";
    let form = k.c.weighted(&[(6, 0), (2, 1), (1, 2), (1, 3)]);
    match (op, form) {
        (Op::Add, 1) => format!("{own} = {own} + {other};"),
        (Op::Add, 2) => format!("{own} = {other} + {own};"),
        (Op::Add, 3) => {
            let f = k.fresh("both");
            k.helper(format!("__device__ {0} {f}({0} a, {0} b) {{ return a + b; }}", e.c));
            format!("{own} = {f}({own}, {other});")
        }
        (Op::Add, _) => format!("{own} += {other};"),
        (Op::Xor, 1) => format!("{own} = {own} ^ {other};"),
        (Op::Xor, _) => format!("{own} ^= {other};"),
        (Op::Max, 1) => format!("{own} = {own} > {other} ? {own} : {other};"),
        (Op::Max, 2) => format!("if ({other} > {own}) {own} = {other};"),
        (Op::Min, 1) => format!("{own} = {other} < {own} ? {other} : {own};"),
        (Op::Max, _) => format!("{own} = {}({own}, {other});", name_of(e, half, "max")),
        (Op::Min, _) => format!("{own} = {}({own}, {other});", name_of(e, half, "min")),
    }
}

fn name_of(e: &Elem, half: bool, word: &str) -> String {
    match e.c {
        _ if half => format!("__h{word}"),
        "float" => format!("f{word}f"),
        "double" => format!("f{word}"),
        _ => word.to_owned(),
    }
}

/// What is read of the tile afterwards.
fn result(k: &mut Kernel, tree: &Tree, again: bool, first_only: bool) {
    let Tree { e, sm, t, barrier_first, .. } = tree;
    let all = if first_only { 0 } else { k.c.weighted(&[(10, 0), (3, 1), (1, 2), (1, 3)]) };
    let blocks = format!("ceil_div(rows, {})", k.threads());
    // In this form the last level is settled by nothing, and every thread but its own would race.
    if *barrier_first && (all != 0 || t != "threadIdx.x") {
        k.line("__syncthreads();");
    }
    match all {
        1 => {
            let y = k.output(e, "rows");
            k.line(format!("if (r < rows) {y}[r] = {sm}[0];"));
        }
        2 => {
            let y = k.output(e, "rows");
            k.line(format!("if (r < rows) {y}[r] = {sm}[{t}];"));
        }
        3 => {
            let y = k.output(e, &blocks);
            k.line(format!("if (threadIdx.x == 0) {y}[blockIdx.x] = {sm}[0] + {sm}[1];"));
        }
        _ => {
            let y = k.output(e, &blocks);
            k.line(format!("if ({t} == 0) {y}[blockIdx.x] = {sm}[0];"));
        }
    }
    if again {
        k.line("__syncthreads();");
    }
}

/// Pairs with an operator of the program's own.
fn of_pairs(k: &mut Kernel) {
    k.helper("__device__ float2& operator+=(float2& a, float2 b) { a.x += b.x; a.y -= b.y; return a; }".into());
    let size = k.block[0];
    let (sm, s) = (k.fresh("sm"), k.fresh("s"));
    let y = k.output(&FLOAT, &format!("2 * ceil_div(rows, {size})"));
    k.line(format!("__shared__ float2 {sm}[{size}];"));
    k.line(format!("{sm}[threadIdx.x] = make_float2(r * 0.5f, threadIdx.x);"));
    k.line("__syncthreads();");
    k.line(format!("for (int {s} = blockDim.x / 2; {s} > 0; {s} >>= 1) {{"));
    k.line(format!("  if (threadIdx.x < {s}) {sm}[threadIdx.x] += {sm}[threadIdx.x + {s}];"));
    k.line("  __syncthreads();");
    k.line("}");
    k.line("if (threadIdx.x == 0) {");
    k.line(format!("  const float2 both = {sm}[0];"));
    k.line(format!("  {y}[2 * blockIdx.x] = both.x;"));
    k.line(format!("  {y}[2 * blockIdx.x + 1] = both.y;"));
    k.line("}");
}

/// Two trees in one loop, the second perhaps over the result of the first.
fn two_in_one(k: &mut Kernel) {
    let e = k.c.weighted(&[(3, FLOAT), (2, INT)]);
    let size = k.block[0];
    let (a, b, s) = (k.fresh("sm"), k.fresh("sm"), k.fresh("s"));
    let (x, y) = (k.input(&e, "rows"), k.output(&e, &format!("ceil_div(rows, {size})")));
    k.line(format!("__shared__ {} {a}[{size}];", e.c));
    k.line(format!("__shared__ {} {b}[{size}];", e.c));
    k.line(format!("{a}[threadIdx.x] = r < rows ? {x}[r] : {};", e.literal(1)));
    k.line(format!("{b}[threadIdx.x] = {a}[threadIdx.x] + {};", e.literal(1)));
    k.line("__syncthreads();");
    k.line(format!("for (int {s} = blockDim.x / 2; {s} > 0; {s} >>= 1) {{"));
    k.line(format!("  if (threadIdx.x < {s}) {{"));
    k.line(format!("    {a}[threadIdx.x] += {a}[threadIdx.x + {s}];"));
    let second = k.c.one_of(&[&b, &a]);
    k.line(format!("    {b}[threadIdx.x] = max({b}[threadIdx.x], {second}[threadIdx.x]);"));
    k.line("  }");
    k.line("  __syncthreads();");
    k.line("}");
    k.line(format!("if (threadIdx.x == 0) {y}[blockIdx.x] = {a}[0] + {b}[0];"));
}
