//! Which instantiations of a kernel template a program asks for.
//!
//! ```text
//! k<<<g, b>>>(p)   k<float, N><<<..>>>(..)   template __global__ void k<float>(..);   f = k<half>;
//!      |                  |
//!      |                  N is a constant of the function, or a parameter of its template -> who instantiates that?
//!      T from the type of p
//! ```
//!
//! Launches inside macros are read after expansion. An instantiation whose arguments cannot be followed is counted and
//! left out: nothing is guessed, and what is found is what the text says.

mod deduce;
mod expand;
mod follow;
mod mention;
mod template;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::declare::angle_end;
use super::items::{Item, ItemKind};
use super::lex::{self, Kind, Token};
use super::program::Program;
use deduce::{Scanned, bind, declaration, type_of};
use expand::Macros;
use follow::{follow, substitute};
use mention::{Actual, Mention, mention};
use template::{Ty, function_types, text_of};

pub use template::{Parameter, ParameterKind};
pub(super) use template::{heads, signature};

/// How long an argument may grow by substitution.
const MAX_LENGTH: usize = 4096;
/// Instantiations that are kept of one template.
const MAX_FOUND: usize = 64;
/// How many templates a launch may be wrapped in.
const MAX_DEPTH: usize = 8;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// `kernel<..>`, each once, in the order of the text.
    pub names: Vec<String>,
    /// Places that ask for an instantiation whose arguments could not be followed.
    pub unfollowed: usize,
}

/// Values of template parameters by name.
type Bound = BTreeMap<String, String>;

/// The instantiations of the kernel that the entry `root` defines, under the name `qualified`. `defined` says whether
/// the program defines a name for the device.
pub(super) fn find(program: &Program, root: usize, qualified: &str, defined: &dyn Fn(&str) -> bool) -> Found {
    let Some(item) = program.item(root) else { return Found::default() };
    let text = program.text(root, item.start, item.end);
    let lists = heads(text);
    let kernel = qualified.rsplit("::").next().unwrap_or(qualified);
    if lists.first().is_some_and(Vec::is_empty) {
        // `template <> __global__ void k<float>(..)`: the definition says it.
        let names = own_list(text, kernel).map(|l| format!("{qualified}<{l}>")).into_iter().collect();
        return Found { names, unfollowed: 0 };
    }
    let mut search = Search::new(program, defined);
    let target = Target {
        name: kernel,
        parameters: lists.last().cloned().unwrap_or_default(),
        types: function_types(text, kernel),
    };
    let mut out = Found::default();
    for found in search.uses(&target, 0) {
        let Some(list) = found else {
            out.unfollowed += 1;
            continue;
        };
        let name = format!("{qualified}<{}>", list.join(", "));
        if !out.names.contains(&name) && out.names.len() < MAX_FOUND {
            out.names.push(name);
        }
    }
    if out.names.is_empty() && !target.parameters.is_empty() && target.parameters.iter().all(|p| p.default.is_some()) {
        out.names.push(format!("{qualified}<>"));
    }
    out
}

/// The list in `name<..>(` of a specialisation's own head.
fn own_list(text: &str, name: &str) -> Option<String> {
    let tokens = lex::tokens(text);
    let at = tokens.iter().position(|t| t.text(text) == name)?;
    let end = angle_end(&tokens, at + 1).filter(|_| tokens.get(at + 1).is_some_and(|t| t.is(b'<')))?;
    Some(text_of(text, tokens.get(at + 2..end - 1)?))
}

/// A template that is looked for.
struct Target<'a> {
    name: &'a str,
    parameters: Vec<Parameter>,
    /// Types of the function's parameters; empty for a class.
    types: Vec<Option<Ty>>,
}

struct Search<'p> {
    program: &'p Program,
    macros: Macros<'p>,
    defined: &'p dyn Fn(&str) -> bool,
    /// Items by the words that they use.
    by_word: BTreeMap<&'p str, Vec<usize>>,
    /// Function-like macros by the words of their bodies.
    carriers: BTreeMap<&'p str, Vec<&'p str>>,
    expanded: BTreeMap<usize, Rc<Scanned>>,
    bound: BTreeMap<usize, Rc<Vec<Option<Bound>>>>,
    open: BTreeSet<usize>,
}

impl<'p> Search<'p> {
    fn new(program: &'p Program, defined: &'p dyn Fn(&str) -> bool) -> Search<'p> {
        let macros = Macros::of(program);
        let (mut by_word, mut carriers) = (BTreeMap::new(), BTreeMap::new());
        for (i, item) in program.items() {
            match item.kind {
                ItemKind::Define => {
                    for name in item.names.iter().filter(|n| macros.has(n)) {
                        let list = |w: &'p String| (w.as_str(), name.as_str());
                        item.uses
                            .iter()
                            .map(list)
                            .for_each(|(w, n)| carriers.entry(w).or_insert_with(Vec::new).push(n));
                    }
                }
                ItemKind::Include { .. } | ItemKind::Undef | ItemKind::Pragma | ItemKind::UsingNamespace => {}
                _ => item.uses.iter().for_each(|w| by_word.entry(w.as_str()).or_insert_with(Vec::new).push(i)),
            }
        }
        let (expanded, bound, open) = Default::default();
        Search { program, macros, defined, by_word, carriers, expanded, bound, open }
    }

    /// The items that may mention `name`, directly or by a macro.
    fn items(&self, name: &str) -> BTreeSet<usize> {
        let mut words: Vec<&str> = vec![name];
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut out = BTreeSet::new();
        while let Some(word) = words.pop() {
            if !seen.insert(word) {
                continue;
            }
            out.extend(self.by_word.get(word).into_iter().flatten());
            words.extend(self.carriers.get(word).into_iter().flatten());
        }
        // `k_##t` in a macro gives names that stand nowhere.
        out
    }

    fn scan(&mut self, index: usize) -> Rc<Scanned> {
        if let Some(known) = self.expanded.get(&index) {
            return known.clone();
        }
        let item = self.program.item(index);
        let text = item.map_or("", |it| self.program.text(index, it.start, it.end));
        let scan = Rc::new(Scanned::new(self.macros.expand(text)));
        self.expanded.insert(index, scan.clone());
        scan
    }

    /// The argument lists that the program's uses of a template have; `None` for each that could not be followed.
    fn uses(&mut self, target: &Target<'_>, depth: usize) -> Vec<Option<Vec<String>>> {
        let mut out = vec![];
        if depth > MAX_DEPTH {
            return out;
        }
        for index in self.items(target.name) {
            let Some(item) = self.program.item(index) else { continue };
            let scan = self.scan(index);
            for at in (0..scan.tokens.len()).filter(|&i| scan.word(i) == target.name) {
                if out.len() > 4 * MAX_FOUND {
                    return out;
                }
                if let Some(mention) = mention(&scan, item, at, target) {
                    out.extend(self.resolve(&scan, item, index, at, mention, target, depth));
                }
            }
        }
        out
    }

    /// The argument lists that one mention gives: one for each instantiation of the template around it.
    #[expect(clippy::too_many_arguments)]
    fn resolve(
        &mut self,
        scan: &Scanned,
        item: &Item,
        index: usize,
        at: usize,
        mention: Mention,
        target: &Target<'_>,
        depth: usize,
    ) -> Vec<Option<Vec<String>>> {
        let Some(written) = self.complete(scan, at, &mention, target) else { return vec![None] };
        let outer: Vec<Parameter> = heads(self.program.text(index, item.start, item.end)).concat();
        let is_parameter = |w: &str| outer.iter().any(|p| p.name == w);
        let followed: Option<Vec<String>> =
            written.iter().map(|a| follow(scan, a, at, &is_parameter, self.defined)).collect();
        let Some(followed) = followed else { return vec![None] };
        let needs = |text: &String| lex::tokens(text).iter().any(|t| is_parameter(t.text(text)));
        if !followed.iter().any(needs) {
            return vec![Some(followed)];
        }
        let bound = self.bound(index, item, depth + 1);
        let fill = |b: &Option<Bound>| -> Option<Vec<String>> {
            let b = b.as_ref()?;
            followed.iter().map(|a| substitute(a, &|w| b.get(w).cloned(), &is_parameter)).collect()
        };
        bound.iter().map(fill).collect()
    }

    /// The arguments as written at the mention, those left to the compiler deduced; defaults at the end are left out.
    fn complete(&self, scan: &Scanned, at: usize, mention: &Mention, target: &Target<'_>) -> Option<Vec<String>> {
        let mut slots: Vec<Option<String>> = vec![None; target.parameters.len()];
        let pack = target.parameters.last().is_some_and(|p| p.pack);
        if mention.explicit.len() > slots.len() && !pack {
            return None;
        }
        if mention.explicit.len() >= slots.len() {
            return Some(mention.explicit.clone());
        }
        for (slot, text) in slots.iter_mut().zip(&mention.explicit) {
            *slot = Some(text.clone());
        }
        for (ty, actual) in target.types.iter().zip(&mention.actuals) {
            let Some(ty) = ty else { continue };
            let actual = match actual {
                Actual::Type(ty) => Some(ty.clone()),
                Actual::Value(tokens) => type_of(scan, tokens, at, &|name| self.elsewhere(name), 0),
            };
            if let Some(actual) = actual {
                bind(ty, &actual, &target.parameters, &mut slots);
            }
        }
        let last = slots.iter().rposition(Option::is_some).map_or(0, |i| i + 1);
        let mut out: Vec<String> = vec![];
        for (i, (slot, parameter)) in slots.iter().zip(&target.parameters).enumerate() {
            match (slot, &parameter.default) {
                (Some(text), _) => out.push(text.clone()),
                (None, Some(_)) if i >= last => break,
                (None, Some(default)) => {
                    let known =
                        |w: &str| target.parameters.iter().zip(&out).find(|(p, _)| p.name == w).map(|(_, v)| v.clone());
                    let later = |w: &str| target.parameters.iter().skip(i).any(|p| p.name == w);
                    out.push(substitute(default, &known, &later)?);
                }
                (None, None) if parameter.pack && i + 1 == slots.len() && mention.actuals.is_empty() => {}
                (None, None) => return None,
            }
        }
        Some(out)
    }

    /// The type of a member or of a variable at namespace scope, if all declarations of the name agree.
    fn elsewhere(&self, name: &str) -> Option<Ty> {
        let mut found: Option<Ty> = None;
        for &index in self.by_word.get(name).into_iter().flatten().take(64) {
            let item = self.program.item(index).filter(|it| matches!(it.kind, ItemKind::Variable | ItemKind::Type));
            let Some(item) = item else { continue };
            let scan = Scanned::new(self.program.text(index, item.start, item.end).to_owned());
            if let Some((ty, _)) = declaration(&scan, name, 0..scan.tokens.len()) {
                if found.as_ref().is_some_and(|f| *f != ty) {
                    return None;
                }
                found = Some(ty);
            }
        }
        found
    }

    /// What the parameters of the template that an item begins with are bound to by the rest of the program.
    fn bound(&mut self, index: usize, item: &Item, depth: usize) -> Rc<Vec<Option<Bound>>> {
        if let Some(known) = self.bound.get(&index) {
            return known.clone();
        }
        if !self.open.insert(index) {
            return Rc::new(vec![]);
        }
        let text = self.program.text(index, item.start, item.end);
        let mut lists = heads(text).into_iter();
        let mut all: Vec<Option<Bound>> = vec![Some(Bound::new())];
        let mut targets = vec![];
        let class = owner(text, item);
        if let Some((class, parameters)) = class.and_then(|c| Some((c, lists.next()?))) {
            targets.push(Target { name: class, parameters, types: vec![] });
        }
        if let Some(parameters) = lists.next() {
            targets.push(Target { name: &item.name, parameters, types: function_types(text, &item.name) });
        }
        for target in &targets {
            let uses = self.uses(target, depth);
            let mut next: Vec<Option<Bound>> = vec![];
            for list in &uses {
                for before in &all {
                    let one = list.as_ref().zip(before.as_ref()).and_then(|(list, before)| with(before, target, list));
                    if !next.contains(&one) && next.len() < MAX_FOUND {
                        next.push(one);
                    }
                }
            }
            all = next;
        }
        self.open.remove(&index);
        let all = Rc::new(all);
        self.bound.insert(index, all.clone());
        all
    }
}

/// `before` with the parameters of `target` bound to `list`, defaults filled in.
fn with(before: &Bound, target: &Target<'_>, list: &[String]) -> Option<Bound> {
    let mut out = before.clone();
    for (i, parameter) in target.parameters.iter().enumerate().filter(|(_, p)| !p.pack) {
        let value = match (list.get(i), &parameter.default) {
            (Some(value), _) => value.clone(),
            (None, Some(default)) => substitute(default, &|w| out.get(w).cloned(), &|_| false)?,
            (None, None) => return None,
        };
        out.insert(parameter.name.clone(), value);
    }
    Some(out)
}

/// The class template that the item is, or is a member of: `S` in `template <class T> void S<T>::f()`.
fn owner<'t>(text: &'t str, item: &'t Item) -> Option<&'t str> {
    let tokens = lex::tokens(text);
    let body = tokens.iter().position(|t| t.is(b'{')).unwrap_or(tokens.len());
    if item.kind == ItemKind::Type {
        let key = |t: &Token| matches!(t.text(text), "struct" | "class" | "union");
        let heads_end = after_heads(text, &tokens);
        let at = (heads_end..body).find(|&i| key(&tokens[i]))?;
        let name =
            (at + 1..body).find(|&i| tokens[i].kind == Kind::Word && item.names.contains(tokens[i].text(text)))?;
        return Some(tokens[name].text(text));
    }
    let at = (0..body)
        .find(|&i| tokens[i].text(text) == item.name && i > 2 && tokens[i - 1].is(b':') && tokens[i - 2].is(b':'))?;
    if !tokens[at - 3].is(b'>') {
        return None;
    }
    let mut depth = 0usize;
    for i in (0..=at - 3).rev() {
        match tokens[i].kind {
            Kind::Punct(b'>') => depth += 1,
            Kind::Punct(b'<') if depth <= 1 => return i.checked_sub(1).map(|n| tokens[n].text(text)),
            Kind::Punct(b'<') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn after_heads(text: &str, tokens: &[Token]) -> usize {
    let mut at = tokens.iter().position(|t| t.kind != Kind::Directive).unwrap_or(0);
    while tokens.get(at).is_some_and(|t| t.text(text) == "template") {
        let Some(end) = angle_end(tokens, at + 1) else { break };
        at = end;
    }
    at
}

#[cfg(test)]
mod tests;
