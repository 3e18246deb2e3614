//! From a kernel in the making to its text: the contract above it, the head of a template where it is one, and the host
//! function that launches it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::kernel::{Kernel, Param};
use crate::campaign::choice::Choices;
use crate::campaign::program::{Generated, Made, Sizes};

/// Stands for the kernel with its template arguments until they are chosen.
const CALLED: &str = "@called@";

/// One kernel of a file.
pub struct Part {
    headers: BTreeSet<&'static str>,
    before: Vec<String>,
    /// The contract and the kernel.
    text: String,
    host: Option<String>,
    made: Made,
    approximate: bool,
    /// The last number of a fresh name.
    pub numbers: usize,
}

/// The file of some kernels: what they need, the kernels, and last the functions of the host.
pub fn assemble(c: &Choices, parts: Vec<Part>, seed: u64) -> Generated {
    let headers: BTreeSet<&str> = parts.iter().flat_map(|p| p.headers.iter().copied()).collect();
    let mut before: Vec<&String> = vec![];
    for text in parts.iter().flat_map(|p| &p.before) {
        if !before.contains(&text) {
            before.push(text);
        }
    }
    let mut text = String::new();
    headers.iter().for_each(|h| text += &format!("#include <{h}>\n"));
    before.iter().for_each(|b| text += &format!("{b}\n"));
    parts.iter().for_each(|p| text += &p.text);
    let has_host = parts.iter().any(|p| p.host.is_some());
    let host = has_host.then_some(text.len());
    parts.iter().filter_map(|p| p.host.as_ref()).for_each(|h| text += h);
    let approximate = parts.iter().any(|p| p.approximate);
    let kernels = parts.into_iter().map(|p| p.made).collect();
    Generated { seed, record: c.record().to_vec(), text, host, kernels, approximate }
}

/// How a kernel is a template: parameters with the word of its text that each stands for. The arguments are what the
/// words were, so that the instantiation is the kernel as it would be without.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Form(Vec<(&'static str, &'static str, String)>);

impl Form {
    /// `<float, 64>`
    fn arguments(&self) -> String {
        let list: Vec<&str> = self.0.iter().map(|(_, _, word)| word.as_str()).collect();
        if list.is_empty() { String::new() } else { format!("<{}>", list.join(", ")) }
    }

    /// `template <typename T, int W>`
    fn head(&self) -> String {
        let list: Vec<String> = self.0.iter().map(|(kind, name, _)| format!("{kind} {name}")).collect();
        if list.is_empty() { String::new() } else { format!("template <{}>\n", list.join(", ")) }
    }

    /// As the contract says it.
    fn quoted(&self) -> String {
        let list: Vec<String> = self.0.iter().map(|(_, _, word)| format!("\"{word}\"")).collect();
        if list.is_empty() { String::new() } else { format!(", template = [{}]", list.join(", ")) }
    }

    /// The text with every such word replaced by the parameter.
    fn put(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (_, name, word)| {
            let lines = text.split_inclusive('\n');
            lines.map(|l| if l.starts_with('#') { l.to_owned() } else { replaced(l, word, name) }).collect()
        })
    }
}

/// Every whole word or number that is `from`.
fn replaced(text: &str, from: &str, to: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out.push_str(if word == from { to } else { word });
        let end = after.find(is_word).unwrap_or(after.len());
        out.push_str(&after[..end]);
        rest = &after[end..];
    }
    out
}

impl Kernel {
    /// The kernel with its contract and its sizes, and the choices that are left.
    pub fn finish(mut self) -> (Part, Choices) {
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
        let mut inner = String::new();
        for line in self.top.iter().chain([&index]).chain(&self.body) {
            inner += &indented(line);
        }
        let list: Vec<String> = self.params.iter().map(|p| format!("{} {}", p.ty, p.name)).collect();
        let plain = format!("({}) {{\n{inner}}}\n", list.join(", "));
        let host = launched.then(|| self.host());
        let form = self.form(&plain);
        let mut text = self.contract(&cells, &form);
        let _ = write!(text, "{}__global__ void {}{}", form.head(), self.name, form.put(&plain));
        if !form.0.is_empty() && !launched && self.c.chance(2, 3) {
            let _ = writeln!(text, "template __global__ void {}{}({});", self.name, form.arguments(), list.join(", "));
        }
        let called = format!("{}{}", self.name, form.arguments());
        let host = host.map(|h| h.replace(CALLED, &called));
        let made = Made {
            name: self.name,
            template: form.0.iter().map(|(_, _, word)| word.clone()).collect(),
            cells,
            loose: self.loose,
        };
        let (headers, before, approximate, numbers) = (self.headers, self.before, self.approximate, self.numbers);
        (Part { headers, before, text, host, made, approximate, numbers }, self.c)
    }

    /// Whether the kernel is a template, and of what: of an element type that stands in it, of a number, or of both.
    fn form(&mut self, plain: &str) -> Form {
        let words: BTreeSet<&str> = plain.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.').collect();
        let kind = self.c.weighted(&[(6, 0), (2, 1), (2, 2), (2, 3)]);
        let mut form = Form::default();
        if words.contains("T") || words.contains("W") {
            return form;
        }
        let types: Vec<&str> = ["float", "double", "__half", "__nv_bfloat16", "short", "char"]
            .into_iter()
            .filter(|t| words.contains(t) && !plain.contains(&format!("signed {t}")))
            .collect();
        if kind & 1 != 0 && !types.is_empty() {
            form.0.push(("typename", "T", self.c.one_of(&types).to_owned()));
        }
        let numbers: Vec<String> = [self.block[0], self.block[1], self.threads(), 16, 4]
            .into_iter()
            .map(|n| n.to_string())
            .filter(|n| words.contains(n.as_str()))
            .collect();
        if kind & 2 != 0 && !numbers.is_empty() {
            form.0.push(("int", "W", self.c.one_of(&numbers)));
        }
        form
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

    fn contract(&self, cells: &[Sizes], form: &Form) -> String {
        let template = form.quoted();
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
            "// kopt: launch = {{ grid = \"ceil_div(rows, {})\", block = [{x}, {y}], args = [{}]{template} }}\n",
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
                "  if (rows > 100000) {{\n    {CALLED}<<<(rows + {}) / {threads}, {width}>>>({given});\n    return;\n  }}\n",
                threads - 1
            )
        } else {
            String::new()
        };
        format!(
            "\nvoid run_{}({}) {{\n{first}{other}  {CALLED}<<<{grid}, {block}>>>({given});\n}}\n",
            self.name,
            list.join(", ")
        )
    }
}

fn indented(line: &str) -> String {
    line.lines()
        .map(|l| if l.is_empty() || l.starts_with('#') { format!("{l}\n") } else { format!("  {l}\n") })
        .collect()
}
