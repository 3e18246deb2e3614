//! What names mean in a program: made once, so that no question has to look through every unit.
//!
//! A name is looked up first in the files that its unit can see through `#include`. That is wider than what a compiler
//! would look at: a header sees whatever the files that include it see, and an include that no path resolves stands for
//! every file of its name. Where nothing there defines the name, every unit of the program counts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::effects::CallEffect;
use super::macros::Macros;
use super::state::LaunchState;
use crate::ir::{query, *};
use crate::source::tokens::WordState;
use crate::source::{FileId, Sources};

/// Where each name of a program stands.
#[derive(Debug, Default)]
pub struct Names {
    functions: HashMap<String, Vec<FunctionRef>, WordState>,
    /// Per unit, the units that it can see, itself among them.
    sight: Vec<BTreeSet<u32>>,
    values: HashSet<String, WordState>,
    aliases: HashSet<String, WordState>,
    launches: HashMap<String, Vec<LaunchRef>, WordState>,
    /// Explicit instantiations by the last part of the template's name: unit, and position there.
    instantiations: HashMap<String, Vec<(u32, u32)>, WordState>,
    /// Last parts of all names that stand in expressions, launches apart.
    mentioned: HashSet<String, WordState>,
    /// Whether any function has a part that could not be read.
    pub flawed: bool,
    /// Which parameters of which functions can be written through.
    pub signatures: query::Signatures,
    hosts: Mutex<BTreeMap<FunctionRef, Arc<HostWalk>>>,
    /// The words in bodies of macros of the whole program; found at the first question.
    macro_words: OnceLock<HashSet<String, WordState>>,
}

/// What the walk over a function that launches gave.
#[derive(Debug)]
pub struct HostWalk {
    pub tainted: bool,
    pub launches: BTreeMap<u32, LaunchState>,
}

/// Effects of calls as one unit sees them.
#[derive(Debug, Default)]
pub struct Effects {
    /// By function and the depth of the call.
    functions: Mutex<BTreeMap<(FunctionRef, u32), CallEffect>>,
    /// By the depth of the call, and a name that functions of the program have: the worst of what it may mean.
    names: Mutex<Vec<HashMap<String, CallEffect, WordState>>>,
}

impl Effects {
    /// The effect of a function at a depth, found at the first question.
    pub fn of_function(&self, at: (FunctionRef, u32), find: impl FnOnce() -> CallEffect) -> CallEffect {
        let known = || self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&at).copied();
        found.unwrap_or_else(|| {
            let effect = find();
            known().insert(at, effect);
            effect
        })
    }

    /// The effect that a call of `name` is remembered to have at a depth.
    pub fn of_name(&self, name: &str, depth: u32) -> Option<CallEffect> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(depth as usize)?.get(name).copied()
    }

    pub fn remember_name(&self, name: &str, depth: u32, effect: CallEffect) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() <= depth as usize {
            names.resize_with(depth as usize + 1, HashMap::default);
        }
        if let Some(known) = names.get_mut(depth as usize) {
            known.insert(name.to_owned(), effect);
        }
    }
}

impl Names {
    pub fn of(program: &Program, sources: &Sources) -> Names {
        // Where there is one unit, every name stands in it.
        let sight = if program.units.len() == 1 { vec![BTreeSet::from([0])] } else { sight(program, sources) };
        Names::seeing(program, sight)
    }

    /// The names of the program after one file was replaced by another that includes the same.
    pub fn after(&self, program: &Program) -> Names {
        Names::seeing(program, self.sight.clone())
    }

    fn seeing(program: &Program, sight: Vec<BTreeSet<u32>>) -> Names {
        let mut names = Names { sight, ..Names::default() };
        for (u, unit) in program.units.iter().enumerate() {
            let u = u as u32;
            names.signatures.add(unit);
            for g in &unit.globals {
                names.values.insert(g.name.clone());
                names.values.insert(g.qualified.clone());
            }
            for (n, (name, ..)) in (0..).zip(&unit.instantiations) {
                names.instantiations.entry(last(name).to_owned()).or_default().push((u, n));
            }
            names.values.extend(unit.constants.iter().map(|(n, ..)| n.clone()));
            names.aliases.extend(unit.aliases.iter().map(|a| a.name.clone()));
            for (l, launch) in unit.launches.iter().enumerate() {
                let at = LaunchRef { unit: u, launch: l as u32 };
                names.launches.entry(last(&launch.callee).to_owned()).or_default().push(at);
            }
            for f in &unit.functions {
                names.functions.entry(f.name.clone()).or_default().push(FunctionRef { unit: u, function: f.id });
                names.flawed |= !f.flaws.is_empty();
                for e in &f.exprs {
                    let (ExprKind::Name(n) | ExprKind::Call { callee: n, .. }) = &e.kind else { continue };
                    if !names.mentioned.contains(last(n)) {
                        names.mentioned.insert(last(n).to_owned());
                    }
                }
            }
        }
        names
    }

    /// The functions that `name` may mean in unit `from`.
    pub fn functions(&self, program: &Program, from: u32, name: &str) -> Vec<FunctionRef> {
        let Some(all) = self.functions.get(name) else { return vec![] };
        let Some(sight) = self.sight.get(from as usize) else { return all.clone() };
        let seen: Vec<FunctionRef> = all.iter().filter(|r| sight.contains(&r.unit)).copied().collect();
        // A declaration stands for a definition anywhere.
        let defined = !seen.is_empty() && seen.iter().all(|r| program.function(*r).body_span.is_some());
        if defined { seen } else { all.clone() }
    }

    /// Whether one unit sees another through `#include`.
    pub fn sees(&self, from: u32, other: u32) -> bool {
        self.sight.get(from as usize).is_none_or(|s| s.contains(&other))
    }

    /// The launches that may be of `kernel`.
    pub fn launches_of(&self, program: &Program, kernel: FunctionRef) -> Vec<LaunchRef> {
        let name = &program.function(kernel).name;
        let all = self.launches.get(name).map_or(&[][..], Vec::as_slice);
        all.iter().filter(|l| self.functions(program, l.unit, name).contains(&kernel)).copied().collect()
    }

    /// Every function of this name in the program, in the order of the units.
    pub fn everywhere(&self, name: &str) -> &[FunctionRef] {
        self.functions.get(name).map_or(&[], Vec::as_slice)
    }

    /// The explicit instantiations of templates of this name: unit, and position there.
    pub fn instantiations_of(&self, name: &str) -> &[(u32, u32)] {
        self.instantiations.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether any unit has a function of this name.
    pub fn has_function(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// Whether a variable or constant of file scope has this name.
    pub fn has_value(&self, name: &str) -> bool {
        self.values.contains(name)
    }

    pub fn has_alias(&self, name: &str) -> bool {
        self.aliases.contains(name)
    }

    /// Whether the name stands in an expression that is no launch of it.
    pub fn is_mentioned(&self, name: &str) -> bool {
        self.mentioned.contains(name)
    }

    /// Whether `name` stands in the body of any macro of the program, whose macros these are.
    pub fn stands_in_macro(&self, macros: &[Macros], name: &str) -> bool {
        self.macro_words.get_or_init(|| macros.iter().flat_map(Macros::words).cloned().collect()).contains(name)
    }

    /// The walk over a host function, made at the first question.
    pub fn host(&self, at: FunctionRef, make: impl FnOnce() -> HostWalk) -> Arc<HostWalk> {
        let made = self.hosts.lock().unwrap_or_else(PoisonError::into_inner).get(&at).cloned();
        made.unwrap_or_else(|| {
            let made = Arc::new(make());
            self.hosts.lock().unwrap_or_else(PoisonError::into_inner).insert(at, made.clone());
            made
        })
    }
}

fn last(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

/// Which units each unit can see.
fn sight(program: &Program, sources: &Sources) -> Vec<BTreeSet<u32>> {
    let (includes, includers) = graph(sources);
    let unit_of: BTreeMap<FileId, u32> =
        program.units.iter().enumerate().map(|(u, unit)| (unit.file, u as u32)).collect();
    let of = |unit: &Unit| {
        let above = closure(&includers, BTreeSet::from([unit.file]));
        let seen = closure(&includes, above);
        seen.iter().filter_map(|f| unit_of.get(f).copied()).collect()
    };
    program.units.iter().map(of).collect()
}

type Edges = BTreeMap<FileId, BTreeSet<FileId>>;

fn closure(edges: &Edges, start: BTreeSet<FileId>) -> BTreeSet<FileId> {
    let mut open: Vec<FileId> = start.iter().copied().collect();
    let mut found = start;
    while let Some(next) = open.pop() {
        for f in edges.get(&next).into_iter().flatten() {
            if found.insert(*f) {
                open.push(*f);
            }
        }
    }
    found
}

/// Which file includes which, and the reverse.
fn graph(sources: &Sources) -> (Edges, Edges) {
    let mut by_path: BTreeMap<String, FileId> = BTreeMap::new();
    let mut by_name: BTreeMap<String, Vec<FileId>> = BTreeMap::new();
    for (id, file) in sources.iter() {
        let path = clean(&file.name);
        by_name.entry(base(&path).to_owned()).or_default().push(id);
        by_path.insert(path, id);
    }
    let (mut includes, mut includers) = (Edges::new(), Edges::new());
    for (id, file) in sources.iter() {
        let folder = file.name.rfind(['/', '\\']).map_or("", |i| &file.name[..=i]);
        for include in file.includes() {
            let beside = by_path.get(&clean(&format!("{folder}{}", include.path))).filter(|_| !include.angled);
            let named = || by_name.get(base(&include.path)).cloned().unwrap_or_default();
            for target in beside.map_or_else(named, |f| vec![*f]) {
                includes.entry(id).or_default().insert(target);
                includers.entry(target).or_default().insert(id);
            }
        }
    }
    (includes, includers)
}

fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// A path without `.` and `..` where that can be said of the text alone.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = vec![];
    for part in path.split(['/', '\\']) {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|p| *p != ".." && !p.is_empty()) => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;
    use crate::source::mask::MacroTable;
    use crate::syntax::cuda::parse_unit;

    fn program(files: &[(&str, &str)]) -> (Program, Sources) {
        let mut sources = Sources::default();
        let ids: Vec<FileId> = files.iter().map(|(n, t)| sources.add(SourceFile::new(*n, *t))).collect();
        let units = ids.iter().map(|id| parse_unit(*id, sources.get(*id), &MacroTable::default())).collect();
        (Program { units, complete: false }, sources)
    }

    fn launches(files: &[(&str, &str)], unit: u32) -> usize {
        let (program, sources) = program(files);
        let kernel = program.kernels().into_iter().find(|k| k.unit == unit).expect("a kernel");
        Names::of(&program, &sources).launches_of(&program, kernel).len()
    }

    const KERNEL: &str = "__global__ void k(float* x) { x[0] = 1; }\n";
    const MAIN: &str = "int main() { k<<<1, 1>>>(0); }\n";

    #[test]
    fn a_launch_belongs_to_the_kernel_that_its_file_sees() {
        let own = format!("{KERNEL}{MAIN}");
        assert_eq!(launches(&[("a/m.cu", &own), ("b/m.cu", &own)], 0), 1);
        let include = format!("#include \"k.cuh\"\n{MAIN}");
        let two = [("a/k.cuh", KERNEL), ("a/m.cu", &include), ("b/k.cuh", KERNEL), ("b/m.cu", &include)];
        assert_eq!(launches(&two, 0), 1);
        // Through a header that holds nothing, and back up a folder.
        let far = format!("#include \"../a/all.h\"\n{MAIN}");
        let chain = [("a/k.cuh", KERNEL), ("b/m.cu", &far), ("a/all.h", "#include \"k.cuh\"\n"), ("c/m.cu", &own)];
        assert_eq!(launches(&chain, 0), 1);
    }

    #[test]
    fn a_launch_that_sees_no_definition_may_be_of_any() {
        let declared = format!("__global__ void k(float* x);\n{MAIN}");
        assert_eq!(launches(&[("a.cu", KERNEL), ("b.cu", &declared)], 0), 1);
        let overload = format!("__global__ void k(float* x);\n__global__ void k(double* x) {{ x[0] = 1; }}\n{MAIN}");
        assert_eq!(launches(&[("a.cu", KERNEL), ("b.cu", &overload)], 0), 1);
        // An include that no path resolves means every file of that name.
        let lost = format!("#include <lib/k.cuh>\n__global__ void k(double* x) {{ x[0] = 1; }}\n{MAIN}");
        assert_eq!(launches(&[("a/k.cuh", KERNEL), ("b.cu", &lost)], 0), 1);
        // A header relies on what was included before it.
        let late = "void run() { k<<<1, 1>>>(0); }\n";
        let main = "#include \"k.cuh\"\n#include \"late.h\"\n";
        assert_eq!(launches(&[("k.cuh", KERNEL), ("late.h", late), ("m.cu", main)], 0), 1);
    }
}
