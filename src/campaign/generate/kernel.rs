//! A kernel in the making: parameters, dims, shared memory, helpers and statements.

use std::collections::BTreeSet;

use super::elem::Elem;
use crate::campaign::choice::Choices;

/// A size that the contract names.
#[derive(Clone, Debug)]
pub struct Dim {
    pub name: &'static str,
    pub divisible_by: i64,
    pub min: Option<i64>,
}

/// A parameter, with its argument in the contract's words.
#[derive(Clone, Debug)]
pub struct Param {
    pub ty: String,
    pub name: String,
    pub passed: String,
    /// What the host function passes, where that is not its own parameter of the same name.
    pub literal: Option<String>,
    /// Lines of the contract on the buffer.
    pub contract: Option<String>,
}

/// What a later part of the kernel may go on with.
#[derive(Clone, Debug)]
pub struct Carried {
    pub name: String,
    pub elem: Elem,
}

pub struct Kernel {
    pub c: Choices,
    /// `k`, and of a second kernel of the file `m`.
    pub name: &'static str,
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
    pub(super) int: (&'static str, &'static str),
    pub(super) dims: Vec<Dim>,
    pub(super) params: Vec<Param>,
    pub(super) headers: BTreeSet<&'static str>,
    pub(super) before: Vec<String>,
    /// Declarations that all statements see.
    pub(super) top: Vec<String>,
    pub(super) body: Vec<String>,
    pub(super) assumed: Vec<String>,
    pub(super) loose: Vec<String>,
    pub(super) fixed_columns: Option<i64>,
    /// The last number that a fresh name has taken.
    pub(super) numbers: usize,
}

impl Kernel {
    pub fn new(mut c: Choices, name: &'static str, block: [u32; 2], numbers: usize) -> Kernel {
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
            name,
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
            numbers,
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
}
