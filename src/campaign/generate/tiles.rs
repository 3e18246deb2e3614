//! Tiles in shared memory with rows and columns: what `pad_shared` looks for, and what it must refuse.

use super::elem::{Elem, FLOAT, HALF, INT, UNSIGNED};
use super::kernel::Kernel;
use super::rows::named_constant;

/// The tile of a block: `layers` of `rows` by `columns`.
struct Tile {
    e: Elem,
    name: String,
    layers: u32,
    rows: u32,
    columns: u32,
    /// The extents as the kernel writes them.
    row_word: String,
    column_word: String,
}

impl Tile {
    fn draw(k: &mut Kernel) -> Tile {
        let e = k.c.weighted(&[(8, FLOAT), (3, INT), (1, UNSIGNED), (2, super::elem::DOUBLE), (2, HALF)]);
        k.uses(&e);
        let [x, y] = k.block;
        // A square of the block's own width, where threads are numbered by it.
        let direct = y > 1 && k.c.chance(1, 2);
        let (rows, columns) = if direct {
            (k.c.one_of(&[y, x, 2 * y]), x)
        } else {
            k.c.weighted(&[
                (4, (16, 16)),
                (3, (32, 32)),
                (2, (8, 32)),
                (2, (16, 8)),
                (1, (12, 20)),
                (1, (32, 33)),
                (1, (5, 7)),
            ])
        };
        // As large as shared memory: one more column would not fit.
        let (e, rows, columns) =
            if !direct && k.shares_alone && k.c.chance(1, 40) { (FLOAT, 384, 32) } else { (e, rows, columns) };
        let layers = if rows < 100 && k.c.chance(1, 10) { 2 } else { 1 };
        let (row_word, column_word) = (named_constant(k, rows), named_constant(k, columns));
        let column_word = match k.c.below(12) {
            10 if columns % 2 == 0 => format!("{} * 2", columns / 2),
            11 => format!("{} + 1", columns - 1),
            _ => column_word,
        };
        Tile { e, name: k.fresh("tile"), layers, rows, columns, row_word, column_word }
    }

    fn elements(&self) -> u32 {
        self.layers * self.rows * self.columns
    }

    fn declaration(&self, align: bool) -> String {
        let Tile { e, name, layers, row_word, column_word, .. } = self;
        let align = if align { "__align__(16) " } else { "" };
        let first = if *layers > 1 { format!("[{layers}]") } else { String::new() };
        format!("__shared__ {align}{} {name}{first}[{row_word}][{column_word}];", e.c)
    }

    fn at(&self, layer: &str, row: &str, column: &str) -> String {
        let first = if self.layers > 1 { format!("[{layer}]") } else { String::new() };
        format!("{}{first}[{row}][{column}]", self.name)
    }
}

/// The number of the thread in its block.
fn lane(k: &mut Kernel) -> String {
    let [_, y] = k.block;
    if y == 1 { "threadIdx.x".into() } else { "(threadIdx.y * blockDim.x + threadIdx.x)".into() }
}

/// Fills a tile, waits, and reads it in another order.
pub fn tile(k: &mut Kernel) {
    let tile = Tile::draw(k);
    let blocks = format!("ceil_div(rows, {})", k.threads());
    let shape = format!("{blocks} * {}", tile.elements());
    let (x, y) = (k.input(&tile.e, &shape), k.output(&tile.e, &shape));
    let vectors = k.c.chance(1, 16) && tile.e.c == "float" && tile.columns.is_multiple_of(4);
    // Constants of the kernel come before what is declared with them.
    k.line(tile.declaration(vectors));
    let layers = tile.layers > 1;
    let layer = k.fresh("l");
    if layers {
        k.line(format!("for (int {layer} = 0; {layer} < 2; ++{layer}) {{"));
    }
    fill(k, &tile, &x, &layer);
    if layers {
        k.line("}");
    }
    if k.c.chance(1, 3) {
        uses(k, &tile, &shape);
    }
    k.line("__syncthreads();");
    if layers {
        k.line(format!("for (int {layer} = 0; {layer} < 2; ++{layer}) {{"));
    }
    if vectors {
        rows_as_vectors(k, &tile, &y, &layer)
    } else {
        drain(k, &tile, &y, &layer)
    }
    if layers {
        k.line("}");
    }
    other_uses(k, &tile);
}

/// The block's part of a buffer, with the layer.
fn part(tile: &Tile, layer: &str) -> String {
    let Tile { rows, columns, layers, .. } = tile;
    let layer = if *layers > 1 { format!(" + {layer} * {}", rows * columns) } else { String::new() };
    format!("blockIdx.x * {}{layer}", tile.elements())
}

/// A loop over the elements of a layer, one for each thread at a time, numbered `e`.
fn over_elements(k: &mut Kernel, tile: &Tile) -> String {
    let (e, lane) = (k.fresh("e"), lane(k));
    let step = k.threads();
    let step = k.c.one_of(&[step.to_string(), "blockDim.x * blockDim.y".to_owned()]);
    let ty = k.c.weighted(&[(4, "int"), (1, "unsigned int")]);
    k.line(format!("for ({ty} {e} = {lane}; {e} < {}; {e} += {step}) {{", tile.rows * tile.columns));
    e
}

fn fill(k: &mut Kernel, tile: &Tile, x: &str, layer: &str) {
    let part = part(tile, layer);
    let c = tile.columns;
    let [bx, by] = k.block;
    if by > 1 && c == bx {
        let q = k.fresh("q");
        k.line(format!("for (int {q} = threadIdx.y; {q} < {}; {q} += {by}) {{", tile.rows));
        let value = format!("{x}[{part} + {q} * {c} + threadIdx.x]");
        k.line(format!("  {} = {value};", tile.at(layer, &q, "threadIdx.x")));
        k.line("}");
        return;
    }
    let e = over_elements(k, tile);
    let at = match k.c.weighted(&[(8, 0), (1, 1), (1, 2)]) {
        1 if tile.layers == 1 => format!("{}[0][{e}]", tile.name),
        2 if tile.layers == 1 => format!("(&{}[0][0])[{e}]", tile.name),
        _ => tile.at(layer, &format!("{e} / {c}"), &format!("{e} % {c}")),
    };
    k.line(format!("  {at} = {x}[{part} + {e}];"));
    k.line("}");
}

fn drain(k: &mut Kernel, tile: &Tile, y: &str, layer: &str) {
    let part = part(tile, layer);
    let (r, c) = (tile.rows, tile.columns);
    let [bx, by] = k.block;
    if by == bx && r == c && c == bx {
        let at = tile.at(layer, "threadIdx.x", "threadIdx.y");
        k.line(format!("{y}[{part} + threadIdx.y * {c} + threadIdx.x] = {at};"));
        return;
    }
    let e = over_elements(k, tile);
    let at = match k.c.weighted(&[(10, 0), (2, 1), (1, 2), (1, 3), (1, 4), (1, 5)]) {
        1 => tile.at(layer, &format!("{e} / {c}"), &format!("{e} % {c}")),
        2 => tile.at(layer, &format!("{e} % {r}"), &format!("({e} / {r} + {e}) % {c}")),
        3 if tile.layers == 1 => {
            let p = k.fresh("p");
            k.line(format!("  const {}* {p} = {}[{e} % {r}];", tile.e.c, tile.name));
            format!("{p}[{e} / {r}]")
        }
        4 if tile.layers == 1 => format!("*({}[{e} % {r}] + {e} / {r})", tile.name),
        5 if tile.layers == 1 => {
            let (a, b) = (k.fresh("a"), k.fresh("b"));
            k.line(format!("  const int {a} = {e} % {r}, {b} = {e} / {r};"));
            tile.at(layer, &a, &b)
        }
        _ => tile.at(layer, &format!("{e} % {r}"), &format!("{e} / {r}")),
    };
    k.line(format!("  {y}[{part} + {e}] = {at};"));
    k.line("}");
}

/// Four neighbours of a row at a time.
fn rows_as_vectors(k: &mut Kernel, tile: &Tile, y: &str, layer: &str) {
    let part = part(tile, layer);
    let c = tile.columns;
    let (e, lane) = (k.fresh("e"), lane(k));
    let step = k.threads();
    k.line(format!("for (int {e} = {lane}; {e} < {}; {e} += {step}) {{", tile.rows * c / 4));
    let at = tile.at(layer, &format!("{e} / {}", c / 4), &format!("{e} % {} * 4", c / 4));
    k.line(format!("  const float4 v = *reinterpret_cast<const float4*>(&{at});"));
    k.line(format!("  {y}[{part} + {e} * 4] = v.w; {y}[{part} + {e} * 4 + 1] = v.x;"));
    k.line(format!("  {y}[{part} + {e} * 4 + 2] = v.z; {y}[{part} + {e} * 4 + 3] = v.y;"));
    k.line("}");
}

/// Things between filling and the barrier that touch no element.
fn uses(k: &mut Kernel, tile: &Tile, shape: &str) {
    match k.c.below(3) {
        0 => k.line("// all elements are there after this"),
        1 => {
            let w = k.output(&INT, shape);
            k.line(format!("if (threadIdx.x == 0 && threadIdx.y == 0) {w}[blockIdx.x] = sizeof({}[0]);", tile.name));
        }
        _ => {
            k.helper("template <class T> __device__ void ignore(T) {}".into());
            k.line(format!("ignore(sizeof({}));", tile.name));
        }
    }
}

/// What a tile may be handed to.
fn other_uses(k: &mut Kernel, tile: &Tile) {
    let form = k.c.weighted(&[(14, 0), (1, 1), (1, 2), (1, 3)]);
    if form == 0 || tile.layers > 1 || tile.e.header.is_some() {
        return;
    }
    let Tile { e, name, rows, columns, column_word, .. } = tile;
    let y = k.output(e, &format!("ceil_div(rows, {})", k.threads()));
    let first = "threadIdx.x == 0 && threadIdx.y == 0";
    match form {
        1 => {
            let f = k.fresh("last_of");
            k.helper(format!("__device__ {0} {f}(const {0}* p, int n) {{ return p[n - 1]; }}", e.c));
            k.line(format!("if ({first}) {y}[blockIdx.x] = {f}(&{name}[0][0], {});", rows * columns));
        }
        2 => {
            let f = k.fresh("corner_of");
            k.helper(format!(
                "__device__ {0} {f}(const {0} (*t)[{columns}]) {{ return t[{rows} - 1][{columns} - 1]; }}",
                e.c
            ));
            k.line(format!("if ({first}) {y}[blockIdx.x] = {f}({name});"));
        }
        _ => {
            let _ = column_word;
            k.line(format!("if ({first}) {y}[blockIdx.x] = {name}[1][0] + (&{name}[0][0])[{columns}];"));
        }
    }
}
