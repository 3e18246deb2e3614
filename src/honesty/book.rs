//! Claims made ready to be looked at while a kernel runs.

use std::collections::BTreeMap;

use super::claim::{Claims, Probe, Says};
use super::symbol::{Sum, Symbols, Test};
use crate::facts::{Atom, Interval, Poly, Stated};
use crate::ir::*;

/// What a claim is compared with, with its polynomials ready to be computed.
#[derive(Clone, Debug)]
pub(super) enum Check {
    Equals { value: Sum, modular: bool, own: bool },
    Within(Interval),
    Leaves { modulus: i128, residue: i128 },
    Type { bytes: u32, unsigned: bool },
    Means(Test),
    Decided(bool),
    Known(Holds),
    Address { root: usize, offset: Sum },
    OffsetWithin { root: usize, range: Interval },
    Width(u32),
    Aligned { bytes: i128, always: bool, first: Vec<usize> },
    Stride { of: usize, inner: Vec<usize>, step: Sum },
    LaneStride { step: Sum },
    Uniform,
    Together,
    Trip { count: Sum, clamped: bool },
    Once { of: usize },
    Movable { of: usize, own: AccessId },
    Distinct(VarId, VarId),
    Unwritten(VarId),
    BankDegree { tile: TileId, degree: i128 },
    Threads { axis: usize, range: Interval },
    ThreadsDivide { by: i128, always: bool },
}

/// Something stated, ready to be computed.
#[derive(Clone, Debug)]
pub(super) enum Holds {
    Bound(Sum, Interval),
    Test(Test),
    Leaves(Sum, i128, i128),
}

impl Holds {
    pub(super) fn value(&self, values: &[Option<i128>]) -> Option<bool> {
        match self {
            Holds::Bound(sum, range) => sum.value(values).map(|v| Interval::point(v).within(*range)),
            Holds::Test(test) => test.value(values),
            Holds::Leaves(sum, modulus, residue) => Some(sum.value(values)?.rem_euclid(*modulus) == *residue),
        }
    }
}

/// The claims of one kernel under one context, by what is observed.
#[derive(Clone, Debug)]
pub struct Book {
    pub(super) claims: Claims,
    pub(super) checks: Vec<Check>,
    pub(super) symbols: Symbols,
    pub(super) premises: Vec<Holds>,
    pub(super) probes: Vec<Probe>,
    /// By note: the claims that it decides.
    pub(super) by_note: Vec<Vec<usize>>,
    /// By note: the symbol whose value it is.
    pub(super) binds: Vec<Option<usize>>,
    /// By note: the proved claim of the value of signed arithmetic, and its type.
    pub(super) signed: Vec<Option<(usize, Scalar)>>,
    /// By loop: symbols of one iteration; the note of its turn; claims that are settled at a turn.
    pub(super) born: Vec<Vec<usize>>,
    pub(super) once: Vec<Vec<usize>>,
    pub(super) movable: Vec<Vec<usize>>,
    pub(super) trips: Vec<Option<usize>>,
    /// Accesses in each loop, for claims about pairs of them.
    pub(super) inside: Vec<Vec<AccessId>>,
    pub(super) roots: BTreeMap<AccessId, VarId>,
    pub(super) writes: Vec<AccessMode>,
    /// Claims about what happened in all of a launch.
    pub(super) at_end: Vec<usize>,
    /// Claims without a place in the text.
    pub(super) unplaced: Vec<bool>,
}

impl Book {
    /// `probes` are those of the text that runs.
    pub fn new(claims: Claims, f: &Function, probes: &[Probe]) -> Book {
        let mut symbols = Symbols::default();
        for axis in [Axis::X, Axis::Y, Axis::Z] {
            for make in [Atom::Thread, Atom::Block, Atom::BlockDim, Atom::GridDim] {
                symbols.place(&make(axis));
            }
        }
        let loops = f.loops.len();
        (0..loops as u32).for_each(|n| _ = symbols.place(&Atom::Iter(LoopId(n))));
        let around: BTreeMap<AccessId, &Vec<LoopId>> = claims.around.iter().map(|(a, l)| (*a, l)).collect();
        let names: BTreeMap<ExprId, &Atom> = claims.names.iter().map(|(e, a)| (*e, a)).collect();
        let checks: Vec<Check> = claims
            .claims
            .iter()
            .map(|c| match (&c.says, &c.at) {
                (Says::Equals { value, modular }, at) => {
                    let own = matches!(at, Probe::Value(e) if names.contains_key(e));
                    Check::Equals { value: symbols.sum(value), modular: *modular, own }
                }
                (Says::Stride { of, step }, Probe::Access(a)) => {
                    let inner = around.get(a).map_or(&[][..], |l| l).iter().skip_while(|l| *l != of).skip(1);
                    Check::Stride { of: index(*of), inner: inner.map(|l| index(*l)).collect(), step: symbols.sum(step) }
                }
                (Says::Movable { of }, Probe::Access(a)) => Check::Movable { of: index(*of), own: *a },
                (says, _) => check(says, &mut symbols),
            })
            .collect();
        let premises = claims.premises.iter().flat_map(|s| stated(s, &mut symbols)).collect();
        let mut book = Book {
            checks,
            premises,
            probes: probes.to_vec(),
            by_note: vec![vec![]; probes.len()],
            binds: vec![None; probes.len()],
            signed: vec![None; probes.len()],
            born: vec![vec![]; loops],
            once: vec![vec![]; loops],
            movable: vec![vec![]; loops],
            trips: vec![None; loops],
            inside: vec![vec![]; loops],
            roots: claims.roots.iter().copied().collect(),
            writes: f.accesses.iter().map(|a| a.mode).collect(),
            at_end: vec![],
            unplaced: vec![false; claims.claims.len()],
            symbols,
            claims,
        };
        book.arrange();
        // A conversion cuts; only arithmetic is undefined where the result does not fit.
        let is_arithmetic = |p: &Probe| match p {
            Probe::Value(e) => matches!(f.kind_of(*e), ExprKind::Binary { .. } | ExprKind::Unary { .. }),
            _ => false,
        };
        let signed = book.signed.iter_mut().zip(probes);
        signed.filter(|(_, p)| !is_arithmetic(p)).for_each(|(s, _)| *s = None);
        book
    }

    fn arrange(&mut self) {
        let notes: BTreeMap<&Probe, usize> = self.probes.iter().zip(0..).collect();
        for (n, (claim, check)) in self.claims.claims.iter().zip(&self.checks).enumerate() {
            let Some(note) = notes.get(&claim.at).copied() else {
                if let Some(flag) = self.unplaced.get_mut(n) {
                    *flag = true;
                }
                continue;
            };
            match check {
                Check::Once { of } => self.once[*of].push(n),
                Check::Movable { of, .. } => self.movable[*of].push(n),
                Check::Trip { .. } => {
                    if let Probe::Enter(l) = claim.at {
                        self.trips[index(l)] = Some(n);
                    }
                }
                Check::Distinct(..) | Check::Unwritten(_) | Check::BankDegree { .. } => self.at_end.push(n),
                _ => {}
            }
            self.by_note[note].push(n);
        }
        let names: BTreeMap<ExprId, &Atom> = self.claims.names.iter().map(|(e, a)| (*e, a)).collect();
        for (note, probe) in self.probes.iter().enumerate() {
            self.binds[note] = match probe {
                Probe::Symbol(atom) => self.symbols.find(atom),
                Probe::Value(e) => names.get(e).and_then(|a| self.symbols.find(a)),
                _ => None,
            };
        }
        for (note, claims) in self.by_note.iter().enumerate() {
            let ty = claims.iter().find_map(|c| match self.claims.claims[*c].says {
                Says::Type { bytes: 4, unsigned: false } => Some(Scalar::I32),
                Says::Type { bytes: 8, unsigned: false } => Some(Scalar::I64),
                _ => None,
            });
            let exact = |c: &&usize| {
                let proved = self.claims.claims[**c].is_proved();
                proved && matches!(self.checks[**c], Check::Equals { modular: false, own: false, .. })
            };
            self.signed[note] = claims.iter().find(exact).copied().zip(ty);
        }
        for (l, atoms) in &self.claims.born {
            self.born[index(*l)] = atoms.iter().filter_map(|a| self.symbols.find(a)).collect();
        }
        for (a, loops) in &self.claims.around {
            loops.iter().for_each(|l| self.inside[index(*l)].push(*a));
        }
    }

    /// How many claims there are.
    pub fn len(&self) -> usize {
        self.checks.len()
    }

    pub fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }
}

pub(super) fn index(l: LoopId) -> usize {
    l.0 as usize
}

fn check(says: &Says, symbols: &mut Symbols) -> Check {
    match says {
        Says::Equals { value, modular } => Check::Equals { value: symbols.sum(value), modular: *modular, own: false },
        Says::Within(range) => Check::Within(*range),
        Says::Leaves { modulus, residue } => Check::Leaves { modulus: *modulus, residue: *residue },
        Says::Type { bytes, unsigned } => Check::Type { bytes: *bytes, unsigned: *unsigned },
        Says::Means(f) => Check::Means(symbols.test(f)),
        Says::Decided(v) => Check::Decided(*v),
        Says::Known(s) => {
            let mut all = stated(s, symbols);
            Check::Known(all.pop().unwrap_or(Holds::Test(Test::Unknown)))
        }
        Says::Address { root, offset } => {
            Check::Address { root: symbols.place(&Atom::Address(*root)), offset: symbols.sum(offset) }
        }
        Says::OffsetWithin { root, range } => {
            Check::OffsetWithin { root: symbols.place(&Atom::Address(*root)), range: *range }
        }
        Says::Width(bytes) => Check::Width(*bytes),
        Says::Aligned { bytes, always, first } => {
            Check::Aligned { bytes: *bytes, always: *always, first: first.iter().map(|l| index(*l)).collect() }
        }
        Says::Stride { of, step } => Check::Stride { of: index(*of), inner: vec![], step: symbols.sum(step) },
        Says::LaneStride { step } => Check::LaneStride { step: symbols.sum(step) },
        Says::Uniform => Check::Uniform,
        Says::Together => Check::Together,
        Says::Trip { count, clamped } => Check::Trip { count: symbols.sum(count), clamped: *clamped },
        Says::Once { of } => Check::Once { of: index(*of) },
        Says::Movable { of } => Check::Movable { of: index(*of), own: AccessId(u32::MAX) },
        Says::Distinct(a, b) => Check::Distinct(*a, *b),
        Says::Unwritten(v) => Check::Unwritten(*v),
        Says::BankDegree { tile, degree } => Check::BankDegree { tile: *tile, degree: *degree },
        Says::Threads { axis, range } => Check::Threads { axis: *axis, range: *range },
        Says::ThreadsDivide { by, always } => Check::ThreadsDivide { by: *by, always: *always },
    }
}

fn stated(s: &Stated, symbols: &mut Symbols) -> Vec<Holds> {
    vec![match s {
        Stated::Bound(atom, range) => Holds::Bound(symbols.sum(&Poly::atom(atom.clone())), *range),
        Stated::Holds(f) => Holds::Test(symbols.test(f)),
        Stated::OneOf(list) => Holds::Test(Test::Any(list.iter().map(|f| symbols.test(f)).collect())),
        Stated::Leaves(c) => Holds::Leaves(symbols.sum(&c.poly), c.modulus, c.residue),
    }]
}
