//! A compact textual form of a unit, for tests and for people who wonder what was read.

use super::*;
use std::fmt::Write;

/// One line per function, surface and flaw; spans are shown as the text they cover, shortened.
pub fn dump_unit(unit: &Unit, text: &str) -> String {
    let mut out = String::new();
    for f in &unit.functions {
        dump_function(&mut out, unit, f, text);
    }
    for g in &unit.globals {
        let marks =
            [(g.is_constexpr, " constexpr"), (g.is_constant_memory, " constant-memory"), (g.is_device, " device")];
        let marks: String = marks.iter().filter(|(on, _)| *on).map(|(_, m)| *m).collect();
        let value = g.value.map(|v| format!(" = {v}")).unwrap_or_default();
        line(&mut out, 0, format!("global {}: {}{marks}{value}", g.qualified, type_text(&g.ty)));
    }
    for a in &unit.aliases {
        line(&mut out, 0, format!("alias {} = {}", a.name, type_text(&a.ty)));
    }
    for (name, value, _) in &unit.constants {
        line(&mut out, 0, format!("constant {name} = {value}"));
    }
    for (name, args, _) in &unit.instantiations {
        line(&mut out, 0, format!("instantiation {name}<{}>", args.join(", ")));
    }
    for p in &unit.problems {
        line(&mut out, 0, format!("problem {} {}", p.code, p.message));
    }
    out
}

fn line(out: &mut String, depth: usize, text: String) {
    let _ = writeln!(out, "{}{text}", "  ".repeat(depth));
}

fn dump_function(out: &mut String, unit: &Unit, f: &Function, text: &str) {
    let kind = match f.kind {
        FunctionKind::Kernel => "kernel",
        FunctionKind::Device => "device",
        FunctionKind::HostDevice => "host-device",
        FunctionKind::Host => "host",
        FunctionKind::Lambda => "lambda",
    };
    let params: Vec<String> =
        f.params.iter().map(|p| f.var(*p)).map(|v| format!("{}: {}", v.name, type_text(&v.ty))).collect();
    let template: Vec<String> = f.template.iter().map(template_param).collect();
    let template = if template.is_empty() { String::new() } else { format!("<{}>", template.join(", ")) };
    let head = format!("{kind} {}{template}({}) -> {}", f.qualified, params.join(", "), type_text(&f.return_type));
    let tail = if f.body_span.is_some() { "" } else { " declared only" };
    line(out, 0, format!("{head}{tail}"));
    let b = &f.bounds;
    let bounds = [
        ("max_threads", &b.max_threads),
        ("min_blocks", &b.min_blocks),
        ("max_cluster_blocks", &b.max_cluster_blocks),
        ("cluster_dims", &b.cluster_dims),
        ("max_registers", &b.max_registers),
    ];
    for (name, value) in bounds {
        if let Some((value, _)) = value {
            line(out, 1, format!("bound {name} = {value}"));
        }
    }
    for v in f.vars.iter().filter(|v| v.kind != VarKind::Param) {
        let kind = format!("{:?}", v.kind).to_lowercase();
        let align = v.alignment.map(|a| format!(" align {a}")).unwrap_or_default();
        let init = v.init.map(|i| format!(" = {}", expr_text(f, i))).unwrap_or_default();
        line(out, 1, format!("{kind} {}: {}{align}{init}", v.name, type_text(&v.ty)));
    }
    for t in &f.tiles {
        let dims: Vec<String> = t.dims.iter().map(|d| d.map_or("?".into(), |d| expr_text(f, d))).collect();
        let dynamic = if t.is_dynamic { " dynamic" } else { "" };
        line(out, 1, format!("tile {}[{}]{dynamic}", f.var(t.var).name, dims.join("][")));
    }
    statements(out, f, &f.body, 1);
    surfaces(out, f);
    for l in unit.launches.iter().filter(|l| l.caller == f.id) {
        let show = |e: Option<ExprId>| e.map_or("-".into(), |e| expr_text(f, e));
        let args: Vec<String> = l.args.iter().map(|a| expr_text(f, *a)).collect();
        let t = if l.template_args.is_empty() { String::new() } else { format!("<{}>", l.template_args.join(", ")) };
        let config = [l.grid, l.block, l.shared, l.stream].map(show).join(", ");
        line(out, 1, format!("launch {}{t}<<<{config}>>>({})", l.callee, args.join(", ")));
    }
    for flaw in &f.flaws {
        line(out, 1, format!("flaw {:?} `{}`", flaw.kind, excerpt(text, flaw.span)));
    }
}

fn template_param(p: &TemplateParam) -> String {
    let pack = if p.is_pack { "..." } else { "" };
    let kind = p.value_type.as_ref().map_or("type".to_owned(), type_text);
    let default = p.default.as_ref().map(|d| format!(" = {d}")).unwrap_or_default();
    format!("{}{pack}: {kind}{default}", p.name)
}

fn surfaces(out: &mut String, f: &Function) {
    for (i, l) in f.loops.iter().enumerate() {
        let induction = l.induction.map_or("no induction".to_owned(), |n| induction_text(f, &n));
        let unroll = l.unroll.as_ref().map(|(t, _)| format!(" unroll `{t}`")).unwrap_or_default();
        let exits = [(l.has_break, " break"), (l.has_continue, " continue"), (l.has_return, " return")];
        let exits: String = exits.iter().filter(|(on, _)| *on).map(|(_, t)| *t).collect();
        let parent = l.parent.map(|p| format!(" in loop{}", p.0)).unwrap_or_default();
        line(out, 1, format!("loop{i}{parent} {:?} {induction}{unroll}{exits}{}", l.kind, guards(f, &l.guards)));
    }
    for a in &f.accesses {
        let mode = format!("{:?}", a.mode).to_lowercase();
        let space = format!("{:?}", a.space).to_lowercase();
        let indices: Vec<String> = a.indices.iter().map(|i| format!("[{}]", expr_text(f, *i))).collect();
        let members: String = a.members.iter().map(|m| format!(".{m}")).collect();
        let cast = if a.through_cast { " cast" } else { "" };
        let header = if a.in_header { " header" } else { "" };
        let place = format!("{}{}{members}: {}{cast}{header}", f.var(a.base).name, indices.concat(), type_text(&a.ty));
        line(out, 1, format!("{mode} {space} {place}{}{}", loops(&a.loops), guards(f, &a.guards)));
    }
    for b in &f.barriers {
        line(
            out,
            1,
            format!("barrier {:?} {}{}{}", b.kind, expr_text(f, b.expr), loops(&b.loops), guards(f, &b.guards)),
        );
    }
    for w in &f.warp_ops {
        line(out, 1, format!("warp {:?} {}{}{}", w.kind, expr_text(f, w.expr), loops(&w.loops), guards(f, &w.guards)));
    }
    for a in &f.atomics {
        let base = a.base.map_or("?", |b| f.var(b).name.as_str());
        line(out, 1, format!("atomic {base} {}{}{}", expr_text(f, a.expr), loops(&a.loops), guards(f, &a.guards)));
    }
    for c in &f.calls {
        line(out, 1, format!("call {}{}{}", expr_text(f, c.expr), loops(&c.loops), guards(f, &c.guards)));
    }
    for r in &f.reductions {
        let what = match &r.kind {
            ReductionKind::Serial { accumulator } => format!("serial {}", f.var(*accumulator).name),
            ReductionKind::SharedTree { tile, lane, guard, .. } => {
                format!("tree {} lane {} guard {}", f.var(*tile).name, expr_text(f, *lane), expr_text(f, *guard))
            }
        };
        line(out, 1, format!("reduction {what} {:?} `{}` in loop{}", r.op, r.spelling, r.id_loop.0));
    }
}

fn induction_text(f: &Function, n: &Induction) -> String {
    let name = &f.var(n.var).name;
    let init = n.init.map_or("?".to_owned(), |i| expr_text(f, i));
    let compare = match n.compare {
        Compare::Lt => "<",
        Compare::Le => "<=",
        Compare::Gt => ">",
        Compare::Ge => ">=",
        Compare::Ne => "!=",
    };
    let step = match &n.step {
        Step::By(by) => format!("{by:+}"),
        Step::Add { amount, negated } => format!("{}= {}", if *negated { "-" } else { "+" }, expr_text(f, *amount)),
        Step::Scale { op, amount } => format!("{}= {}", operator(*op), expr_text(f, *amount)),
    };
    format!("{name} = {init}; {name} {compare} {}; {step}", expr_text(f, n.bound))
}

fn loops(loops: &[LoopId]) -> String {
    loops.iter().map(|l| format!(" loop{}", l.0)).collect()
}

fn guards(f: &Function, guards: &[Guard]) -> String {
    let one = |g: &Guard| format!(" if {}({})", if g.negated { "!" } else { "" }, expr_text(f, g.expr));
    guards.iter().map(one).collect()
}

fn statements(out: &mut String, f: &Function, block: &Block, depth: usize) {
    if depth > 40 {
        return line(out, depth, "...".into());
    }
    for id in &block.stmts {
        let inner = |out: &mut String, b: &Block| statements(out, f, b, depth + 1);
        let e = |e: &ExprId| expr_text(f, *e);
        match &f.stmt(*id).kind {
            StmtKind::Declare { var, init } => {
                let init = init.as_ref().map(|i| format!(" = {}", e(i))).unwrap_or_default();
                line(out, depth, format!("| declare {}{init}", f.var(*var).name));
            }
            StmtKind::Expr(x) => line(out, depth, format!("| {}", e(x))),
            StmtKind::If { condition, is_constexpr, then, otherwise } => {
                line(out, depth, format!("| if {}{}", if *is_constexpr { "constexpr " } else { "" }, e(condition)));
                inner(out, then);
                if let Some(o) = otherwise {
                    line(out, depth, "| else".into());
                    inner(out, o);
                }
            }
            StmtKind::For { id, init, condition, step, body } => {
                let show = |x: &Option<ExprId>| x.as_ref().map_or("-".into(), e);
                line(out, depth, format!("| for loop{} {}; {}", id.0, show(condition), show(step)));
                inner(out, &Block { stmts: init.clone() });
                inner(out, body);
            }
            StmtKind::While { id, condition, body } => {
                line(out, depth, format!("| while loop{} {}", id.0, e(condition)));
                inner(out, body);
            }
            StmtKind::DoWhile { id, condition, body } => {
                line(out, depth, format!("| do loop{} {}", id.0, e(condition)));
                inner(out, body);
            }
            StmtKind::OpaqueLoop { id, body } => {
                line(out, depth, format!("| opaque loop{}", id.0));
                inner(out, body);
            }
            StmtKind::Switch { value, labels, body } => {
                let one =
                    |l: &super::Label| format!("{} at {}", l.value.as_ref().map_or("default".into(), e), l.before);
                let labels: Vec<String> = labels.iter().map(one).collect();
                line(out, depth, format!("| switch {}: {}", e(value), labels.join(", ")));
                inner(out, body);
            }
            StmtKind::Return(x) => line(out, depth, format!("| return {}", x.as_ref().map_or(String::new(), e))),
            StmtKind::Break => line(out, depth, "| break".into()),
            StmtKind::Continue => line(out, depth, "| continue".into()),
            StmtKind::Block(b) => {
                line(out, depth, "| block".into());
                inner(out, b);
            }
            StmtKind::Asm { writes, reads, is_volatile, clobbers_memory, template } => {
                let list = |l: &[ExprId]| l.iter().map(e).collect::<Vec<_>>().join(", ");
                let marks = [(*is_volatile, " volatile"), (*clobbers_memory, " memory")];
                let marks: String = marks.iter().filter(|(on, _)| *on).map(|(_, m)| *m).collect();
                line(out, depth, format!("| asm{marks} {template} writes ({}) reads ({})", list(writes), list(reads)));
            }
            StmtKind::Preprocessor { arms } => {
                for (_, b) in arms {
                    line(out, depth, "| #arm".into());
                    inner(out, b);
                }
            }
            StmtKind::Pragma(text) => line(out, depth, format!("| pragma {text}")),
            StmtKind::Empty => line(out, depth, "| ;".into()),
            StmtKind::Opaque { what, children } => {
                let inside: Vec<String> = children.iter().map(e).collect();
                line(out, depth, format!("| opaque {what} ({})", inside.join(", ")));
            }
        }
    }
}

fn excerpt(text: &str, span: crate::source::Span) -> String {
    let slice = text.get(span.range()).unwrap_or("");
    let flat: Vec<&str> = slice.split_whitespace().collect();
    flat.join(" ").chars().take(50).collect()
}

/// An expression in prefix-free, fully parenthesised C form.
pub fn expr_text(f: &Function, e: ExprId) -> String {
    expr_at(f, e, 0)
}

fn expr_at(f: &Function, e: ExprId, depth: u32) -> String {
    let Some(Expr { kind, .. }) = f.exprs.get(e.0 as usize) else { return "?".into() };
    if depth > 60 {
        return "...".into();
    }
    let s = |e: &ExprId| expr_at(f, *e, depth + 1);
    let list = |l: &[ExprId]| l.iter().map(s).collect::<Vec<_>>().join(", ");
    match kind {
        ExprKind::Int(v) => v.to_string(),
        ExprKind::Float(t) | ExprKind::Name(t) | ExprKind::Str(t) => t.clone(),
        ExprKind::Bool(b) => b.to_string(),
        ExprKind::Null => "null".into(),
        ExprKind::This => "this".into(),
        ExprKind::Var(v) => f.vars.get(v.0 as usize).map_or("?".into(), |v| v.name.clone()),
        ExprKind::Builtin(b) => match b {
            Builtin::ThreadIdx(a) => format!("threadIdx.{}", a.name()),
            Builtin::BlockIdx(a) => format!("blockIdx.{}", a.name()),
            Builtin::BlockDim(a) => format!("blockDim.{}", a.name()),
            Builtin::GridDim(a) => format!("gridDim.{}", a.name()),
            Builtin::WarpSize => "warpSize".into(),
        },
        ExprKind::Unary { op, operand } => {
            let sign = match op {
                UnaryOp::Neg => "-",
                UnaryOp::Plus => "+",
                UnaryOp::Not => "!",
                UnaryOp::BitNot => "~",
            };
            format!("{sign}{}", s(operand))
        }
        ExprKind::Binary { op, left, right } => format!("({} {} {})", s(left), operator(*op), s(right)),
        ExprKind::Assign { op, target, value } => {
            format!("{} {}= {}", s(target), op.map_or("", operator), s(value))
        }
        ExprKind::Increment { target, delta, prefix } => {
            let sign = if *delta > 0 { "++" } else { "--" };
            if *prefix { format!("{sign}{}", s(target)) } else { format!("{}{sign}", s(target)) }
        }
        ExprKind::Index { base, index } => format!("{}[{}]", s(base), s(index)),
        ExprKind::Deref(p) => format!("*{}", s(p)),
        ExprKind::AddressOf(p) => format!("&{}", s(p)),
        ExprKind::Member { base, name, arrow } => format!("{}{}{name}", s(base), if *arrow { "->" } else { "." }),
        ExprKind::Call { callee, template_args, args, .. } => {
            let t = if template_args.is_empty() { String::new() } else { format!("<{}>", template_args.join(", ")) };
            format!("{callee}{t}({})", list(args))
        }
        ExprKind::CallValue { callee, args } => format!("{}({})", s(callee), list(args)),
        ExprKind::Cast { ty, operand, style } => {
            let style = format!("{style:?}").to_lowercase();
            format!("{style}<{}>({})", type_text(ty), s(operand))
        }
        ExprKind::Conditional { condition, then, otherwise } => {
            format!("({} ? {} : {})", s(condition), s(then), s(otherwise))
        }
        ExprKind::Comma { left, right } => format!("({}, {})", s(left), s(right)),
        ExprKind::InitList(items) => format!("{{{}}}", list(items)),
        ExprKind::Construct { ty, args } => format!("{}{{{}}}", type_text(ty), list(args)),
        ExprKind::Lambda(id) => format!("lambda{}", id.0),
        ExprKind::SizeOf(ty) => format!("sizeof({})", ty.as_ref().map_or("?".into(), type_text)),
        ExprKind::Launch(i) => format!("launch#{i}"),
        ExprKind::Opaque { what, children } => format!("<{what}: {}>", list(children)),
    }
}

fn operator(op: BinaryOp) -> &'static str {
    use BinaryOp::*;
    match op {
        Add => "+",
        Sub => "-",
        Mul => "*",
        Div => "/",
        Rem => "%",
        Shl => "<<",
        Shr => ">>",
        BitAnd => "&",
        BitOr => "|",
        BitXor => "^",
        And => "&&",
        Or => "||",
        Eq => "==",
        Ne => "!=",
        Lt => "<",
        Le => "<=",
        Gt => ">",
        Ge => ">=",
    }
}

/// A type in short: `const f32* restrict`, `f32[?]`, `f32x4`.
pub fn type_text(ty: &Type) -> String {
    let pointee = |p: &Pointee, mark: &str| {
        let c = if p.is_const { "const " } else { "" };
        let v = if p.is_volatile { "volatile " } else { "" };
        let r = if p.restrict { " restrict" } else { "" };
        format!("{c}{v}{}{mark}{r}", type_text(&p.ty))
    };
    match ty {
        Type::Void => "void".into(),
        Type::Scalar(s) => s.name().into(),
        Type::Vector { elem, lanes } => format!("{}x{lanes}", elem.name()),
        Type::Pointer(p) => pointee(p, "*"),
        Type::Reference(p) => pointee(p, "&"),
        Type::Array { .. } => {
            let (mut dims, mut at) = (String::new(), ty);
            while let Type::Array { elem, len } = at {
                dims.push_str(if len.is_some() { "[n]" } else { "[]" });
                at = elem;
            }
            format!("{}{dims}", type_text(at))
        }
        Type::Named(n) => n.clone(),
        Type::Param(n) => format!("'{n}"),
        Type::Auto => "auto".into(),
        Type::Unknown => "_".into(),
    }
}
