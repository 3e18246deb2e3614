//! The tables of a plan: dims, arguments, tolerances, reference, permissions.

use toml::de::{DeTable, DeValue};

use super::value::{Item, Reader};
use crate::contract::args::{Arg, Bound, Init, Role, Value};
use crate::contract::dims::Dim;
use crate::contract::expr::Expr;
use crate::contract::expr_parse::dtype;
use crate::contract::generate::Distribution;
use crate::contract::near::near;
use crate::contract::plan::Plan;
use crate::contract::reference::Reference;
use crate::contract::tolerance::Tolerance;
use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// Keys of a plan.
pub(super) const PLAN_KEYS: &[&str] =
    &["dims", "require", "args", "step", "tolerance", "reference", "permissions", "noalias", "alias"];
const DIM_KEYS: &[&str] = &["samples", "min", "max", "divisible_by", "proposed"];
const ARG_KEYS: &[&str] = &[
    "role",
    "dtype",
    "shape",
    "align",
    "distribution",
    "legal",
    "infinite",
    "nan",
    "init",
    "writes",
    "value",
    "symbol",
    "proposed",
];
pub(super) const DTYPES: &[&str] =
    &["f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool", "f8"];
pub(super) const CONTRADICTION: Code = Code(605);
pub(super) const NAME: Code = Code(604);
const TWICE: Code = Code(606);

impl Reader {
    /// Dims and arguments, which the rest refers to.
    pub fn names(&mut self, plan: &mut Plan, table: &DeTable) {
        if let Some(item) = table.get("dims")
            && let Some(dims) = self.table(item, "`[dims.n]` with `samples = [1024]`")
        {
            for (name, at, item) in self.entries(dims) {
                let dim = self.dim(&name, at, item);
                self.once(plan, &name, at);
                plan.dims.extend(dim);
            }
        }
        if let Some(item) = table.get("args")
            && let Some(args) = self.table(item, "`[args.x]` with `role = \"in\"`")
        {
            for (name, at, item) in self.entries(args) {
                let arg = self.arg(&name, at, item);
                self.once(plan, &name, at);
                plan.args.extend(arg);
            }
        }
    }

    fn once(&mut self, plan: &Plan, name: &str, at: Span) {
        // A scalar argument may carry the name of the dim that is its value.
        let taken = plan.dim(name).and(plan.arg(name)).is_some() || plan.arg(name).is_some();
        if taken {
            let d = Diagnostic::error(TWICE, format!("`{name}` is declared twice")).at(at, "again here");
            self.problem(d.next("give one of them another name"));
        }
    }

    fn dim(&mut self, name: &str, at: Span, item: &Item) -> Option<Dim> {
        let table = self.table(item, "`samples = [1024]`")?;
        self.known_keys(table, DIM_KEYS, "a dim");
        let mut dim = Dim { span: Some(at), ..Dim::new(name) };
        if let Some(item) = table.get("samples") {
            let items = match item.get_ref() {
                DeValue::Integer(_) => vec![item],
                _ => self.list(item, "`samples = [1024, 4096]`").unwrap_or_default(),
            };
            dim.samples = items.into_iter().filter_map(|i| self.integer(i, "`1024`")).collect();
        }
        dim.min = table.get("min").and_then(|i| self.integer(i, "`min = 1`"));
        dim.max = table.get("max").and_then(|i| self.integer(i, "`max = 4096`"));
        dim.divisible_by = table.get("divisible_by").and_then(|i| self.integer(i, "`divisible_by = 4`"));
        dim.proposed = table.get("proposed").map(|i| self.proposed(i)).unwrap_or_default();
        self.dim_is_possible(&dim, table);
        Some(dim)
    }

    fn dim_is_possible(&mut self, dim: &Dim, table: &DeTable) {
        let at = |r: &Reader, key: &str| table.get(key).map(|i| r.span(i));
        let name = &dim.name;
        let mut found = vec![];
        if dim.divisible_by.is_some_and(|by| by <= 0) {
            found.push((
                at(self, "divisible_by"),
                format!("nothing is divisible by this in `{name}`"),
                "a positive number",
            ));
        }
        if let (Some(min), Some(max)) = (dim.min, dim.max)
            && min > max
        {
            found.push((at(self, "min"), format!("no value of `{name}` is from {min} to {max}"), "`min` below `max`"));
        }
        if found.is_empty() {
            for v in dim.samples.iter().filter(|v| !dim.admits(**v)) {
                let rule = dim.excludes(*v).unwrap_or_default();
                found.push((
                    at(self, "samples"),
                    format!("the sample {v} is excluded: {rule}"),
                    "samples that are guaranteed",
                ));
            }
        }
        for (span, message, next) in found {
            let d = Diagnostic::error(CONTRADICTION, message).next(format!("write {next}"));
            self.problem(span.into_iter().fold(d, |d, s| d.at(s, "contradicts the rest")));
        }
    }

    fn arg(&mut self, name: &str, at: Span, item: &Item) -> Option<Arg> {
        let table = self.table(item, "`role = \"in\"`")?;
        self.known_keys(table, ARG_KEYS, "an argument");
        let roles: Vec<&str> = Role::ALL.iter().map(|r| r.word()).collect();
        let Some(role) = table.get("role") else {
            let d = Diagnostic::error(super::FORM, format!("`args.{name}` has no role")).at(at, "this argument");
            self.problem(d.next(format!("add `role`, one of {}", roles.join(", "))));
            return None;
        };
        let role = self.word(role, "role", &roles, Role::from_word)?;
        let mut arg = Arg { span: Some(at), ..Arg::new(name, role) };
        arg.dtype = table.get("dtype").and_then(|i| self.word(i, "dtype", DTYPES, dtype));
        arg.shape = table.get("shape").map(|i| self.exprs(i, "`shape = [\"rows\", \"cols\"]`")).unwrap_or_default();
        arg.align = table.get("align").and_then(|i| self.alignment(i));
        arg.distribution = table.get("distribution").map(|i| self.distributions(i)).unwrap_or_default();
        arg.legal = table.get("legal").and_then(|i| self.legal(i));
        arg.infinite = table.get("infinite").and_then(|i| self.boolean(i)).unwrap_or(false);
        arg.nan = table.get("nan").and_then(|i| self.boolean(i)).unwrap_or(false);
        arg.symbol = table.get("symbol").and_then(|i| self.text(i, "`symbol = \"weights\"`")).map(str::to_owned);
        let inits: Vec<&str> = Init::ALL.iter().map(|i| i.word()).collect();
        arg.init = table.get("init").and_then(|i| self.word(i, "init", &inits, Init::from_word));
        arg.writes = table.get("writes").and_then(|i| self.region(i));
        arg.value = table.get("value").and_then(|i| self.scalar_value(i));
        arg.proposed = table.get("proposed").map(|i| self.proposed(i)).unwrap_or_default();
        self.fits_role(&arg, table);
        Some(arg)
    }

    fn fits_role(&mut self, arg: &Arg, table: &DeTable) {
        let odd: &[&str] = match arg.role {
            Role::Scalar => &["shape", "align", "distribution", "infinite", "nan", "init", "writes", "symbol"],
            Role::In => &["value", "writes"],
            _ => &["value"],
        };
        for key in odd {
            if let Some(item) = table.get(*key) {
                let message = format!("`{key}` says nothing of an argument with the role {}", arg.role.word());
                let span = self.span(item);
                self.problem(
                    Diagnostic::error(CONTRADICTION, message)
                        .at(span, "here")
                        .next(format!("remove `{key}`, or change the role")),
                );
            }
        }
    }

    fn alignment(&mut self, item: &Item) -> Option<u64> {
        let v = self.integer(item, "`align = 16`")?;
        match u64::try_from(v) {
            Ok(v) if v.is_power_of_two() && v <= 1 << 20 => Some(v),
            _ => {
                let span = self.span(item);
                let d = Diagnostic::error(CONTRADICTION, format!("{v} is no alignment: a power of two is"));
                self.problem(d.at(span, "here").next("write `align = 16`"));
                None
            }
        }
    }

    fn distributions(&mut self, item: &Item) -> Vec<Distribution> {
        let words: Vec<&str> = Distribution::ALL.iter().map(|d| d.word()).collect();
        let items = match item.get_ref() {
            DeValue::String(_) => vec![item],
            _ => self.list(item, "`[\"normal-1\", \"sparse\"]`").unwrap_or_default(),
        };
        items.into_iter().filter_map(|i| self.word(i, "distribution", &words, Distribution::from_word)).collect()
    }

    fn bound(&mut self, item: &Item) -> Option<Bound> {
        match item.get_ref() {
            DeValue::Float(_) => self.float(item, "`0.5`").map(Bound::Float),
            _ => self.expr(item).map(Bound::Int),
        }
    }

    fn legal(&mut self, item: &Item) -> Option<(Bound, Bound)> {
        const EXAMPLE: &str = "`legal = [0, \"n - 1\"]`";
        match self.list(item, EXAMPLE)?.as_slice() {
            [lo, hi] => {
                let found = (self.bound(lo)?, self.bound(hi)?);
                let value = |b: &Bound| match b {
                    Bound::Int(e) => e.constant().map(|v| v as f64),
                    Bound::Float(v) => Some(*v),
                };
                if let (Some(a), Some(b)) = (value(&found.0), value(&found.1))
                    && a > b
                {
                    let span = self.span(item);
                    let d = Diagnostic::error(CONTRADICTION, "no element is in this range").at(span, "empty");
                    self.problem(d.next("write the smaller end first"));
                }
                Some(found)
            }
            _ => self.form(item, "a list of two ends", EXAMPLE),
        }
    }

    fn region(&mut self, item: &Item) -> Option<(Expr, Expr)> {
        const EXAMPLE: &str = "`writes = [0, \"n\"]`: first element, and one past the last";
        match self.list(item, EXAMPLE)?.as_slice() {
            [from, to] => Some((self.expr(from)?, self.expr(to)?)),
            _ => self.form(item, "a list of two ends", EXAMPLE),
        }
    }

    fn scalar_value(&mut self, item: &Item) -> Option<Value> {
        match item.get_ref() {
            DeValue::Float(_) => self.float(item, "`0.5`").map(Value::Float),
            DeValue::Boolean(b) => Some(Value::Int(Expr::Int(i64::from(*b)))),
            _ => self.expr(item).map(Value::Int),
        }
    }

    /// Everything that refers to dims and arguments. `kernel` is whose comments are read.
    pub fn rest(&mut self, plan: &mut Plan, table: &DeTable, kernel: Option<(&str, Span)>) {
        if let Some(item) = table.get("require") {
            plan.require.extend(self.exprs(item, "`require = [\"k <= n\"]`"));
        }
        plan.noalias |= table.get("noalias").and_then(|i| self.boolean(i)).unwrap_or(false);
        if let Some(item) = table.get("alias") {
            self.alias(plan, item);
        }
        self.tolerances(plan, table);
        if let Some(item) = table.get("reference") {
            plan.reference = self.reference(item).unwrap_or_default();
        }
        if let Some(item) = table.get("permissions") {
            self.permissions(plan, item);
        }
        self.steps(plan, table, kernel);
    }

    /// `alias = [["x", "y"]]`
    fn alias(&mut self, plan: &mut Plan, item: &Item) {
        const EXAMPLE: &str = "`alias = [[\"x\", \"y\"]]`";
        for group in self.list(item, EXAMPLE).unwrap_or_default() {
            let names = self.texts(group, EXAMPLE);
            for (name, at) in &names {
                let is_buffer = plan.arg(name).is_some_and(|a| a.is_buffer());
                let known = plan.args.iter().filter(|a| a.is_buffer()).map(|a| a.name.as_str());
                let fault = (!is_buffer).then(|| self.unknown_name(name, "buffer", known, *at));
                self.problems.extend(fault);
            }
            if plan.noalias {
                let span = self.span(group);
                let d =
                    Diagnostic::error(CONTRADICTION, "`noalias` says that no buffers overlap").at(span, "these may");
                self.problem(d.next("remove one of the two"));
            }
            plan.alias.push(names.into_iter().map(|(n, _)| n).collect());
        }
    }

    fn tolerances(&mut self, plan: &mut Plan, table: &DeTable) {
        let Some(item) = table.get("tolerance") else { return };
        let Some(list) = self.table(item, "`[tolerance.y]` with `max = 1e-5`") else { return };
        for (output, at, item) in self.entries(list) {
            let Some(t) = self.table(item, "`max = 1e-5`") else { continue };
            self.known_keys(t, &["exact", "rms", "max"], "a tolerance");
            let exact = t.get("exact").and_then(|i| self.boolean(i)).unwrap_or(false);
            let rms = t.get("rms").and_then(|i| self.float(i, "`rms = 1e-6`"));
            let max = t.get("max").and_then(|i| self.float(i, "`max = 1e-5`"));
            let fault = match plan.arg(&output) {
                None => Some(self.unknown_name(&output, "output", plan.args.iter().map(|a| a.name.as_str()), at)),
                Some(a) if !a.role.is_output() => Some(
                    Diagnostic::error(CONTRADICTION, format!("`{output}` is no output"))
                        .at(at, "here")
                        .next("name an argument with the role out or inout"),
                ),
                Some(_) if exact && (rms.is_some() || max.is_some()) => Some(
                    Diagnostic::error(CONTRADICTION, "exact leaves no room for a bound")
                        .at(at, "here")
                        .next("remove `exact`, or the bounds"),
                ),
                Some(_) if [rms, max].into_iter().flatten().any(|v| v < 0.0) => Some(
                    Diagnostic::error(CONTRADICTION, "an error is never negative")
                        .at(at, "here")
                        .next("write a bound of 0 or more"),
                ),
                Some(_) => None,
            };
            self.problems.extend(fault);
            plan.tolerances.push(Tolerance { output, exact, rms, max, span: Some(at) });
        }
    }

    fn reference(&mut self, item: &Item) -> Option<Reference> {
        const EXAMPLE: &str = "`reference = \"original\"`, `{ kernel = \"NAME\" }`, `{ host = \"NAME\" }` or `{ command = [\"python3\", \"ref.py\"] }`";
        match item.get_ref() {
            DeValue::String(s) if s.as_ref() as &str == "original" => Some(Reference::Original),
            DeValue::Table(t) => {
                self.known_keys(t, &["kernel", "host", "command"], "a reference");
                if t.len() != 1 {
                    return self.form(item, "one kind of reference", EXAMPLE);
                }
                let kernel =
                    t.get("kernel").and_then(|i| self.text(i, EXAMPLE)).map(|n| Reference::Kernel(n.to_owned()));
                let host = t.get("host").and_then(|i| self.text(i, EXAMPLE)).map(|n| Reference::Host(n.to_owned()));
                let command = t.get("command").map(|i| self.texts(i, EXAMPLE).into_iter().map(|(s, _)| s).collect());
                kernel.or(host).or(command.map(Reference::Command))
            }
            _ => self.form(item, "a reference", EXAMPLE),
        }
    }

    fn permissions(&mut self, plan: &mut Plan, item: &Item) {
        let Some(t) = self.table(item, "`[permissions]` with `reassociate = true`") else { return };
        self.known_keys(t, &["mutable_globals", "atomic_order", "reassociate", "approximate"], "permissions");
        let p = &mut plan.permissions;
        if let Some(i) = t.get("mutable_globals") {
            p.mutable_globals.extend(self.texts(i, "`mutable_globals = [\"counter\"]`").into_iter().map(|(s, _)| s));
        }
        let mut flag = |key: &str| t.get(key).and_then(|i| self.boolean(i)).unwrap_or(false);
        p.atomic_order |= flag("atomic_order");
        p.reassociate |= flag("reassociate");
        p.approximate |= flag("approximate");
    }

    /// Names in expressions must be those of dims or scalar arguments.
    pub fn settle(&mut self, plan: &Plan) {
        let mut uses: Vec<(&Expr, Option<Span>)> = vec![];
        for a in &plan.args {
            uses.extend(a.shape.iter().map(|e| (e, a.span)));
            let (lo, hi) = a.writes.as_ref().map_or((None, None), |(a, b)| (Some(a), Some(b)));
            uses.extend(lo.into_iter().chain(hi).map(|e| (e, a.span)));
            for b in a.legal.iter().flat_map(|(lo, hi)| [lo, hi]) {
                uses.extend(if let Bound::Int(e) = b { Some((e, a.span)) } else { None });
            }
            uses.extend(if let Some(Value::Int(e)) = &a.value { Some((e, a.span)) } else { None });
        }
        uses.extend(plan.require.iter().map(|e| (e, None)));
        for l in plan.launches() {
            let lists = [(&l.grid, l.spans.grid), (&l.block, l.spans.block), (&l.cluster, None)];
            uses.extend(lists.into_iter().flat_map(|(list, at)| list.iter().map(move |e| (e, at))));
            uses.extend(l.shared.iter().map(|e| (e, l.spans.shared)));
        }
        let values: Vec<&str> = value_names(plan).collect();
        let mut said = std::collections::BTreeSet::new();
        for (e, at) in uses {
            for name in e.names().into_iter().filter(|n| !values.contains(n)) {
                if said.insert((name.to_owned(), at)) {
                    let d =
                        self.unknown_name(name, "dim or scalar", values.iter().copied(), Span::new(self.file, 0, 0));
                    let d = Diagnostic { labels: vec![], ..d };
                    self.problem(at.into_iter().fold(d, |d, s| d.at(s, "used here")));
                }
            }
        }
    }

    pub fn unknown_name<'a>(
        &self,
        name: &str,
        what: &str,
        known: impl Iterator<Item = &'a str>,
        at: Span,
    ) -> Diagnostic {
        let next = match near(name, known) {
            Some(right) => format!("write `{right}`"),
            None if what.starts_with("dim") => format!("add `[dims.{name}]` with `samples`"),
            None => format!("add `[args.{name}]`"),
        };
        Diagnostic::error(NAME, format!("there is no {what} `{name}`")).at(at, "this name").next(next)
    }
}

/// Names that an expression may use.
pub(super) fn value_names(plan: &Plan) -> impl Iterator<Item = &str> {
    let scalars = plan.args.iter().filter(|a| a.role == Role::Scalar).map(|a| a.name.as_str());
    plan.dims.iter().map(|d| d.name.as_str()).chain(scalars)
}
