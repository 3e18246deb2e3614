//! A skill file as a tree with spans everywhere. Names are not resolved and types not checked here: see
//! [`super::check`].

use std::sync::{Arc, OnceLock};

use crate::source::Span;

use super::vocabulary::Surface;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    pub node: T,
    pub span: Span,
}

impl<T> Spanned<T> {
    pub fn new(node: T, span: Span) -> Spanned<T> {
        Spanned { node, span }
    }
}

/// A word or a text, with its place.
pub type Name = Spanned<String>;

/// One intent with its conditions and its bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: Name,
    pub title: Name,
    pub direction: Name,
    pub intent: Name,
    pub class: Spanned<Class>,
    pub class_because: Option<Name>,
    pub touches: Vec<Spanned<Touch>>,
    pub scope: Scope,
    pub bindings: Vec<Binding>,
    pub lets: Vec<Let>,
    /// All five groups, in the order of [`GroupKind::ALL`].
    pub require: Vec<Group>,
    pub pays: Vec<Condition>,
    pub features: Features,
    pub effects: Vec<Effect>,
    pub risks: Vec<Name>,
    pub tunes: Vec<Tune>,
    pub bodies: Vec<Body>,
    pub carriers: Vec<Carrier>,
    pub equivalence: Option<Equivalence>,
    pub examples: Vec<Example>,
    pub refusals: Vec<Refusal>,
    /// The whole declaration.
    pub span: Span,
    /// Empty in a file without mistakes.
    pub unread: Unread,
}

/// What could not be read, so that nothing is said of its absence or its use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// Words of clauses.
    pub clauses: Vec<&'static str>,
    /// Names bound to something unknown.
    pub names: Vec<Name>,
}

/// Declares an enum whose variants have a spelling in skill files.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            pub fn from_word(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use words;

words! {
    /// What the rewrite may do to the values computed.
    Class { Preserving = "preserving", Reassociating = "reassociating", Approximating = "approximating", DisplayOnly = "display-only" }
}
words! {
    /// What a rewrite changes beside the anchored statements.
    Touch { Body = "body", Signature = "signature", Launch = "launch", Workspace = "workspace", Host = "host" }
}
words! {
    /// The five groups of preconditions.
    GroupKind { Datatypes = "datatypes", Layout = "layout", Storage = "storage", Pipeline = "pipeline", Hardware = "hardware" }
}
words! {
    /// How an undecided condition may be tested at run time.
    GuardPolicy { Tail = "tail", Dispatch = "dispatch", InKernel = "in-kernel", Contract = "contract" }
}
words! {
    Language { Cuda = "cuda", TileLang = "tilelang" }
}
words! {
    /// Operator families, as the memory knows them.
    Case {
        Any = "any", Elementwise = "elementwise", Reduction = "reduction", Normalisation = "normalisation", Scan = "scan",
        Stencil = "stencil", Matmul = "matmul", Attention = "attention", Gather = "gather", Other = "other",
    }
}
words! {
    Trend { Rises = "rises", Falls = "falls" }
}
words! {
    BodyKind { Native = "native", Template = "template", Model = "model" }
}

/// Where a skill is meant to be used. Empty lists mean anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub cases: Vec<Spanned<Case>>,
    pub languages: Vec<Spanned<Language>>,
    pub platforms: Vec<Spanned<PlatformRange>>,
    /// Skills that come before this one.
    pub after: Vec<PriorAction>,
    pub span: Option<Span>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorAction {
    pub skill: Name,
    /// `name?`: better after it, but sound without.
    pub optional: bool,
}

/// `sm_90a`: compute capability 9.0, with architecture-specific features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Platform {
    /// Compute capability times ten.
    pub capability: u32,
    /// `a` or `f`.
    pub suffix: Option<char>,
}

impl Platform {
    pub fn parse(word: &str) -> Option<Platform> {
        let digits = word.strip_prefix("sm_")?;
        let (digits, suffix) = match digits.chars().last()? {
            c @ ('a' | 'f') => (digits.strip_suffix(c)?, Some(c)),
            _ => (digits, None),
        };
        let valid = (2..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        valid.then(|| digits.parse().ok())?.map(|capability| Platform { capability, suffix })
    }
}

impl std::fmt::Display for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sm_{}", self.capability)?;
        self.suffix.map_or(Ok(()), |c| write!(f, "{c}"))
    }
}

/// `sm_70..`, `sm_80..sm_90` (both ends included), or one platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlatformRange {
    pub from: Platform,
    pub to: Option<Platform>,
    /// Written with `..`.
    pub range: bool,
}

impl PlatformRange {
    /// Architecture-specific features (`sm_90a`) exist on that platform alone, whatever the range says.
    pub fn contains(&self, platform: Platform) -> bool {
        let (at, from) = (platform.capability, self.from.capability);
        if !self.range || self.from.suffix == Some('a') {
            return at == from && self.from.suffix.is_none_or(|s| platform.suffix == Some(s));
        }
        at >= from && self.to.is_none_or(|to| at <= to.capability)
    }
}

/// `each name: surface(arguments) in other where condition`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// A group: all places at once, judged one by one; those that fail a condition are left as they are.
    pub each: bool,
    pub name: Name,
    pub surface: Spanned<Surface>,
    pub arguments: Vec<Name>,
    pub within: Option<Name>,
    pub condition: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Let {
    pub name: Name,
    pub value: Expr,
}

/// One group of preconditions; without conditions it was declared `none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub kind: Spanned<GroupKind>,
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub label: Option<Name>,
    pub test: Expr,
    pub because: Option<Name>,
    pub guard: Option<Spanned<GuardPolicy>>,
    pub span: Span,
    pub words: Words,
}

/// How a condition and its reason read. Written once, for they are said of every place; it follows from the rest of the
/// condition, so that it does not count when two are compared.
#[derive(Clone, Debug, Default)]
pub struct Words(OnceLock<(Arc<str>, Arc<str>)>);

impl PartialEq for Words {
    fn eq(&self, _: &Words) -> bool {
        true
    }
}

impl Eq for Words {}

impl Condition {
    /// The test as the skill file writes it.
    pub fn text(&self) -> Arc<str> {
        self.words().0.clone()
    }

    /// Why the rewrite would be wrong otherwise; empty where the file does not say.
    pub fn reason(&self) -> Arc<str> {
        self.words().1.clone()
    }

    fn words(&self) -> &(Arc<str>, Arc<str>) {
        self.words.0.get_or_init(|| {
            let reason = self.because.as_ref().map_or("", |b| &b.node);
            (super::print::print_expr(&self.test).into(), reason.into())
        })
    }

    /// The name by which a `refuse` clause speaks of this condition: its label, else its outermost predicates.
    /// A condition that could not be read may have any name.
    pub fn answers_to(&self, name: &str) -> bool {
        self.test.kind == ExprKind::Error
            || self.label.as_ref().is_some_and(|l| l.node == name)
            || self.test.predicates().any(|(p, _)| p == name)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    pub requires: Vec<Feature>,
    pub provides: Vec<Feature>,
    pub conflicts: Vec<Feature>,
}

/// `access.vector16 @ a`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    pub name: Name,
    pub anchor: Option<Name>,
}

/// `sectors_per_request(a) falls`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    pub metric: Name,
    pub anchor: Option<Name>,
    pub trend: Spanned<Trend>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tune {
    pub name: Name,
    /// At least one; the first is the default.
    pub values: Vec<Spanned<i64>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    pub inverse: bool,
    /// `None` on an inverse body that serves every language.
    pub language: Option<Language>,
    pub kind: BodyKind,
    /// Of a template body.
    pub rules: Vec<Rule>,
    pub span: Span,
}

/// `"""pattern""" => """replacement"""` with metavariables `$x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub pattern: Name,
    pub replacement: Name,
}

/// Why the result is the same as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivalence {
    /// The argument of the engine that is checked on every rewrite; without one no site is proved.
    pub argument: Option<Name>,
    pub text: Name,
}

/// An annotated sketch: documentation, and a hint for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carrier {
    pub language: Spanned<Language>,
    pub text: Name,
}

/// A program on which the skill fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    pub title: Name,
    pub before: Name,
    pub contract: Option<Name>,
    /// Which of several sites, from 1.
    pub at: Option<Spanned<i64>>,
}

/// A program on which the skill must not fire, and the condition that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub title: Name,
    pub before: Name,
    pub contract: Option<Name>,
    pub at: Option<Spanned<i64>>,
    pub because: Name,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
    /// Levels below this one; bounded by [`MAX_DEPTH`].
    pub depth: u16,
}

/// Expressions deeper than this are refused, so that every walk over them may recurse.
pub const MAX_DEPTH: u16 = 48;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    Int(i64),
    /// As written, e.g. `0.5`.
    Real(String),
    Bytes(u64),
    Bool(bool),
    Name(String),
    /// `all rows`
    All(String),
    Call {
        name: Name,
        arguments: Vec<Argument>,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `value in {a, b}`
    In {
        value: Box<Expr>,
        set: Vec<Expr>,
    },
    /// A place that did not parse; reported already.
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    pub keyword: Option<Name>,
    pub value: Expr,
}

words! { UnaryOp { Not = "not", Negate = "-" } }
words! {
    BinaryOp {
        Or = "or", And = "and", Eq = "==", Ne = "!=", Lt = "<", Le = "<=", Gt = ">", Ge = ">=",
        Add = "+", Sub = "-", Mul = "*", Div = "/", Rem = "%",
    }
}

impl BinaryOp {
    pub fn is_comparison(self) -> bool {
        matches!(self, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
    }

    pub fn is_logical(self) -> bool {
        matches!(self, BinaryOp::And | BinaryOp::Or)
    }
}

impl Expr {
    /// The direct operands and argument values.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Call { arguments, .. } => arguments.iter().map(|a| &a.value).collect(),
            ExprKind::Unary { operand, .. } => vec![operand],
            ExprKind::Binary { left, right, .. } => vec![left, right],
            ExprKind::In { value, set } => std::iter::once(value.as_ref()).chain(set).collect(),
            _ => vec![],
        }
    }

    /// The names that are called or stand bare outside the arguments of a call, from left to right, with their places:
    /// what a condition asks about. Bare names may also be values of `let` or words.
    pub fn predicates(&self) -> impl Iterator<Item = (&str, Span)> {
        let mut found = vec![];
        outer_names(self, &mut found);
        found.into_iter()
    }
}

fn outer_names<'a>(expr: &'a Expr, found: &mut Vec<(&'a str, Span)>) {
    match &expr.kind {
        ExprKind::Call { name, .. } => found.push((&name.node, name.span)),
        ExprKind::Name(name) => found.push((name, expr.span)),
        ExprKind::In { value, .. } => outer_names(value, found),
        _ => expr.children().into_iter().for_each(|child| outer_names(child, found)),
    }
}
