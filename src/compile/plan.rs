//! What of a kernel is compiled: in which unit, and with which template arguments.
//!
//! ```text
//! own file ----> plain, or instantiations in view ----> compiled
//!    | not by itself                                       ^
//!    +--> files that include it, each a unit --------------+
//!    | no instantiation anywhere                           |
//!    +--> a sample that kopt chooses, named as one --------+
//! ```

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use super::sample::{self, Sample};
use super::slice::{Sliced, Spare, Target, Unit};
use super::unsliceable::Unsliceable;
use crate::diag::Severity;

use super::{CompileError, CompileGate, CompileRequest, Compiled, HeaderSource, HeaderText};

/// A file with the files of the project that include it, directly or not, in the order in which they are tried.
pub struct Place<'a> {
    /// Path and text.
    pub file: (&'a str, &'a str),
    pub users: &'a [(&'a str, &'a str)],
}

/// How much is tried.
const MAX_USERS: usize = 8;
/// How often the compiler is asked again without something.
const MAX_REPAIRS: usize = 6;
/// Instantiations of one kernel that are compiled, and how many of them in one go.
const MAX_INSTANCES: usize = 16;
const MAX_TOGETHER: usize = 8;
const MAX_UNITS: usize = 12;
const MAX_SAMPLES: usize = 14;
/// Samples after which the same message, without a sign that the arguments matter, ends the search.
const SAME_MESSAGE: usize = 3;

/// Where the arguments come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// No template.
    Plain,
    /// The program asks for this instantiation.
    InView,
    /// kopt chose the arguments.
    Sample(Sample),
}

/// One name expression of a kernel in one unit, compiled.
#[derive(Debug)]
pub struct Instance {
    /// The main file of the unit.
    pub unit: String,
    /// The template arguments with their brackets, empty for a plain kernel.
    pub arguments: String,
    pub origin: Origin,
    pub compiled: Result<Compiled, CompileError>,
}

/// What became of one kernel.
#[derive(Debug, Default)]
pub struct Plan {
    pub instances: Vec<Instance>,
    /// Instantiations in view that are not among the instances: their arguments cannot be followed, they do not compile in
    /// another unit, or there are more than kopt compiles.
    pub others: usize,
}

/// What the units looked at so far gave.
#[derive(Default)]
struct Views {
    plan: Plan,
    views: Vec<(Arc<Unit>, Sliced)>,
    /// The first unit in which something did not compile, and how much did not in all.
    failed: Option<Plan>,
    failures: usize,
}

/// Why there is no instance.
#[derive(Debug)]
pub enum NoInstance {
    Cut(Unsliceable),
    /// A template that nothing instantiates, and no sample compiled; what the last one gave, if any was tried.
    Template {
        last: Option<Box<CompileError>>,
    },
}

/// One file put over what a header source gives, for a candidate that is not on the disk.
pub struct Overlay<'a> {
    pub under: &'a dyn HeaderSource,
    pub path: &'a str,
    pub text: &'a str,
}

impl HeaderSource for Overlay<'_> {
    fn open(&self, includer: &str, name: &str, angled: bool) -> Option<HeaderText> {
        let found = self.under.open(includer, name, angled)?;
        Some(if found.path == self.path { HeaderText { text: self.text.to_owned(), ..found } } else { found })
    }
}

/// How kernels of one run are compiled.
pub struct Job<'a> {
    gate: &'a CompileGate,
    headers: &'a (dyn HeaderSource + Sync),
    arch: &'a str,
    options: &'a [String],
    /// The units read last: the kernels of a file are asked for one after the other.
    units: Mutex<VecDeque<Arc<Unit>>>,
}

impl<'a> Job<'a> {
    pub fn new(
        gate: &'a CompileGate,
        headers: &'a (dyn HeaderSource + Sync),
        arch: &'a str,
        options: &'a [String],
    ) -> Job<'a> {
        Job { gate, headers, arch, options, units: Mutex::default() }
    }

    /// The architecture that is compiled for.
    pub fn arch(&self) -> &str {
        self.arch
    }

    fn unit(&self, name: &str, text: &str) -> Arc<Unit> {
        let lock = || self.units.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(known) = lock().iter().find(|u| u.name() == name) {
            return known.clone();
        }
        let unit = Arc::new(Unit::load(name, text, self.headers));
        let mut units = lock();
        units.push_back(unit.clone());
        if units.len() > MAX_UNITS {
            units.pop_front();
        }
        unit
    }

    /// Compiles a kernel, by `name` with its namespaces, as the program uses it.
    ///
    /// # Errors
    /// Why there is no instance to compile. An instance that does not compile is no error here.
    pub fn plan(&self, place: &Place<'_>, name: &str) -> Result<Plan, NoInstance> {
        self.plan_at(place, name, None)
    }

    /// The same for the kernel of that name at a byte offset of the file, where others share the name.
    ///
    /// # Errors
    /// As [`Job::plan`].
    pub fn plan_at(&self, place: &Place<'_>, name: &str, at: Option<usize>) -> Result<Plan, NoInstance> {
        let own = self.unit(place.file.0, place.file.1);
        let target = at.map_or(Target::Name(name), Target::At);
        let first = self.in_unit(&own, &target, place.file.0, &BTreeSet::new());
        let good = |plan: &Plan| !plan.instances.is_empty() && plan.instances.iter().all(|i| i.compiled.is_ok());
        let (start, own_only) = match &first {
            Ok((sliced, plan)) if good(plan) => (true, !sliced.is_template),
            _ => (false, false),
        };
        if own_only || (start && place.users.is_empty()) {
            return first.map(|(_, plan)| plan).map_err(NoInstance::Cut);
        }
        let mut seen = Views::default();
        let first = match first {
            Ok((sliced, plan)) if start => {
                seen.plan = plan;
                seen.views.push((own.clone(), sliced));
                None
            }
            other => Some(other),
        };
        self.through_users(place, (name, at), &mut seen);
        if !seen.plan.instances.is_empty() {
            // What did not compile elsewhere is not among the instances, and is not forgotten.
            seen.plan.others += seen.failures;
            return Ok(seen.plan);
        }
        if let Some(failed) = seen.failed {
            return Ok(failed);
        }
        let own = match first {
            Some(Ok((_, plan))) if !plan.instances.is_empty() => return Ok(plan),
            Some(Err(why)) if seen.views.is_empty() => return Err(NoInstance::Cut(why)),
            Some(Ok((sliced, plan))) => Some((own, sliced, plan.others)),
            _ => None,
        };
        let unfollowed = seen.plan.others + own.as_ref().map_or(0, |o| o.2);
        let places = own.into_iter().map(|(unit, sliced, _)| (unit, sliced)).chain(seen.views);
        self.sample(places.take(2), place.file.0, (name, at), unfollowed)
    }

    /// Adds what the files that include the file ask for. A plain kernel needs one of them.
    fn through_users(&self, place: &Place<'_>, (name, at): (&str, Option<usize>), seen: &mut Views) {
        for (user, text) in place.users.iter().take(MAX_USERS) {
            let unit = self.unit(user, text);
            let target = Target::In { file: place.file.0, name, at };
            let known = seen.plan.instances.iter().map(|i| i.arguments.clone()).collect();
            let Ok((sliced, found)) = self.in_unit(&unit, &target, user, &known) else { continue };
            if found.instances.iter().all(|i| i.compiled.is_ok()) {
                seen.plan.others = seen.plan.others.max(found.others);
                seen.plan.instances.extend(found.instances);
                let plain = !sliced.is_template;
                seen.views.push((unit, sliced));
                if plain {
                    return;
                }
            } else {
                seen.failures += found.instances.iter().filter(|i| i.compiled.is_err()).count();
                seen.failed.get_or_insert(found);
            }
        }
    }

    /// Compiles the candidate of an instance, and gives its name with it. `after` is the new text of the file, in which the
    /// kernel stands at a byte offset where others share the name.
    ///
    /// # Errors
    /// Why the candidate cannot be cut.
    pub fn candidate(
        &self,
        instance: &Instance,
        place: &Place<'_>,
        after: &str,
        (name, at): (&str, Option<usize>),
    ) -> Result<(String, Result<Compiled, CompileError>), Unsliceable> {
        let (path, _) = place.file;
        let headers = Overlay { under: self.headers, path, text: after };
        let arguments = &instance.arguments;
        let (sliced, compiled) = if instance.unit == path {
            let target = at.map_or(Target::Name(name), Target::At);
            self.compile(&Unit::load(path, after, &headers), &target, arguments)?
        } else {
            let text = place.users.iter().find(|(user, _)| *user == instance.unit).map_or("", |(_, text)| text);
            self.compile(&Unit::load(&instance.unit, text, &headers), &Target::In { file: path, name, at }, arguments)?
        };
        Ok((format!("{}{arguments}", sliced.kernel), compiled))
    }

    /// Compiles a kernel of a unit for template arguments. Where the compiler refuses what the kernel may not need at
    /// all, it is asked again without it; if that does not help, its first answer counts.
    fn compile(
        &self,
        unit: &Unit,
        target: &Target<'_>,
        arguments: &str,
    ) -> Result<(Sliced, Result<Compiled, CompileError>), Unsliceable> {
        let names = if arguments.is_empty() { vec![] } else { vec![arguments.to_owned()] };
        let mut without = BTreeSet::new();
        let mut first: Option<(Sliced, CompileError)> = None;
        for _ in 0..MAX_REPAIRS {
            let sliced = match unit.cut_without(target, &names, &without) {
                Ok(sliced) => sliced,
                Err(why) if first.is_none() => return Err(why),
                Err(_) => break,
            };
            let names = vec![expression(&sliced, arguments)];
            let request = CompileRequest { slice: &sliced, names, arch: self.arch, options: self.options };
            match self.gate.compile(&request) {
                Ok(compiled) => return Ok((sliced, Ok(compiled))),
                Err(error) => {
                    let refused = refused(&sliced, &error);
                    first.get_or_insert((sliced, error));
                    if refused.is_empty() {
                        break;
                    }
                    without.extend(refused);
                }
            }
        }
        match first {
            Some((sliced, error)) => Ok((sliced, Err(error))),
            None => Err(Unsliceable::TooLarge),
        }
    }

    /// Compiles what a unit asks for, the argument lists in `known` left out.
    fn in_unit(
        &self,
        unit: &Unit,
        target: &Target<'_>,
        path: &str,
        known: &BTreeSet<String>,
    ) -> Result<(Sliced, Plan), Unsliceable> {
        let sliced = unit.cut(target, &[])?;
        let lists: Vec<String> = match sliced.is_template {
            false => vec![String::new()],
            true => sliced.instantiations.iter().map(|i| arguments_of(i)).filter(|a| !known.contains(a)).collect(),
        };
        let origin = if sliced.is_template { Origin::InView } else { Origin::Plain };
        let mut instances = vec![];
        let most = MAX_INSTANCES.saturating_sub(known.len());
        for some in lists.get(..most.min(lists.len())).unwrap_or(&[]).chunks(MAX_TOGETHER) {
            let together = if some.len() > 1 { self.together(&sliced, some) } else { None };
            let each = match together {
                Some(each) => each,
                None => some.iter().map(|a| Ok(self.compile(unit, target, a)?.1)).collect::<Result<Vec<_>, _>>()?,
            };
            instances.extend(some.iter().zip(each).map(|(arguments, compiled)| Instance {
                unit: path.to_owned(),
                arguments: arguments.clone(),
                origin: origin.clone(),
                compiled,
            }));
        }
        let others = sliced.unfollowed + lists.len().saturating_sub(most);
        Ok((sliced, Plan { instances, others }))
    }

    /// Compiles instantiations in one go, which is quicker; `None` where one of them fails.
    fn together(&self, sliced: &Sliced, lists: &[String]) -> Option<Vec<Result<Compiled, CompileError>>> {
        let names: Vec<String> = lists.iter().map(|a| expression(sliced, a)).collect();
        let request = CompileRequest { slice: sliced, names, arch: self.arch, options: self.options };
        let all = self.gate.compile(&request).ok().filter(|all| all.kernels.len() == lists.len())?;
        let one = |k: &super::KernelResources| Ok(Compiled { kernels: vec![k.clone()], ..all.clone() });
        Some(all.kernels.iter().map(one).collect())
    }

    fn sample(
        &self,
        places: impl Iterator<Item = (Arc<Unit>, Sliced)>,
        path: &str,
        (name, at): (&str, Option<usize>),
        unfollowed: usize,
    ) -> Result<Plan, NoInstance> {
        let mut last: Option<Box<CompileError>> = None;
        for (unit, sliced) in places {
            let own = || at.map_or(Target::Name(name), Target::At);
            let target = if unit.name() == path { own() } else { Target::In { file: path, name, at } };
            let mut same = 0;
            for sample in sample::candidates(&sliced).into_iter().take(MAX_SAMPLES) {
                let one = |sample: Sample| {
                    let arguments = sample.list();
                    let (_, compiled) = self.compile(&unit, &target, &arguments).ok()?;
                    let origin = Origin::Sample(sample);
                    Some(Instance { unit: unit.name().to_owned(), arguments, origin, compiled })
                };
                let other = sample.flipped();
                let Some(first) = one(sample) else { break };
                let other = other.and_then(one).filter(|i| i.compiled.is_ok());
                let (first, error) = match first {
                    Instance { compiled: Err(error), .. } => (None, Some(error)),
                    good => (Some(good), None),
                };
                if first.is_some() || other.is_some() {
                    return Ok(Plan { instances: first.into_iter().chain(other).collect(), others: unfollowed });
                }
                let Some(error) = error else { break };
                let text = error.to_string();
                same = if last.as_ref().is_some_and(|l| l.to_string() == text) { same + 1 } else { 0 };
                last = Some(Box::new(error));
                if same + 1 >= SAME_MESSAGE && text.contains("undefined") {
                    break;
                }
            }
        }
        Err(NoInstance::Template { last })
    }
}

/// The spare entries that errors stand in.
fn refused(sliced: &Sliced, error: &CompileError) -> BTreeSet<usize> {
    let CompileError::Rejected { messages, .. } = error else { return BTreeSet::new() };
    let errors = messages.iter().filter(|m| m.severity == Severity::Error);
    let places = errors.filter_map(|m| Some((m.file.as_deref()?, m.line?)));
    let places: Vec<(&str, u32)> = places.collect();
    let hit = |s: &&Spare| places.iter().any(|(file, line)| *file == s.file && (s.first..=s.last).contains(line));
    sliced.spare.iter().filter(hit).map(|s| s.entry).collect()
}

/// `<float, 4>` of `a::k<float, 4>`.
fn arguments_of(instantiation: &str) -> String {
    instantiation.find('<').and_then(|at| instantiation.get(at..)).unwrap_or("").to_owned()
}

fn expression(sliced: &Sliced, arguments: &str) -> String {
    match &sliced.signature {
        Some(signature) if arguments.is_empty() => signature.clone(),
        _ => format!("{}{arguments}", sliced.kernel),
    }
}
