//! A kernel in the making: parameters, dims, shared memory, helpers and statements, and the file that they become.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::elem::Elem;
use crate::campaign::choice::Choices;
use crate::campaign::program::{Generated, Sizes};

/// A size that the contract names.
#[derive(Clone, Debug)]
struct Dim {
    name: &'static str,
    divisible_by: i64,
    min: Option<i64>,
}

/// A parameter, with its argument in the contract's words.
#[derive(Clone, Debug)]
struct Param {
    ty: String,
    name: String,
    passed: String,
    /// What the host function passes, where that is not its own parameter of the same name.
    literal: Option<String>,
    /// Lines of the contract on the buffer.
    contract: Option<String>,
}

/// What a later part of the kernel may go on with.
#[derive(Clone, Debug)]
pub struct Carried {
    pub name: String,
    pub elem: Elem,
}

pub struct Kernel {
    pub c: Choices,
    /// Threads of a block, x and y.
    pub block: [u32; 2],
    /// The tolerance admits approximate functions.
    pub approximate: bool,
    /// A part that contains a barrier still follows, so that no thread may leave.
    pub barriers_follow: bool,
    /// At most one part keeps something in shared memory.
    pub shares_alone: bool,
    pub carried: Option<Carried>,
    restrict: bool,
    int: (&'static str, &'static str),
    dims: Vec<Dim>,
    params: Vec<Param>,
    headers: BTreeSet<&'static str>,
    before: Vec<String>,
    /// Declarations that all statements see.
    top: Vec<String>,
    body: Vec<String>,
    assumed: Vec<String>,
    loose: Vec<String>,
    fixed_columns: Option<i64>,
    numbers: usize,
}

impl Kernel {
    pub fn new(mut c: Choices, block: [u32; 2]) -> Kernel {
        let restrict = c.chance(1, 2);
        let int = c.weighted(&[
            (8, ("int", "i32")),
            (2, ("unsigned int", "u32")),
            (1, ("long long", "i64")),
            (1, ("size_t", "u64")),
            (1, ("const int", "i32")),
        ]);
        let mut k = Kernel {
            c,
            block,
            approximate: false,
            barriers_follow: false,
            shares_alone: false,
            carried: None,
            restrict,
            int,
            dims: vec![],
            params: vec![],
            headers: BTreeSet::new(),
            before: vec![],
            top: vec![],
            body: vec![],
            assumed: vec![],
            loose: vec![],
            fixed_columns: None,
            numbers: 0,
        };
        let min = k.c.chance(1, 2).then_some(1);
        k.dims.push(Dim { name: "rows", divisible_by: 1, min });
        k
    }

    pub fn threads(&self) -> u32 {
        self.block[0] * self.block[1]
    }

    /// A name that nothing else has.
    pub fn fresh(&mut self, stem: &str) -> String {
        self.numbers += 1;
        format!("{stem}{}", self.numbers)
    }

    pub fn line(&mut self, text: impl Into<String>) {
        self.body.push(text.into());
    }

    /// A declaration at the top of the kernel.
    pub fn first(&mut self, text: String) {
        if !self.top.contains(&text) {
            self.top.push(text);
        }
    }

    /// A statement before the last `back` ones.
    pub fn insert_before_last(&mut self, back: usize, text: String) {
        let at = self.body.len().saturating_sub(back);
        self.body.insert(at, text);
    }

    /// A statement before the last line that begins with `line`, and before the pragma in front of that.
    pub fn declare(&mut self, line: &str, text: String) {
        let mut at = self.body.iter().rposition(|l| l.starts_with(line)).unwrap_or(self.body.len());
        while at > 0 && self.body[at - 1].starts_with('#') {
            at -= 1;
        }
        self.body.insert(at, text);
    }

    pub fn lines(&mut self, texts: Vec<String>) {
        self.body.extend(texts);
    }

    pub fn helper(&mut self, text: String) {
        if !self.before.contains(&text) {
            self.before.push(text);
        }
    }

    pub fn assume(&mut self, text: String) {
        if !self.assumed.contains(&text) {
            self.assumed.push(text);
        }
    }

    pub fn uses(&mut self, e: &Elem) {
        self.headers.extend(e.header);
    }

    /// The number of elements of a row, as a parameter; 1 or more.
    pub fn columns(&mut self) -> &'static str {
        if !self.dims.iter().any(|d| d.name == "cols") {
            let divisible_by = self.c.weighted(&[(4, 1), (3, 4), (1, 8), (1, 16), (1, 2)]);
            let min = self.c.chance(1, 2).then_some(1);
            self.dims.push(Dim { name: "cols", divisible_by, min });
            if self.c.chance(1, 6) {
                self.fixed_columns = Some(self.c.one_of(&[16, 12, 7, 32]));
            }
        }
        "cols"
    }

    /// The distance of rows in memory, as a parameter; no less than the columns.
    pub fn pitch(&mut self) -> &'static str {
        self.columns();
        if !self.dims.iter().any(|d| d.name == "ld") {
            let divisible_by = self.c.weighted(&[(3, 1), (2, 4)]);
            self.dims.push(Dim { name: "ld", divisible_by, min: None });
        }
        "ld"
    }

    pub fn input(&mut self, e: &Elem, shape: &str) -> String {
        self.buffer(e, shape, "x", "in")
    }

    pub fn output(&mut self, e: &Elem, shape: &str) -> String {
        self.buffer(e, shape, "y", "out")
    }

    pub fn in_place(&mut self, e: &Elem, shape: &str) -> String {
        self.buffer(e, shape, "z", "inout")
    }

    fn buffer(&mut self, e: &Elem, shape: &str, stem: &str, role: &str) -> String {
        self.uses(e);
        let name = self.fresh(stem);
        let constant = if role == "in" { "const " } else { "" };
        let restrict = if self.restrict { " __restrict__" } else { "" };
        let align = self.aligned(&name);
        let contract = format!(
            "// kopt: args.{name} = {{ role = \"{role}\", dtype = \"{}\", shape = [\"{shape}\"]{align} }}",
            e.dtype
        );
        let ty = format!("{constant}{}*{restrict}", e.c);
        self.params.push(Param {
            ty,
            name: name.clone(),
            passed: name.clone(),
            literal: None,
            contract: Some(contract),
        });
        name
    }

    /// Two parameters that point into one buffer, the second `shift` elements further.
    pub fn overlapping(&mut self, e: &Elem, shape: &str, shift: u32) -> (String, String) {
        self.uses(e);
        let (buffer, from, to) = (self.fresh("z"), self.fresh("p"), self.fresh("q"));
        let contract =
            format!("// kopt: args.{buffer} = {{ role = \"inout\", dtype = \"{}\", shape = [\"{shape}\"] }}", e.dtype);
        self.loose.push(buffer.clone());
        let place = if shift == 0 { buffer.clone() } else { format!("{buffer} + {shift}") };
        let param = |ty: String, name: &str, passed: &str, contract| Param {
            ty,
            name: name.to_owned(),
            passed: passed.to_owned(),
            literal: None,
            contract,
        };
        self.params.push(param(format!("const {}*", e.c), &from, &buffer, Some(contract)));
        self.params.push(param(format!("{}*", e.c), &to, &place, None));
        (from, to)
    }

    /// A buffer whose address must be a multiple of 16, because the kernel takes it for vectors.
    pub fn vectors(&mut self, e: &Elem, c: &str, shape: &str, role: &str) -> String {
        self.uses(e);
        let name = self.fresh("v");
        let constant = if role == "in" { "const " } else { "" };
        let contract = format!(
            "// kopt: args.{name} = {{ role = \"{role}\", dtype = \"{}\", shape = [\"{shape}\"], align = 16 }}",
            e.dtype
        );
        let ty = format!("{constant}{c}*");
        self.params.push(Param {
            ty,
            name: name.clone(),
            passed: name.clone(),
            literal: None,
            contract: Some(contract),
        });
        name
    }

    fn aligned(&mut self, name: &str) -> &'static str {
        if self.c.chance(1, 3) {
            return ", align = 16";
        }
        self.loose.push(name.to_owned());
        ""
    }

    /// The file with its contract, its sizes, and the record of what was chosen.
    pub fn finish(mut self, seed: u64) -> Generated {
        let index = self.row_number();
        let cells = self.cells();
        let integer = self.int;
        for d in self.dims.clone() {
            let fixed = self.fixed_columns.filter(|_| d.name == "cols");
            let value = fixed.map_or(d.name.to_owned(), |n| n.to_string());
            self.params.push(Param {
                ty: integer.0.to_owned(),
                name: d.name.to_owned(),
                passed: format!("{}({value})", integer.1),
                literal: fixed.map(|n| n.to_string()),
                contract: None,
            });
        }
        let launched = self.c.chance(2, 3);
        if !launched && self.c.chance(3, 4) {
            let [x, y] = self.block;
            self.assume(format!("blockDim.x == {x}"));
            self.assume(format!("blockDim.y == {y}"));
            self.assume("blockDim.z == 1".into());
        }
        let contract = self.contract(&cells);
        let mut text = String::new();
        self.headers.iter().for_each(|h| text += &format!("#include <{h}>\n"));
        self.before.iter().for_each(|b| text += &format!("{b}\n"));
        text += &contract;
        let list: Vec<String> = self.params.iter().map(|p| format!("{} {}", p.ty, p.name)).collect();
        let _ = writeln!(text, "__global__ void k({}) {{", list.join(", "));
        for line in self.top.iter().chain([&index]).chain(&self.body) {
            text += &indented(line);
        }
        text += "}\n";
        let host = launched.then_some(text.len());
        if launched {
            text += &self.host();
        }
        Generated {
            seed,
            record: self.c.record().to_vec(),
            text,
            host,
            cells,
            loose: self.loose,
            approximate: self.approximate,
        }
    }

    fn row_number(&mut self) -> String {
        let [x, y] = self.block;
        let unsigned = if self.c.chance(1, 6) { "unsigned int" } else { "int" };
        let block = if self.c.chance(1, 4) { format!("{x}") } else { "blockDim.x".to_owned() };
        if y == 1 {
            format!("const {unsigned} r = blockIdx.x * {block} + threadIdx.x;")
        } else {
            format!("const {unsigned} r = (blockIdx.x * {y} + threadIdx.y) * {block} + threadIdx.x;")
        }
    }

    /// One size that suits the rewrites, one that does not, and one more.
    fn cells(&mut self) -> Vec<Sizes> {
        let threads = i64::from(self.threads());
        let columns: [&[i64]; 3] = [&[16, 32, 48], &[13, 7, 1, 18, 5], &[20, 4, 8, 33]];
        let rows: [&[i64]; 3] = [&[threads + 3, 2 * threads], &[5, 1, 31], &[threads, threads - 1]];
        let mut found: Vec<Sizes> = vec![];
        for i in 0..3 {
            let (wanted, extra) = (self.c.one_of(columns[i]), self.c.one_of(&[0i64, 1, 4, 3]));
            let mut cell = Sizes::from([("rows".to_owned(), self.c.one_of(rows[i]))]);
            for d in &self.dims {
                let up = |n: i64| (n + d.divisible_by - 1) / d.divisible_by * d.divisible_by;
                match d.name {
                    "cols" => cell.insert("cols".into(), self.fixed_columns.unwrap_or(up(wanted))),
                    "ld" => cell.insert("ld".into(), up(cell["cols"] + if i == 0 { extra & 4 } else { extra })),
                    _ => None,
                };
            }
            if !found.contains(&cell) {
                found.push(cell);
            }
        }
        found
    }

    fn contract(&self, cells: &[Sizes]) -> String {
        let mut text = String::new();
        if !self.assumed.is_empty() {
            text += &format!("// kopt: assume {}\n", self.assumed.join(", "));
        }
        for d in &self.dims {
            let samples: Vec<String> = cells.iter().map(|c| c[d.name].to_string()).collect();
            let fixed = self.fixed_columns.filter(|_| d.name == "cols");
            let divisible = if d.divisible_by > 1 && fixed.is_none() {
                format!(", divisible_by = {}", d.divisible_by)
            } else {
                String::new()
            };
            let min = d.min.filter(|_| fixed.is_none()).map(|m| format!(", min = {m}")).unwrap_or_default();
            text += &format!("// kopt: dims.{} = {{ samples = [{}]{divisible}{min} }}\n", d.name, samples.join(", "));
        }
        self.params.iter().filter_map(|p| p.contract.as_ref()).for_each(|c| text += &format!("{c}\n"));
        if self.approximate {
            text += "// kopt: permissions = { approximate = true }\n";
        }
        let args: Vec<String> = self.params.iter().map(|p| format!("\"{}\"", p.passed)).collect();
        let [x, y] = self.block;
        text + &format!(
            "// kopt: launch = {{ grid = \"ceil_div(rows, {})\", block = [{x}, {y}], args = [{}] }}\n",
            self.threads(),
            args.join(", ")
        )
    }

    /// A function of the host that launches the kernel; it has the kernel's parameters.
    fn host(&mut self) -> String {
        let list: Vec<String> = self.params.iter().map(|p| format!("{} {}", p.ty, p.name)).collect();
        let given: Vec<&str> = self.params.iter().map(|p| p.literal.as_deref().unwrap_or(&p.name)).collect();
        let threads = self.threads();
        let [x, y] = self.block;
        let block = if y == 1 { format!("{x}") } else { format!("dim3({x}, {y})") };
        let named = self.c.chance(1, 2);
        let (first, grid, block) = if named {
            let ty = if y == 1 { "const int" } else { "const dim3" };
            let block = if y == 1 { block } else { format!("({x}, {y})") };
            let gives = if y == 1 { format!("block = {block}") } else { format!("block{block}") };
            (
                format!("  {ty} {gives};\n  const int grid = (rows + {}) / {threads};\n", threads - 1),
                "grid".to_owned(),
                "block".to_owned(),
            )
        } else {
            (String::new(), format!("(rows + {}) / {threads}", threads - 1), block)
        };
        let given = given.join(", ");
        // No size that is run is as large.
        let other = if self.c.chance(1, 8) && y == 1 {
            let width = self.c.one_of(&[2 * x, 256, 64]);
            format!(
                "  if (rows > 100000) {{\n    k<<<(rows + {}) / {threads}, {width}>>>({given});\n    return;\n  }}\n",
                threads - 1
            )
        } else {
            String::new()
        };
        format!("\nvoid run_k({}) {{\n{first}{other}  k<<<{grid}, {block}>>>({given});\n}}\n", list.join(", "))
    }
}

fn indented(line: &str) -> String {
    line.lines()
        .map(|l| if l.is_empty() || l.starts_with('#') { format!("{l}\n") } else { format!("  {l}\n") })
        .collect()
}
