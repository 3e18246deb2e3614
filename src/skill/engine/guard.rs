//! Emits guards: a branch in the kernel around the rewritten region, or a second kernel and a branch at every launch.

use super::region;
use super::site::{Proof, Site};
use crate::edit::{Edit, Editor, splice};
use crate::ir::{Expr, ExprId, ExprKind, Function, FunctionKind, Guard, Launch, Place, StmtKind, Type};
use crate::predicate::GuardCode;
use crate::skill::ast::GuardPolicy;
use crate::skill::engine::judge::Verdict;
use crate::source::Span;
use crate::source::tokens::{TokenKind, scan_code, scan_directive};

/// The run-time tests that a proof asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Whether every guarded condition may be tested at the launch.
    pub may_dispatch: bool,
    /// The terms of the conjunction, in the order of the conditions, each once.
    pub terms: Vec<String>,
    pub codes: Vec<GuardCode>,
}

/// How a guard was written.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Emitted {
    pub kind: &'static str,
    /// The condition, in the words of the place where it stands.
    pub condition: String,
    /// Why a dispatch was asked for and not chosen.
    pub instead: Option<String>,
}

impl Plan {
    /// `None` when no condition needs a run-time test.
    pub fn of(proof: &Proof) -> Option<Plan> {
        let mut plan = Plan { may_dispatch: true, terms: vec![], codes: vec![] };
        for judged in proof.conditions() {
            let Verdict::Guarded { policy, code: Some(code) } = &judged.verdict else { continue };
            plan.may_dispatch &= *policy == GuardPolicy::Dispatch;
            for term in code.text.split(" && ") {
                if !plan.terms.iter().any(|t| t == term) {
                    plan.terms.push(term.to_owned());
                }
            }
            plan.codes.push(code.clone());
        }
        (!plan.codes.is_empty()).then_some(plan)
    }

    /// Both tests in one: each term once.
    pub fn and(mut self, other: Plan) -> Plan {
        self.may_dispatch &= other.may_dispatch;
        for term in other.terms {
            if !self.terms.contains(&term) {
                self.terms.push(term);
            }
        }
        self.codes.extend(other.codes);
        self
    }

    pub fn condition(&self) -> String {
        self.terms.join(" && ")
    }
}

/// Whether two tests can never hold together: the same pointer, shifted by different numbers of bytes, on one boundary.
pub fn exclude_each_other(a: &str, b: &str) -> bool {
    a.split(" && ").any(|s| b.split(" && ").any(|t| s != t && shifted(s).is_some_and(|x| Some(x) == shifted(t))))
}

/// Pointer and mask of `((reinterpret_cast<size_t>(x) + 4) & 15) == 0`, with or without the shift.
fn shifted(term: &str) -> Option<(&str, &str)> {
    let rest = term.trim_start_matches('(').strip_prefix("reinterpret_cast<size_t>(")?;
    let (pointer, rest) = rest.split_once(')')?;
    Some((pointer, rest.split_once(" & ")?.1))
}

/// Whether the site already stands in the fallback arm of a guard with these terms (and perhaps more), in the kernel or
/// at every launch.
pub fn already_tested(site: &Site, plan: &Plan) -> Option<Span> {
    let f = site.function();
    let guards: &[Guard] = match site.place() {
        Place::Loop(id) => &f.loops[id.0 as usize].guards,
        Place::Access(id) => &f.accesses[id.0 as usize].guards,
        Place::Reduction(id) => &f.loops[f.reductions[id.0 as usize].id_loop.0 as usize].guards,
        _ => &[],
    };
    let same = |g: &&Guard| g.negated && covers(site.text(f.expr(g.expr).span), &plan.terms);
    if let Some(guard) = guards.iter().find(same) {
        return Some(f.expr(guard.expr).span);
    }
    let launches = site.launches();
    let tested: Vec<Span> = launches.iter().filter_map(|l| tested_at(site, plan, l)).collect();
    (!launches.is_empty() && tested.len() == launches.len()).then(|| tested[0])
}

/// The condition of the `if` in whose else branch the launch stands, when it is this plan's.
fn tested_at(site: &Site, plan: &Plan, launch: &Launch) -> Option<Span> {
    let unit = site.program.unit(site.at.unit);
    let caller = unit.functions.get(launch.caller.0 as usize)?;
    let wanted = at_launch(site, plan, launch).ok()?;
    caller.stmts.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::If { condition, otherwise: Some(arm), .. } => {
            let inside = arm.stmts.iter().any(|s| caller.stmt(*s).span.contains(launch.span));
            let span = caller.expr(*condition).span;
            (inside && covers(site.text(span), &wanted)).then_some(span)
        }
        _ => None,
    })
}

/// Whether the conjunction `tested` holds all of `terms`; white space and outer brackets do not count.
fn covers(tested: &str, terms: &[String]) -> bool {
    let tested = squeeze(tested);
    let whole = tested
        .strip_prefix('(')
        .and_then(|t| t.strip_suffix(')'))
        .filter(|_| tested.starts_with("((") || !tested.contains("&&"));
    let parts: Vec<&str> = whole.unwrap_or(&tested).split("&&").collect();
    terms.iter().all(|t| parts.contains(&squeeze(t).as_str()))
}

fn squeeze(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Adds the guard around `edits` (all inside the site's function) and hands everything to `out`.
///
/// # Errors
/// Why no guard can be written here.
pub fn emit(site: &Site, plan: &Plan, edits: &[Edit], out: &mut Editor) -> Result<Emitted, String> {
    let dispatch =
        if plan.may_dispatch { launch_conditions(site, plan) } else { Err("a test needs the kernel".into()) };
    match dispatch {
        Ok(conditions) => {
            emit_dispatch(site, &conditions, edits, out);
            Ok(Emitted { kind: "dispatch", condition: plan.condition(), instead: None })
        }
        Err(why) => {
            emit_in_kernel(site, plan, edits, out)?;
            let instead = plan.may_dispatch.then_some(why);
            Ok(Emitted { kind: "in-kernel", condition: plan.condition(), instead })
        }
    }
}

fn emit_in_kernel(site: &Site, plan: &Plan, edits: &[Edit], out: &mut Editor) -> Result<(), String> {
    let f = site.function();
    let spans: Vec<Span> = edits.iter().map(|e| e.span).collect();
    let run = region::covering(f, &spans).ok_or("the rewrite reaches beyond the statements of the kernel")?;
    if region::declares(f, &run) {
        return Err("the rewritten statements declare names that later ones use".into());
    }
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return Err("nothing was rewritten".into()) };
    if let Some(name) = hidden(f, plan) {
        return Err(format!(
            "`{name}` is declared again in the kernel and may be another variable where the test stands"
        ));
    }
    let span = region::whole(f, *first).to(region::whole(f, *last));
    let original = site.text(span);
    let optimised = splice(original, span.start as usize, edits);
    let indent = out.indent_of(span).to_owned();
    let inner = format!("{indent}{}", out.indent_unit());
    let arm = |text: &str| {
        let text = text.replace("\r\n", "\n");
        format!("{{\n{inner}{}\n{indent}}}", out.reindent(text.trim(), &indent, &inner))
    };
    // A rewrite that is one block already is the arm.
    let block = edits.len() == 1 && edits[0].span == span && edits[0].text.starts_with('{');
    let first = if block { optimised.replace("\r\n", "\n") } else { arm(&optimised) };
    out.replace(span, &format!("if ({}) {first} else {}", plan.condition(), arm(original)));
    Ok(())
}

/// A name of the condition that is declared more than once in the kernel, so that it may be hidden where the test stands.
fn hidden<'a>(f: &'a Function, plan: &Plan) -> Option<&'a str> {
    let own: Vec<&str> = plan.codes.iter().flat_map(|c| &c.names).map(|v| f.var(*v).name.as_str()).collect();
    let declared = |name: &str| f.vars.iter().filter(|v| v.name == name).count();
    let mut before = "";
    for term in &plan.terms {
        for token in scan_code(term) {
            let word = token.of(term);
            // Constants and builtins have no declaration in the kernel at all.
            let allowed = usize::from(own.contains(&word));
            if token.kind == TokenKind::Word && ![".", "->", "::"].contains(&before) && declared(word) > allowed {
                return f.vars.iter().find(|v| v.name == word).map(|v| v.name.as_str());
            }
            before = word;
        }
    }
    None
}

/// The condition of every visible launch, or why it cannot be tested there.
fn launch_conditions<'a>(site: &Site<'a>, plan: &Plan) -> Result<Vec<(&'a Launch, String)>, String> {
    let joined = |(l, terms): (&'a Launch, Vec<String>)| (l, terms.join(" && "));
    Ok(launch_terms(site, plan)?.into_iter().map(joined).collect())
}

/// Whether the plan can be tested at every launch.
pub fn can_dispatch(site: &Site, plan: &Plan) -> bool {
    plan.may_dispatch && launch_terms(site, plan).is_ok()
}

fn launch_terms<'a>(site: &Site<'a>, plan: &Plan) -> Result<Vec<(&'a Launch, Vec<String>)>, String> {
    let f = site.function();
    if f.kind != FunctionKind::Kernel {
        return Err("it stands in a device function".into());
    }
    if plan.codes.iter().any(|c| !c.builtins.is_empty()) {
        return Err("the test needs the launch's dimensions".into());
    }
    if let Some(name) = foreign(f, plan) {
        return Err(format!("`{name}` of the test may be nothing or something else at the launch"));
    }
    let launches = site.launches();
    if launches.is_empty() {
        return Err("no launch of the kernel is visible".into());
    }
    let here = f.name_span.file;
    if launches.iter().any(|l| l.span.file != here) {
        return Err("a launch stands in another file".into());
    }
    let mentions = words(site.text_of(here)).into_iter().filter(|(_, w)| *w == f.name).count();
    if mentions != launches.len() + 1 {
        return Err("the kernel's name is used for more than launches".into());
    }
    launches.into_iter().map(|l| at_launch(site, plan, l).map(|c| (l, c))).collect()
}

/// A word of the condition that is no parameter: a template argument or a constant, which the launch may not see or may
/// see another of.
fn foreign<'a>(f: &Function, plan: &'a Plan) -> Option<&'a str> {
    let own: Vec<&str> = plan.codes.iter().flat_map(|c| &c.names).map(|v| f.var(*v).name.as_str()).collect();
    let all = plan.terms.iter().flat_map(|t| words(t)).map(|(_, word)| word);
    all.into_iter().find(|w| !own.contains(w) && !matches!(*w, "reinterpret_cast" | "size_t"))
}

/// The plan's terms in the words of one launch: parameters replaced by arguments.
fn at_launch(site: &Site, plan: &Plan, launch: &Launch) -> Result<Vec<String>, String> {
    let f = site.function();
    if launch.statement_span.is_none() {
        return Err("a launch is no statement of its own".into());
    }
    if launch.args.len() != f.params.len() {
        return Err("a launch passes another number of arguments".into());
    }
    let caller = site.program.unit(site.at.unit).function(launch.caller);
    let mut replaced = vec![];
    for &name in plan.codes.iter().flat_map(|c| &c.names) {
        let position = f.params.iter().position(|p| *p == name).ok_or("the test mentions a local variable")?;
        let argument = launch.args[position];
        if !is_plain(caller, argument) {
            return Err("an argument of a launch is more than a plain value".into());
        }
        let (given, taken) = (&caller.expr(argument).ty, &f.var(name).ty);
        let fits = match (given, taken) {
            (Type::Pointer(_) | Type::Array { .. }, Type::Pointer(_)) => true,
            (Type::Scalar(g), Type::Scalar(t)) => g == t || (g.is_integer() && t.is_integer() && divides_only(plan)),
            _ => false,
        };
        if !fits {
            return Err("the type of a launch argument is not known".into());
        }
        let text = site.text(caller.expr(argument).span);
        let atom = matches!(caller.kind_of(argument), ExprKind::Var(_) | ExprKind::Int(_) | ExprKind::Name(_));
        replaced.push((f.var(name).name.clone(), if atom { text.to_owned() } else { format!("({text})") }));
    }
    Ok(plan.terms.iter().map(|t| substitute(t, &replaced)).collect())
}

/// Remainders by powers of two survive a conversion between integer types; comparisons do not.
fn divides_only(plan: &Plan) -> bool {
    plan.terms.iter().all(|t| t.contains('%') && !t.contains(['<', '>']))
}

fn substitute(term: &str, replaced: &[(String, String)]) -> String {
    let mut text = String::new();
    let mut at = 0;
    for (range, word) in words(term) {
        if let Some((_, with)) = replaced.iter().find(|(name, _)| name == word) {
            text.push_str(&term[at..range.start]);
            text.push_str(with);
            at = range.end;
        }
    }
    text.push_str(&term[at..]);
    text
}

/// Whether evaluating the expression twice is harmless and means the same.
fn is_plain(f: &Function, root: ExprId) -> bool {
    f.walk(root).into_iter().all(|id| {
        let Expr { kind, .. } = f.expr(id);
        if matches!(kind, ExprKind::Var(v) if f.var(*v).is_volatile) {
            return false;
        }
        matches!(
            kind,
            ExprKind::Int(_)
                | ExprKind::Var(_)
                | ExprKind::Name(_)
                | ExprKind::Null
                | ExprKind::Binary { .. }
                | ExprKind::Unary { .. }
                | ExprKind::Cast { .. }
                | ExprKind::Member { .. }
        )
    })
}

fn emit_dispatch(site: &Site, conditions: &[(&Launch, String)], edits: &[Edit], out: &mut Editor) {
    let f = site.function();
    let clone = out.fresh(&format!("{}_{}", f.name, suffix(&site.skill.name.node)));
    let mut parts = edits.to_vec();
    parts.push(Edit { span: f.name_span, text: clone.clone() });
    parts.sort_by_key(|e| (e.span.start, e.span.end));
    let text = splice(site.text(f.span), f.span.start as usize, &parts).replace("\r\n", "\n");
    out.insert_after(f.span, &format!("\n\n{text}"));
    for (launch, condition) in conditions {
        let Some(span) = launch.statement_span else { continue };
        let original = site.text(span);
        let name = last_component(launch.callee_span, &f.name);
        let renamed = splice(original, span.start as usize, &[Edit { span: name, text: clone.clone() }]);
        let indent = out.indent_of(span).to_owned();
        let inner = format!("{indent}{}", out.indent_unit());
        let arm = |text: &str| format!("{inner}{}", out.reindent(&text.replace("\r\n", "\n"), &indent, &inner));
        let text = format!("if ({condition}) {{\n{}\n{indent}}} else {{\n{}\n{indent}}}", arm(&renamed), arm(original));
        out.replace(span, &text);
    }
}

/// The place of the kernel's own name in `ns::kernel`.
fn last_component(callee: Span, name: &str) -> Span {
    Span { start: callee.end - (name.len() as u32).min(callee.end - callee.start), ..callee }
}

/// `vectorize_access` names its kernel `.._vectorized`; other skills their first word.
fn suffix(skill: &str) -> String {
    let verb = skill.split('_').next().unwrap_or(skill);
    if verb.ends_with('e') { format!("{verb}d") } else { format!("{verb}ed") }
}

/// Every word of the code with its place, those of preprocessor lines included.
fn words(text: &str) -> Vec<(std::ops::Range<usize>, &str)> {
    let mut found = vec![];
    for token in scan_code(text) {
        match token.kind {
            TokenKind::Word => found.push((token.range(), token.of(text))),
            TokenKind::Directive => found.extend(
                scan_directive(text, token.range())
                    .filter(|t| t.kind == TokenKind::Word)
                    .map(|t| (t.range(), t.of(text))),
            ),
            _ => {}
        }
    }
    found
}
