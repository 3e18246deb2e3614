//! The canonical text of a skill: fixed order, one spelling. Parsing it yields the same skill, and its hash ignores
//! comments, blanks and the order of clauses.

use std::fmt::Write as _;

use super::ast::*;
use super::lexer::dedent;

impl Skill {
    /// Hash of the canonical text, in hexadecimal.
    pub fn hash(&self) -> String {
        blake3::hash(print(self).as_bytes()).to_hex().to_string()
    }
}

/// The canonical text.
pub fn print(skill: &Skill) -> String {
    let mut out = Printer { text: String::new() };
    out.skill(skill);
    out.text
}

/// An expression with no more brackets than it needs.
pub fn print_expr(expr: &Expr) -> String {
    let mut text = String::new();
    write_expr(&mut text, expr, 0);
    text
}

/// A text in quotes, on one line, as a skill file writes it.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

struct Printer {
    text: String,
}

impl Printer {
    fn line(&mut self, indent: usize, text: &str) {
        self.text.extend(std::iter::repeat_n(' ', indent));
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// A text after `head`: as a block if it has lines that a block can hold, else quoted.
    fn long(&mut self, indent: usize, head: &str, text: &str, tail: &str) {
        let block = format!("\n{text}");
        if !text.contains('\n') || text.contains("\"\"\"") || dedent(&block) != text {
            return self.line(indent, &format!("{head}{}{tail}", quote(text)));
        }
        self.line(indent, &format!("{head}\"\"\""));
        for line in text.lines() {
            if line.is_empty() {
                self.text.push('\n');
            } else {
                self.line(indent + 2, line);
            }
        }
        self.line(indent, &format!("\"\"\"{tail}"));
    }

    fn skill(&mut self, skill: &Skill) {
        self.line(0, &format!("skill {} {} {{", skill.name.node, quote(&skill.title.node)));
        self.line(2, &format!("direction {}", skill.direction.node));
        self.long(2, "intent ", &skill.intent.node, "");
        let because = skill.class_because.as_ref().map(|b| format!(" because {}", quote(&b.node)));
        self.line(2, &format!("class {}{}", skill.class.node, because.unwrap_or_default()));
        self.line(2, &format!("touches {}", join(&skill.touches, |t| t.node.to_string())));
        self.scope(&skill.scope);
        self.bindings(&skill.bindings);
        for item in &skill.lets {
            self.line(2, &format!("let {} = {}", item.name.node, print_expr(&item.value)));
        }
        self.line(2, "require {");
        for group in &skill.require {
            if group.conditions.is_empty() {
                self.line(4, &format!("{} none", group.kind.node));
            } else {
                self.line(4, &format!("{} {{", group.kind.node));
                group.conditions.iter().for_each(|c| self.condition(6, c));
                self.line(4, "}");
            }
        }
        self.line(2, "}");
        if !skill.pays.is_empty() {
            self.line(2, "pays when {");
            skill.pays.iter().for_each(|c| self.condition(4, c));
            self.line(2, "}");
        }
        self.features(&skill.features);
        for effect in &skill.effects {
            let anchor = effect.anchor.as_ref().map(|a| format!("({})", a.node)).unwrap_or_default();
            self.line(2, &format!("effect {}{anchor} {}", effect.metric.node, effect.trend.node));
        }
        for risk in &skill.risks {
            self.long(2, "risk ", &risk.node, "");
        }
        for tune in &skill.tunes {
            let values = join(&tune.values, |v| v.node.to_string());
            self.line(2, &format!("tune {} in {{{values}}}", tune.name.node));
        }
        skill.bodies.iter().for_each(|b| self.body(b));
        for carrier in &skill.carriers {
            self.long(2, &format!("carrier {} ", carrier.language.node), &carrier.text.node, "");
        }
        if let Some(e) = &skill.equivalence {
            let argument = e.argument.as_ref().map(|a| format!("{} ", a.node)).unwrap_or_default();
            self.long(2, &format!("equivalence {argument}"), &e.text.node, "");
        }
        for example in &skill.examples {
            self.case("example", &example.title, &example.before, example.contract.as_ref(), &example.at, None);
        }
        for refusal in &skill.refusals {
            let because = Some(&refusal.because);
            self.case("refuse", &refusal.title, &refusal.before, refusal.contract.as_ref(), &refusal.at, because);
        }
        self.line(0, "}");
    }

    fn scope(&mut self, scope: &Scope) {
        if scope.span.is_none() {
            return;
        }
        self.line(2, "scope {");
        if !scope.cases.is_empty() {
            self.line(4, &format!("case {}", join(&scope.cases, |c| c.node.to_string())));
        }
        if !scope.languages.is_empty() {
            self.line(4, &format!("language {}", join(&scope.languages, |l| l.node.to_string())));
        }
        if !scope.platforms.is_empty() {
            self.line(4, &format!("platform {}", join(&scope.platforms, |p| print_platform(&p.node))));
        }
        if !scope.after.is_empty() {
            let after = join(&scope.after, |a| format!("{}{}", a.skill.node, if a.optional { "?" } else { "" }));
            self.line(4, &format!("after {after}"));
        }
        self.line(2, "}");
    }

    fn bindings(&mut self, bindings: &[Binding]) {
        if !bindings.is_empty() {
            self.line(2, "match");
        }
        for binding in bindings {
            self.line(4, &print_binding(binding));
        }
    }

    fn condition(&mut self, indent: usize, condition: &Condition) {
        let mut text = print_condition(condition);
        if let Some(because) = &condition.because {
            let _ = write!(text, " because {}", quote(&because.node));
        }
        text.push(';');
        self.line(indent, &text);
    }

    fn features(&mut self, features: &Features) {
        let lists =
            [("requires", &features.requires), ("provides", &features.provides), ("conflicts", &features.conflicts)];
        if lists.iter().all(|(_, list)| list.is_empty()) {
            return;
        }
        self.line(2, "features");
        for (word, list) in lists {
            self.line(4, &format!("{word} {{ {} }}", join(list, print_feature)));
        }
    }

    fn body(&mut self, body: &Body) {
        let head = body_head(body);
        if body.kind != BodyKind::Template {
            return self.line(2, &format!("body {head}"));
        }
        self.line(2, &format!("body {head} {{"));
        for rule in &body.rules {
            self.long(4, "", &rule.pattern.node, " =>");
            self.long(6, "", &rule.replacement.node, "");
        }
        self.line(2, "}");
    }

    fn case(
        &mut self,
        word: &str,
        title: &Name,
        before: &Name,
        contract: Option<&Name>,
        at: &Option<Spanned<i64>>,
        because: Option<&Name>,
    ) {
        self.line(2, &format!("{word} {} {{", quote(&title.node)));
        self.long(4, "before ", &before.node, "");
        if let Some(contract) = contract {
            self.long(4, "contract ", &contract.node, "");
        }
        if let Some(at) = at {
            self.line(4, &format!("at {}", at.node));
        }
        if let Some(because) = because {
            self.line(4, &format!("because {}", because.node));
        }
        self.line(2, "}");
    }
}

fn join<T>(items: &[T], print: impl Fn(&T) -> String) -> String {
    items.iter().map(print).collect::<Vec<_>>().join(", ")
}

/// `k: loop(serial) in f where ...`
pub fn print_binding(binding: &Binding) -> String {
    let each = if binding.each { "each " } else { "" };
    let mut text = format!("{each}{}: {}", binding.name.node, binding.surface.node);
    if !binding.arguments.is_empty() {
        let _ = write!(text, "({})", join(&binding.arguments, |a| a.node.clone()));
    }
    if let Some(within) = &binding.within {
        let _ = write!(text, " in {}", within.node);
    }
    if let Some(condition) = &binding.condition {
        let _ = write!(text, " where {}", print_expr(condition));
    }
    text
}

/// The condition with label and guard, without its reason.
pub fn print_condition(condition: &Condition) -> String {
    let label = condition.label.as_ref().map(|l| format!("{}: ", l.node)).unwrap_or_default();
    let guard = condition.guard.as_ref().map(|g| format!(" guard {}", g.node)).unwrap_or_default();
    format!("{label}{}{guard}", print_expr(&condition.test))
}

pub fn print_feature(feature: &Feature) -> String {
    let anchor = feature.anchor.as_ref().map(|a| format!(" @ {}", a.node)).unwrap_or_default();
    format!("{}{anchor}", feature.name.node)
}

pub fn print_platform(platform: &PlatformRange) -> String {
    match (platform.range, platform.to) {
        (false, _) => platform.from.to_string(),
        (true, Some(to)) => format!("{}..{to}", platform.from),
        (true, None) => format!("{}..", platform.from),
    }
}

/// `inverse cuda native`
pub fn body_head(body: &Body) -> String {
    let inverse = body.inverse.then_some("inverse");
    let words = [inverse, body.language.map(Language::as_str), Some(body.kind.as_str())];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// How tightly an operator binds.
fn strength(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Or => 1,
        BinaryOp::And => 2,
        BinaryOp::Add | BinaryOp::Sub => 5,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 6,
        _ => 4,
    }
}

/// Writes `expr`, in brackets if it binds less tightly than `outer` asks.
fn write_expr(out: &mut String, expr: &Expr, outer: u8) {
    let own = match &expr.kind {
        ExprKind::Binary { op, .. } => strength(*op),
        ExprKind::Unary { op: UnaryOp::Not, .. } => 3,
        ExprKind::In { .. } => 4,
        ExprKind::Unary { op: UnaryOp::Negate, .. } => 7,
        _ => 8,
    };
    let brackets = own < outer;
    if brackets {
        out.push('(');
    }
    match &expr.kind {
        ExprKind::Int(n) => {
            let _ = write!(out, "{n}");
        }
        ExprKind::Bytes(n) => {
            let (count, unit) = if *n > 0 && n % 1024 == 0 { (n / 1024, "KB") } else { (*n, "B") };
            let _ = write!(out, "{count}{unit}");
        }
        ExprKind::Bool(b) => {
            let _ = write!(out, "{b}");
        }
        ExprKind::Real(text) | ExprKind::Name(text) => out.push_str(text),
        ExprKind::All(name) => {
            let _ = write!(out, "all {name}");
        }
        ExprKind::Error => out.push_str("(?)"),
        ExprKind::Call { name, arguments } => {
            out.push_str(&name.node);
            out.push('(');
            for (i, argument) in arguments.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                if let Some(keyword) = &argument.keyword {
                    let _ = write!(out, "{} = ", keyword.node);
                }
                write_expr(out, &argument.value, 0);
            }
            out.push(')');
        }
        ExprKind::Unary { op, operand } => {
            out.push_str(if *op == UnaryOp::Not { "not " } else { "-" });
            write_expr(out, operand, own);
        }
        ExprKind::Binary { op, left, right } => {
            // Comparisons do not chain, the others group to the left.
            write_expr(out, left, if op.is_comparison() { own + 1 } else { own });
            let _ = write!(out, " {op} ");
            write_expr(out, right, own + 1);
        }
        ExprKind::In { value, set } => {
            write_expr(out, value, own + 1);
            out.push_str(" in {");
            for (i, item) in set.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_expr(out, item, 0);
            }
            out.push('}');
        }
    }
    if brackets {
        out.push(')');
    }
}
