//! The parts of a walk: rows of elements, counters over them, streams that are read and written, guards of threads.

use super::elem::Elem;
use super::kernel::Kernel;

/// How many elements a row has, how far rows lie apart, and how far the loop goes.
pub(super) struct Row {
    /// Elements that the loop may reach, in the kernel's words.
    pub(super) bound: String,
    /// Distance of rows in elements, in the kernel's words and in the contract's.
    pub(super) pitch: String,
    pub(super) pitch_of_contract: String,
    /// Elements of a row beyond the bound.
    pub(super) room: u32,
}

impl Row {
    pub(super) fn draw(k: &mut Kernel) -> Row {
        if k.c.chance(3, 5) { Row::of_parameter(k) } else { Row::of_constant(k) }
    }

    pub(super) fn of_constant(k: &mut Kernel) -> Row {
        let width = k.c.weighted(&[(4, 16u32), (2, 8), (2, 32), (1, 12), (1, 20), (1, 4), (1, 7), (1, 9), (1, 3)]);
        let room = k.c.weighted(&[(5, 0u32), (2, 4), (2, 1), (1, 16), (1, 3)]);
        let word = named_constant(k, width);
        let bound = match k.c.below(8) {
            6 => format!("{word} - 1"),
            7 => format!("{word} / 2"),
            _ => word.clone(),
        };
        let pitch = if room == 0 { word } else { format!("({word} + {room})") };
        Row { bound, pitch, pitch_of_contract: (width + room).to_string(), room }
    }

    pub(super) fn of_parameter(k: &mut Kernel) -> Row {
        let cols = k.columns();
        let bound = k.c.weighted(&[
            (12, cols.to_owned()),
            (1, format!("{cols} - 1")),
            (1, format!("{cols} / 2")),
            (1, format!("({cols} / 4) * 4")),
            (1, format!("({cols} < 16 ? {cols} : 16)")),
            (1, format!("{cols} - {cols} % 8")),
        ]);
        let (pitch, of_contract, room) = match k.c.below(6) {
            4 => (k.pitch().to_owned(), "ld".to_owned(), 0),
            5 => {
                let room = k.c.one_of(&[1u32, 4, 3]);
                (format!("({cols} + {room})"), format!("(cols + {room})"), room)
            }
            _ => (cols.to_owned(), "cols".to_owned(), 0),
        };
        Row { bound, pitch, pitch_of_contract: of_contract, room }
    }

    pub(super) fn shape(&self, rows: &str, more: u32) -> String {
        let more = if more == 0 { String::new() } else { format!(" + {more}") };
        format!("{rows} * {}{more}", self.pitch_of_contract)
    }
}

/// A number of the kernel as a literal, a constant of the file or of the kernel, or a macro.
pub(super) fn named_constant(k: &mut Kernel, value: u32) -> String {
    let form = k.c.weighted(&[(5, 0), (1, 1), (1, 2), (1, 3), (1, 4)]);
    if form == 0 {
        return value.to_string();
    }
    let name = k.fresh("W");
    match form {
        1 => k.helper(format!("constexpr int {name} = {value};")),
        2 => k.helper(format!("#define {name} {value}")),
        3 => k.helper(format!("enum {{ {name} = {value} }};")),
        _ => k.line(format!("constexpr int {name} = {value};")),
    }
    name
}

/// The counter of the loop and its header.
pub(super) struct Count {
    pub(super) name: String,
    pub(super) header: String,
    /// Every iteration is one further, from 0, 1 or so on.
    pub(super) by_one: bool,
    /// Statements before the loop.
    pub(super) before: Vec<String>,
    /// A `while` steps in its body.
    pub(super) last: Option<String>,
}

impl Count {
    pub(super) fn draw(k: &mut Kernel, bound: &str) -> Count {
        let name = k.fresh("i");
        if k.c.chance(1, 24) {
            let step = k.c.one_of(&["--", " -= 2"]);
            let down = if step == "--" { format!("--{name}") } else { format!("{name}{step}") };
            let header = format!("for (int {name} = (int)({bound}) - 1; {name} >= 0; {down})");
            return Count { name, header, by_one: false, before: vec![], last: None };
        }
        let ty = k.c.weighted(&[(10, "int"), (2, "unsigned int"), (1, "size_t"), (1, "long long")]);
        let start = k.c.weighted(&[(12, "0"), (1, "1"), (1, "4"), (1, "(int)(threadIdx.x % 3)")]);
        let (by_one, step) = k.c.weighted(&[
            (8, (true, "++{}")),
            (3, (true, "{}++")),
            (2, (true, "{} += 1")),
            (1, (true, "{} = {} + 1")),
            (1, (false, "{} += 2")),
            (1, (false, "{} += 4")),
        ]);
        let step = step.replace("{}", &name);
        let less = format!("{name} < {bound}");
        let compare = match k.c.weighted(&[(12, 0), (1, 1), (1, 2), (1, 3)]) {
            // A bound that is 0 has no predecessor among unsigned numbers.
            1 if bound.contains(' ') => format!("{name} + 1 <= {bound}"),
            1 => format!("{name} <= {bound} - 1"),
            2 => format!("{bound} > {name}"),
            // Only a step of one is sure to meet the bound.
            3 if by_one && start == "0" => format!("{name} != {bound}"),
            _ => less,
        };
        let (header, before, last) = match k.c.weighted(&[(14, 0), (1, 1), (1, 2)]) {
            1 => (format!("for ({name} = {start}; {compare}; {step})"), vec![format!("{ty} {name};")], None),
            2 => (format!("while ({compare})"), vec![format!("{ty} {name} = {start};")], Some(format!("{step};"))),
            _ => (format!("for ({ty} {name} = {start}; {compare}; {step})"), vec![], None),
        };
        let mut before = before;
        if last.is_none() && k.c.chance(1, 10) {
            before.push(k.c.one_of(&["#pragma unroll", "#pragma unroll 2", "#pragma unroll 1"]).to_owned());
        }
        Count { name, header, by_one, before, last }
    }
}

/// How an element of the row is written.
#[derive(Clone)]
pub(super) struct Stream {
    pub(super) base: String,
    /// The row's start, where it has a name of its own.
    pub(super) row: Option<String>,
    pub(super) pitch: String,
    pub(super) form: usize,
    pub(super) is_volatile: bool,
}

impl Stream {
    pub(super) fn draw(k: &mut Kernel, e: &Elem, base: String, row: &Row, number: &str, is_input: bool) -> Stream {
        let form = k.c.weighted(&[(6, 0), (3, 1), (2, 2), (2, 3), (1, 4), (1, 5), (1, 6), (1, 7)]);
        let pitch = row.pitch.clone();
        let constant = if is_input { "const " } else { "" };
        let mut named = None;
        // Classes have no volatile copies.
        let is_volatile = form == 1 && is_input && e.header.is_none() && k.c.chance(1, 8);
        let volatile = if is_volatile { "volatile " } else { "" };
        match form {
            1 => {
                let name = k.fresh("row");
                k.line(format!("{constant}{volatile}{}* {name} = {base} + {number} * {pitch};", e.c));
                named = Some(name);
            }
            2 => {
                let (name, ty) = (k.fresh("base"), k.c.one_of(&["const int", "int", "size_t", "const unsigned int"]));
                k.line(format!("{ty} {name} = {number} * {pitch};"));
                named = Some(name);
            }
            7 => {
                let name = k.fresh("row");
                k.line(format!("{constant}{}* const {name} = &{base}[{number} * {pitch}];", e.c));
                named = Some(name);
            }
            _ => {}
        }
        Stream { base, row: named, pitch, form, is_volatile }
    }

    pub(super) fn at(&self, number: &str, index: &str) -> String {
        let Stream { base, pitch, .. } = self;
        let row = self.row.as_deref().unwrap_or("");
        match self.form {
            1 | 7 => format!("{row}[{index}]"),
            2 => format!("{base}[{row} + {index}]"),
            3 => format!("{base}[{index} + {pitch} * {number}]"),
            4 => format!("*({base} + {number} * {pitch} + {index})"),
            5 => format!("({base} + {number} * {pitch})[{index}]"),
            6 => format!("{base}[(size_t){number} * {pitch} + {index}]"),
            _ => format!("{base}[{number} * {pitch} + {index}]"),
        }
    }
}

/// Index of the element in the row; none of them leaves it. Some are variables of the loop's body.
pub(super) fn index(k: &mut Kernel, count: &Count, bound: &str) -> String {
    let i = &count.name;
    match k.c.weighted(&[(24, 0), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6)]) {
        5 => {
            let name = k.fresh("at");
            k.line(format!("  const int {name} = {i};"));
            name
        }
        6 => {
            let name = k.fresh("at");
            k.declare(&count.header, format!("int {name} = 0;"));
            k.line(format!("  {name} = {i} > {name} ? {i} : {name};"));
            name
        }
        1 => format!("{i} / 2"),
        2 => format!("({i} % 4) / 1"),
        3 => format!("({bound} - 1 - {i})"),
        4 => format!("({i} + 1) / 2"),
        _ => i.clone(),
    }
}

/// Opens and closes what keeps threads without a row away; the number of the row is `r` or a loop's own.
pub(super) struct Guarded {
    pub(super) number: String,
    pub(super) close: usize,
}

impl Guarded {
    pub(super) fn open(k: &mut Kernel) -> Guarded {
        let form = k.c.weighted(&[(4, 0), (4, 1), (1, 2), (1, 3)]);
        let leaves = form == 1 && !k.barriers_follow;
        if leaves {
            k.line("if (r >= rows) return;");
            return Guarded { number: "r".into(), close: 0 };
        }
        if form == 2 {
            let name = k.fresh("q");
            k.line(format!("for (int {name} = r; {name} < rows; {name} += gridDim.x * blockDim.x * blockDim.y) {{"));
            return Guarded { number: name, close: 1 };
        }
        k.line("if (r < rows) {");
        let number = if form == 3 {
            let name = k.fresh("q");
            k.line(format!("const int {name} = (r / 4) * 4 + r % 4;"));
            name
        } else {
            "r".into()
        };
        Guarded { number, close: 1 }
    }

    pub(super) fn close(self, k: &mut Kernel) {
        (0..self.close).for_each(|_| k.line("}"));
    }
}
