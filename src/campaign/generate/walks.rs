//! Threads that walk over rows of elements: what `vectorize_access` looks for, and what it must refuse.

use super::calls;
use super::elem::{ELEMS, Elem, FLOAT, Family};
use super::kernel::{Carried, Kernel};
use super::rows::{Count, Guarded, Row, Stream, index};

/// One walk, in one of its forms.
pub fn walk(k: &mut Kernel) {
    let e = k.c.weighted(ELEMS);
    match k.c.weighted(&[(6, 0), (6, 1), (3, 2), (3, 3), (1, 4), (2, 5), (1, 6), (1, 7), (1, 8), (1, 9)]) {
        1 => map(k, &e, false),
        2 => map(k, &e, true),
        3 => pair_sum(k, &e),
        4 => fill(k, &e),
        5 => shifted(k, &e),
        6 => prefix(k, &e),
        7 => several_passes(k, &e),
        8 => vectors(k),
        9 => strided(k, &e),
        _ => sum(k, &e),
    }
}

fn open_loop(k: &mut Kernel, count: &Count) {
    k.lines(count.before.clone());
    k.line(format!("{} {{", count.header));
}

fn close_loop(k: &mut Kernel, count: &Count) {
    count.last.iter().for_each(|l| k.line(format!("  {l}")));
    k.line("}");
}

/// Lines that do nothing to the result, or end the iteration early.
fn noise(k: &mut Kernel, count: &Count) {
    match k.c.weighted(&[(20, 0), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5)]) {
        1 if count.last.is_none() => k.line(format!("  if (({} & 3) == 3) continue;", count.name)),
        2 => k.line(format!("  if ({} > 9) break;", count.name)),
        3 => k.line("  // as the reference does"),
        4 => k.line("  const int rows = 3; (void)rows;"),
        5 => {
            k.helper("#define NOTHING(a) ((void)(a))".into());
            k.line(format!("  NOTHING({});", count.name));
        }
        _ => {}
    }
}

/// `acc` over a row, stored once.
fn sum(k: &mut Kernel, e: &Elem) {
    let row = Row::draw(k);
    let x = k.input(e, &row.shape("rows", 0));
    let y = k.output(&accumulated(e), "rows");
    let acc = k.fresh("acc");
    k.line(format!("{} {acc} = {};", e.compute, e.literal(0)));
    let guard = Guarded::open(k);
    let stream = Stream::draw(k, e, x, &row, &guard.number, true);
    let count = Count::draw(k, &row.bound);
    open_loop(k, &count);
    let at = index(k, &count, &row.bound);
    let value = read(k, e, &stream, &stream.at(&guard.number, &at), true);
    add(k, e, &acc, &value);
    noise(k, &count);
    close_loop(k, &count);
    k.line(format!("{y}[{}] = {acc};", guard.number));
    guard.close(k);
    k.carried = Some(Carried { name: acc, elem: accumulated(e) });
}

/// The threads of a block share a row: neighbours read neighbours.
fn strided(k: &mut Kernel, e: &Elem) {
    let row = Row::draw(k);
    let blocks = format!("ceil_div(rows, {})", k.threads());
    let x = k.input(e, &row.shape(&blocks, 0));
    let y = k.output(&accumulated(e), "rows");
    let (acc, i) = (k.fresh("acc"), k.fresh("i"));
    k.line(format!("{} {acc} = {};", e.compute, e.literal(0)));
    let stream = Stream::draw(k, e, x, &row, "blockIdx.x", true);
    let (first, step) = k.c.one_of(&[("threadIdx.x", "blockDim.x"), ("threadIdx.x", "32"), ("threadIdx.x / 2", "1")]);
    k.line(format!("for (int {i} = {first}; {i} < {}; {i} += {step}) {{", row.bound));
    let value = read(k, e, &stream, &stream.at("blockIdx.x", &i), true);
    add(k, e, &acc, &value);
    k.line("}");
    k.line(format!("if (r < rows) {y}[r] = {acc};"));
    k.carried = Some(Carried { name: acc, elem: accumulated(e) });
}

/// The type of a sum, as an element.
fn accumulated(e: &Elem) -> Elem {
    ELEMS.iter().map(|(_, e)| *e).find(|o| o.c == e.compute).unwrap_or(FLOAT)
}

/// The element, perhaps through a helper, an intrinsic, a variable or a function of it.
fn read(k: &mut Kernel, e: &Elem, stream: &Stream, place: &str, may_call: bool) -> String {
    let through = k.c.weighted(&[(12, 0), (2, 1), (1, 2), (1, 3)]);
    let place = match through {
        // Nothing else may write what this intrinsic reads.
        1 if stream.base.starts_with('x') && !stream.is_volatile => format!("__ldg(&{place})"),
        2 if !stream.is_volatile => {
            k.helper(format!("__device__ {0} get(const {0}* p) {{ return *p; }}", e.c));
            format!("get(&{place})")
        }
        _ => place.to_owned(),
    };
    let value = e.load(&place);
    let value = if through == 3 {
        let name = k.fresh("v");
        k.line(format!("  const {} {name} = {value};", e.compute));
        name
    } else {
        value
    };
    if may_call { calls::applied(k, e, &value) } else { value }
}

fn add(k: &mut Kernel, e: &Elem, acc: &str, value: &str) {
    let line = match k.c.weighted(&[(8, 0), (2, 1), (1, 2), (1, 3), (1, 4)]) {
        1 => format!("  {acc} = {acc} + {value};"),
        2 if e.is_float() => format!("  {acc} = fmax({acc}, {value});"),
        2 => format!("  {acc} = max({acc}, ({}){value});", e.compute),
        3 if e.is_float() => format!("  {acc} += {value} * {};", e.literal(2)),
        3 => format!("  {acc} ^= {value};"),
        // An approximate value on the other side of the threshold would be another summand.
        4 if !k.approximate => {
            let name = k.fresh("t");
            k.line(format!("  const {} {name} = {value};", e.compute));
            format!("  {acc} += {name} > {} ? {name} : {};", e.literal(0), e.literal(1))
        }
        _ => format!("  {acc} += {value};"),
    };
    k.line(line);
}

/// Each element of the output from that of the input, or in place.
fn map(k: &mut Kernel, e: &Elem, in_place: bool) {
    let row = Row::draw(k);
    let shape = row.shape("rows", 0);
    let (x, y) = if in_place {
        let z = k.in_place(e, &shape);
        (z.clone(), z)
    } else {
        (k.input(e, &shape), k.output(e, &shape))
    };
    let guard = Guarded::open(k);
    let from = Stream::draw(k, e, x, &row, &guard.number, !in_place);
    let to =
        if in_place && k.c.chance(2, 3) { from.clone() } else { Stream::draw(k, e, y, &row, &guard.number, false) };
    let count = Count::draw(k, &row.bound);
    open_loop(k, &count);
    let at = index(k, &count, &row.bound);
    let value = read(k, e, &from, &from.at(&guard.number, &at), true);
    let masked = k.c.chance(1, 12);
    // A second counter, which keeps step with the first from 0 on.
    let second = (!masked && count.by_one && !in_place && k.c.chance(1, 12)).then(|| k.fresh("j"));
    let place = second.clone().unwrap_or_else(|| count.name.clone());
    let store = e.store(&to.at(&guard.number, &place), &value);
    match k.c.weighted(&[(10, 0), (1, 1), (1, 2)]) {
        _ if masked => k.line(format!("  if ({} % 3 != 1) {store}", count.name)),
        1 => k.line(format!("  {{ {store} }}")),
        2 => k.line(format!("  if (true) {{ {store} }}")),
        _ => k.line(format!("  {store}")),
    }
    if let Some(j) = second {
        k.line(format!("  {j}++;"));
        k.declare(&count.header, format!("int {j} = 0;"));
    } else {
        noise(k, &count);
    }
    close_loop(k, &count);
    guard.close(k);
}

/// Two inputs, one of them perhaps of another type.
fn pair_sum(k: &mut Kernel, e: &Elem) {
    let row = Row::draw(k);
    let other = if k.c.chance(1, 6) { k.c.weighted(ELEMS) } else { *e };
    let (a, b) = (k.input(e, &row.shape("rows", 0)), k.input(&other, &row.shape("rows", 0)));
    let wide = k.c.chance(1, 2);
    let y = if wide { k.output(e, &row.shape("rows", 0)) } else { k.output(&accumulated(e), "rows") };
    let acc = k.fresh("acc");
    k.line(format!("{} {acc} = {};", e.compute, e.literal(0)));
    let guard = Guarded::open(k);
    let first = Stream::draw(k, e, a, &row, &guard.number, true);
    let second = Stream::draw(k, &other, b, &row, &guard.number, true);
    let out = wide.then(|| Stream::draw(k, e, y.clone(), &row, &guard.number, false));
    let count = Count::draw(k, &row.bound);
    open_loop(k, &count);
    let (i, n) = (&count.name, &guard.number);
    let at = index(k, &count, &row.bound);
    let (u, v) = (read(k, e, &first, &first.at(n, i), false), other.load(&second.at(n, &at)));
    let value = format!("{u} * ({}){v}", e.compute);
    match &out {
        Some(out) => k.line(format!("  {}", e.store(&out.at(n, i), &value))),
        None => add(k, e, &acc, &value),
    }
    noise(k, &count);
    close_loop(k, &count);
    if !wide {
        k.line(format!("{y}[{n}] = {acc};"));
    }
    guard.close(k);
}

/// Stores alone.
fn fill(k: &mut Kernel, e: &Elem) {
    let row = Row::draw(k);
    let y = k.output(e, &row.shape("rows", 0));
    let guard = Guarded::open(k);
    let to = Stream::draw(k, e, y, &row, &guard.number, false);
    let count = Count::draw(k, &row.bound);
    open_loop(k, &count);
    let value = k.c.one_of(&[e.literal(1), format!("({})({} & 7)", e.compute, count.name)]);
    k.line(format!("  {}", e.store(&to.at(&guard.number, &count.name), &value)));
    noise(k, &count);
    close_loop(k, &count);
    guard.close(k);
}

/// Reads and writes of neighbours: of two buffers, of one, or of one through two pointers.
fn shifted(k: &mut Kernel, e: &Elem) {
    let row = Row::of_constant(k);
    let shift = k.c.weighted(&[(2, 1u32), (1, 4), (1, 2), (1, 0), (1, 3)]);
    // The row of a thread must end before that of the next one begins.
    let fits = shift <= row.room;
    let (x, y) = match k.c.below(3) {
        1 if fits => k.overlapping(e, &row.shape("rows", shift), shift),
        2 if fits => {
            let z = k.in_place(e, &row.shape("rows", shift));
            (z.clone(), z)
        }
        _ => (k.input(e, &row.shape("rows", shift)), k.output(e, &row.shape("rows", shift))),
    };
    let guard = Guarded::open(k);
    let one = x == y;
    let from = Stream::draw(k, e, x, &row, &guard.number, !one);
    let to = Stream::draw(k, e, y, &row, &guard.number, false);
    let count = Count::draw(k, &row.bound);
    open_loop(k, &count);
    let forward = k.c.chance(1, 2);
    let far = format!("{} + {shift}", count.name);
    let (read_at, write_at) = if forward { (count.name.clone(), far) } else { (far, count.name.clone()) };
    // Through two pointers the shift lies in the pointers already.
    let apart = from.base.starts_with('p');
    let (read_at, write_at) = if apart { (count.name.clone(), count.name.clone()) } else { (read_at, write_at) };
    let mut value = read(k, e, &from, &from.at(&guard.number, &read_at), false);
    // Along a chain of elements a sum would double in every step, beyond what a signed integer holds.
    let chained = one || from.base.starts_with('p');
    if k.c.chance(1, 2) && !(chained && e.family == Family::Signed) {
        value = format!("{value} + {}", e.load(&from.at(&guard.number, &count.name)));
    }
    k.line(format!("  {}", e.store(&to.at(&guard.number, &write_at), &value)));
    noise(k, &count);
    close_loop(k, &count);
    guard.close(k);
}

/// The output is stored before the input is read.
fn prefix(k: &mut Kernel, e: &Elem) {
    let row = Row::draw(k);
    let (x, y) = (k.input(e, &row.shape("rows", 0)), k.output(e, &row.shape("rows", 0)));
    let guard = Guarded::open(k);
    let acc = k.fresh("acc");
    k.line(format!("{} {acc} = {};", e.compute, e.literal(0)));
    let from = Stream::draw(k, e, x, &row, &guard.number, true);
    let to = Stream::draw(k, e, y, &row, &guard.number, false);
    let count = Count::draw(k, &row.bound);
    open_loop(k, &count);
    let (i, n) = (&count.name, &guard.number);
    k.line(format!("  {}", e.store(&to.at(n, i), &acc)));
    k.line(format!("  {acc} += {};", e.load(&from.at(n, i))));
    close_loop(k, &count);
    guard.close(k);
}

/// The same row several times, or several rows one after the other.
fn several_passes(k: &mut Kernel, e: &Elem) {
    let row = Row::draw(k);
    let x = k.input(e, &row.shape("3 * rows", 0));
    let y = k.output(&accumulated(e), "rows");
    let guard = Guarded::open(k);
    let (acc, outer) = (k.fresh("acc"), k.fresh("j"));
    k.line(format!("{} {acc} = {};", e.compute, e.literal(0)));
    k.line(format!("for (int {outer} = 0; {outer} < 3; ++{outer}) {{"));
    let number = format!("({} * 3 + {outer})", guard.number);
    let stream = Stream::draw(k, e, x, &row, &number, true);
    let count = Count::draw(k, &row.bound);
    open_loop(k, &count);
    let value = read(k, e, &stream, &stream.at(&number, &count.name), true);
    add(k, e, &acc, &value);
    noise(k, &count);
    close_loop(k, &count);
    k.line("}");
    k.line(format!("{y}[{}] = {acc};", guard.number));
    guard.close(k);
}

/// Elements that are vectors already.
fn vectors(k: &mut Kernel) {
    let (c, lanes, last) = k.c.one_of(&[("float4", 4, "w"), ("float2", 2, "y")]);
    let count = k.c.one_of(&[8u32, 16, 5]);
    let v = k.vectors(&FLOAT, c, &format!("rows * {}", lanes * count), "in");
    let y = k.output(&FLOAT, "rows");
    let guard = Guarded::open(k);
    let (acc, i) = (k.fresh("acc"), k.fresh("i"));
    k.line(format!("float {acc} = 0.0f;"));
    k.line(format!("for (int {i} = 0; {i} < {count}; ++{i}) {{"));
    let place = format!("{v}[{} * {count} + {i}]", guard.number);
    if k.c.chance(1, 2) {
        let whole = k.fresh("v");
        k.line(format!("  const {c} {whole} = {place};"));
        k.line(format!("  {acc} += {whole}.x * {whole}.{last};"));
    } else {
        k.line(format!("  {acc} += {place}.x;"));
    }
    k.line("}");
    k.line(format!("{y}[{}] = {acc};", guard.number));
    guard.close(k);
}
