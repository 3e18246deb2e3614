//! A plan for a kernel whose launch no file shows: a block of the declared or usual size, a grid from the kernel's own
//! bounds. All of it is proposed.

use std::collections::BTreeMap;

use super::build::{axes, short};
use super::cuda::element;
use super::extent::Setting;
use super::kernels::Kernels;
use super::legal::Asked;
use super::value::{ceil_div, combine};
use crate::contract::{Arg, Argument, BufferRef, Dim, Expr, Launch, Notes, Op, Plan, Proposed, Role, Step};
use crate::facts::{Atom, Facts, Poly};
use crate::ir::*;

/// The block where nothing says another.
const USUAL_BLOCK: i64 = 256;
const AXES: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];

/// The proposed plan; `None` where the kernel is not modelled at all.
pub fn plan(kernels: &Kernels, r: FunctionRef) -> Option<Plan> {
    let known = kernels.known(r)?;
    let facts = known.facts(None);
    let f = kernels.function(r);
    let block = block(facts);
    let (grid, dims_of_grid) = grid(facts, &block);
    let mut plan = Plan::default();
    let mut ints = BTreeMap::new();
    for p in &f.params {
        let var = f.var(*p);
        if scalar(&var.ty).is_some_and(|s| s.is_integer()) {
            ints.insert(*p, Expr::name(&var.name));
        }
    }
    let count = ints.len() + dims_of_grid.len();
    let sample = if count > 2 {
        64
    } else if count == 2 {
        128
    } else {
        1024
    };
    let names = ints.values().filter_map(|e| if let Expr::Name(n) = e { Some(n.clone()) } else { None });
    for name in names.chain(dims_of_grid) {
        plan.dims.push(Dim { samples: vec![sample], min: Some(1), proposed: Proposed::all(), ..Dim::new(name) });
    }
    let kernel = super::matching::short_name(kernels.program, r);
    let mut launch = Launch { kernel, proposed: Proposed::all(), ..Launch::default() };
    launch.notes.push("proposed: no launch of this kernel is in view".into());
    launch.grid = short(&grid);
    launch.block = short(&block);
    launch.template = f.template.iter().map(|t| t.default.clone().unwrap_or_else(|| "?".into())).collect();
    if f.tiles.iter().any(|t| t.is_dynamic) {
        launch.notes.push("shared = \"?\"   # how many bytes of dynamic shared memory?".into());
    }
    let setting = |multiple: i64| Setting {
        facts,
        grid: Some(grid.clone()),
        block: Some(block.clone()),
        ints: ints.clone(),
        shared: None,
        sizes: BTreeMap::new(),
        multiple,
        prepared: Default::default(),
        budget: std::cell::Cell::new(super::extent::BUDGET),
    };
    let tile = block.iter().filter_map(Expr::constant).max().unwrap_or(1).max(1);
    let mut multiple = 1;
    for (n, p) in f.params.iter().enumerate() {
        let var = f.var(*p);
        let usage = known.usages.get(n).copied().unwrap_or_default();
        let argument = match &var.ty {
            Type::Pointer(t) => {
                let found = element(&t.ty);
                let mut arg = Arg::new(&var.name, role(usage));
                arg.proposed = Proposed::all();
                arg.dtype = found.map(|(s, _)| s);
                let width = arg.dtype.map_or(1, Scalar::bytes);
                let mut extent = setting(1).extent(*p, width);
                if extent.is_none() && tile > 1 {
                    extent = setting(tile).extent(*p, width);
                    multiple = if extent.is_some() { tile } else { multiple };
                }
                match extent {
                    Some(e) => arg.shape = axes(&e),
                    None => arg
                        .notes
                        .push("shape = [\"?\"]   # how many elements has it? Its accesses give no bound".into()),
                }
                if found.is_none() {
                    arg.notes.push("dtype = \"?\"   # what are its elements?".into());
                }
                plan.args.push(arg);
                Argument::Buffer(BufferRef { buffer: var.name.clone(), offset: None })
            }
            t => match scalar(t) {
                Some(s) if s.is_integer() => Argument::Int { dtype: s, value: Expr::name(&var.name) },
                Some(Scalar::Bool) => Argument::Int { dtype: Scalar::Bool, value: Expr::Int(1) },
                Some(s) => Argument::Float { dtype: s, value: 1.0 },
                None => {
                    launch.notes.push(format!("Argument {} is `{}`: which value?", n + 1, var.name));
                    Argument::Open
                }
            },
        };
        launch.args.push(argument);
    }
    if multiple > 1 {
        for d in &mut plan.dims {
            d.divisible_by = Some(multiple);
            d.min = Some(multiple);
            d.samples = vec![sample.max(multiple)];
        }
    }
    plan.steps.push(Step::Launch(launch));
    let names: Vec<String> = plan.args.iter().map(|a| a.name.clone()).collect();
    let args = f.params.iter().map(|p| names.iter().position(|n| *n == f.var(*p).name)).collect();
    let sizes = setting(multiple);
    let sizes = Setting { sizes: sizes_of(f, &plan), ..sizes };
    let asked = Asked { r, args, ints: ints.clone(), is_inside: Box::new(|at| sizes.shows_inside(at)) };
    super::legal::ask(kernels, &[asked], &|_| None, &mut plan);
    plan.notes = Notes::default();
    Some(plan)
}

/// Bytes behind each pointer parameter.
fn sizes_of(f: &Function, plan: &Plan) -> BTreeMap<VarId, Expr> {
    let bytes = |p: &VarId| {
        let arg = plan.arg(&f.var(*p).name)?;
        let elements = arg.shape.iter().cloned().reduce(|a, b| combine(Op::Mul, a, b))?;
        Some((*p, combine(Op::Mul, elements, Expr::Int(i64::from(arg.dtype?.bytes())))))
    };
    f.params.iter().filter_map(bytes).collect()
}

fn scalar(ty: &Type) -> Option<Scalar> {
    element(ty).filter(|(_, lanes)| *lanes == 1).map(|(s, _)| s)
}

fn role(u: super::usage::Usage) -> Role {
    match (u.writes, u.reads_first) {
        (false, _) => Role::In,
        (true, true) => Role::InOut,
        (true, false) => Role::Out,
    }
}

/// From `__launch_bounds__`, else the side of a square tile for two axes, else the usual size.
fn block(facts: &Facts) -> [Expr; 3] {
    let f = facts.function;
    let one = Expr::Int(1);
    let fixed = |axis: Axis| facts.constant(&Poly::atom(Atom::BlockDim(axis)), &facts.context.known).map(|(v, _)| v);
    if let (Some(x), y, z) = (fixed(Axis::X), fixed(Axis::Y), fixed(Axis::Z)) {
        let at = |v: Option<i128>| Expr::Int(v.and_then(|v| i64::try_from(v).ok()).unwrap_or(1));
        return [at(Some(x)), at(y), at(z)];
    }
    let uses =
        |axis: Axis| f.exprs.iter().any(|e| matches!(e.kind, ExprKind::Builtin(Builtin::ThreadIdx(a)) if a == axis));
    let (y, z) = (uses(Axis::Y), uses(Axis::Z));
    let most = f.bounds.max_threads.as_ref().and_then(|(t, _)| t.trim().parse::<i64>().ok());
    // Extents of shared tiles, which blocks usually have.
    let mut sides: Vec<i64> = vec![];
    for t in &f.tiles {
        let value = |e: &Option<ExprId>| e.and_then(|e| constant(facts, e));
        sides.extend(t.dims.iter().filter_map(value).filter(|v| [8, 16, 32].contains(v)));
    }
    let side = sides.first().copied().unwrap_or(16);
    let row: Option<i64> = f.tiles.iter().filter(|t| t.dims.len() == 1).find_map(|t| {
        let v = t.dims.first().copied().flatten().and_then(|e| constant(facts, e))?;
        [64, 128, 256, 512, 1024].contains(&v).then_some(v)
    });
    match (y, z) {
        (_, true) => [Expr::Int(8), Expr::Int(8), Expr::Int(4)],
        (true, _) if side * side <= most.unwrap_or(1024) => [Expr::Int(side), Expr::Int(side), one],
        (true, _) => [Expr::Int(16), Expr::Int(most.unwrap_or(256) / 16), one],
        _ => [Expr::Int(most.or(row).unwrap_or(USUAL_BLOCK)), one.clone(), one],
    }
}

/// The value of a constant expression in a declaration.
pub fn constant(facts: &Facts, e: ExprId) -> Option<i64> {
    let f = facts.function;
    match f.kind_of(e) {
        ExprKind::Int(v) => i64::try_from(*v).ok(),
        ExprKind::Cast { operand, .. } => constant(facts, *operand),
        ExprKind::Var(v) if f.var(*v).is_const || f.var(*v).is_constexpr => constant(facts, f.var(*v).init?),
        ExprKind::Binary { op, left, right } => {
            let (a, b) = (constant(facts, *left)?, constant(facts, *right)?);
            match op {
                BinaryOp::Add => a.checked_add(b),
                BinaryOp::Sub => a.checked_sub(b),
                BinaryOp::Mul => a.checked_mul(b),
                BinaryOp::Div => a.checked_div(b),
                BinaryOp::Shl if (0..32).contains(&b) => a.checked_shl(b as u32),
                _ => None,
            }
        }
        ExprKind::Name(n) => {
            let given = facts.context.values.get(n).copied();
            let values = facts.unit.constants.iter().filter(|(m, ..)| m == n).map(|(_, v, _)| *v);
            let globals = facts.unit.globals.iter().filter(|g| g.name == *n).filter_map(|g| g.value);
            given.into_iter().chain(values).chain(globals).next().and_then(|v| i64::try_from(v).ok())
        }
        _ => None,
    }
}

/// Blocks along each axis: from the guard `block * size + thread < extent`, or a dim of its own for an axis that nothing
/// bounds.
fn grid(facts: &Facts, block: &[Expr; 3]) -> ([Expr; 3], Vec<String>) {
    let f = facts.function;
    let mut found = [Expr::Int(1), Expr::Int(1), Expr::Int(1)];
    let mut own = vec![];
    for (i, axis) in AXES.into_iter().enumerate() {
        let uses = f.exprs.iter().any(|e| matches!(e.kind, ExprKind::Builtin(Builtin::BlockIdx(a)) if a == axis));
        if !uses {
            continue;
        }
        let size = block.get(i).cloned().unwrap_or(Expr::Int(1));
        let guard = facts
            .walked
            .accesses
            .values()
            .flat_map(|s| s.place.known.inequalities())
            .find_map(|p| bound(f, p, axis, &size));
        if let Some(slot) = found.get_mut(i) {
            *slot = guard.unwrap_or_else(|| {
                let name = format!("blocks_{}", axis.name());
                own.push(name.clone());
                Expr::name(name)
            });
        }
    }
    (found, own)
}

/// `extent - 1 - (block * size + thread) >= 0` gives `ceil_div(extent, size)` blocks.
fn bound(f: &Function, p: &Poly, axis: Axis, size: &Expr) -> Option<Expr> {
    let mut extent: Option<Expr> = None;
    let mut step: Option<Expr> = None;
    let mut add = |e: Expr| extent = Some(extent.take().map_or(e.clone(), |x| combine(Op::Add, x, e)));
    for (product, c) in p.terms() {
        match product {
            [] => add(Expr::Int(i64::try_from(c).ok()?.checked_add(1)?)),
            [Atom::Block(a)] if *a == axis && c < 0 => step = Some(Expr::Int(i64::try_from(c.checked_neg()?).ok()?)),
            [x, y]
                if c == -1
                    && [x, y].iter().any(|t| **t == Atom::Block(axis))
                    && [x, y].iter().any(|t| **t == Atom::BlockDim(axis)) =>
            {
                step = Some(size.clone());
            }
            [Atom::Thread(_)] if c < 0 => {}
            list if c > 0 => {
                let mut product = Expr::Int(i64::try_from(c).ok()?);
                for a in list {
                    let Atom::Param(v) = a else { return None };
                    product = combine(Op::Mul, product, Expr::name(&f.var(*v).name)).folded();
                }
                add(product);
            }
            _ => return None,
        }
    }
    let (extent, step) = (extent?, step?);
    extent.constant().is_none().then(|| ceil_div(without_zero(extent), step))
}

fn without_zero(e: Expr) -> Expr {
    match e {
        Expr::Binary(Op::Add, a, b) if *a == Expr::Int(0) => *b,
        other => other,
    }
}
