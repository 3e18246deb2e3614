//! A sample instantiation of a template that nothing in view instantiates.
//!
//! A sample says that the kernel compiles for *these* arguments, which kopt chose. It says nothing about others, it is
//! no fact about the program, and whoever shows it must say that it is one ([`Sample::note`]).

use super::instances::{Parameter, ParameterKind};
use super::slice::Sliced;

/// The arguments that kopt chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Name of the parameter (or its place, from 1, where it has none) and the argument.
    pub arguments: Vec<(String, String)>,
}

impl Sample {
    /// `T = float, N = 32, chosen by kopt: no instantiation in view`.
    pub fn note(&self) -> String {
        let list: Vec<String> = self.arguments.iter().map(|(p, a)| format!("{p} = {a}")).collect();
        format!("{}, chosen by kopt: no instantiation in view", list.join(", "))
    }

    /// `<float, 32>`.
    pub fn list(&self) -> String {
        let list: Vec<&str> = self.arguments.iter().map(|(_, a)| a.as_str()).collect();
        format!("<{}>", list.join(", "))
    }

    /// The same with every `false` made `true`, if there is one.
    pub fn flipped(&self) -> Option<Sample> {
        let flip = |(p, a): &(String, String)| (p.clone(), if a == "false" { "true".to_owned() } else { a.clone() });
        let flipped = Sample { arguments: self.arguments.iter().map(flip).collect() };
        (flipped != *self).then_some(flipped)
    }
}

/// Types and integers that are tried together, in this order.
const ROUNDS: &[(&str, &str)] = &[
    ("float", "32"),
    ("float", "128"),
    ("float", "4"),
    ("__half", "32"),
    ("int", "32"),
    ("float", "1"),
    ("float", "256"),
    ("float", "8"),
    ("float", "64"),
    ("float", "2"),
    ("float", "16"),
    ("double", "32"),
    ("unsigned int", "4"),
    ("__half", "128"),
    ("__half", "8"),
    ("__half2", "32"),
    ("float4", "4"),
];

/// Samples of a kernel, most usual first; none where a parameter is of a kind that kopt cannot invent an argument for.
pub fn candidates(sliced: &Sliced) -> Vec<Sample> {
    // Arguments after the last parameter without a default are left to the defaults.
    let spelled = sliced.parameters.iter().rposition(|p| p.default.is_none() && !p.pack).map_or(0, |i| i + 1);
    let parameters = sliced.parameters.get(..spelled).unwrap_or(&[]);
    let mut out: Vec<Sample> = vec![];
    for (ty, number) in ROUNDS {
        for hinted in [true, false] {
            let arguments: Option<Vec<(String, String)>> = parameters
                .iter()
                .enumerate()
                .map(|(i, p)| {
                    let name = if p.name.is_empty() { (i + 1).to_string() } else { p.name.clone() };
                    Some((name, argument(p, ty, number, hinted, sliced)?))
                })
                .collect();
            let Some(arguments) = arguments else { return vec![] };
            let sample = Sample { arguments };
            if !out.contains(&sample) {
                out.push(sample);
            }
        }
    }
    out
}

fn argument(p: &Parameter, ty: &str, number: &str, hinted: bool, sliced: &Sliced) -> Option<String> {
    if p.pack {
        return None;
    }
    if let Some(default) = p.default.as_ref().filter(|d| !sliced.parameters.iter().any(|q| d.contains(&q.name))) {
        return Some(default.clone());
    }
    let name = p.name.to_ascii_lowercase();
    match &p.kind {
        ParameterKind::Type if hinted && is_index(&name) => Some("int".to_owned()),
        ParameterKind::Type if is_callable(&name) => None,
        ParameterKind::Type => Some(ty.to_owned()),
        ParameterKind::Template => None,
        ParameterKind::Value(of) => value(of, &name, number, hinted, sliced),
    }
}

/// Whether a type parameter of this name usually is an integer for subscripts.
fn is_index(name: &str) -> bool {
    ["index", "idx", "offset", "size_t", "sizet", "int_t", "len_t", "integer"].iter().any(|w| name.contains(w))
}

/// Whether a type parameter of this name usually is a function object, for which no argument can be invented.
fn is_callable(name: &str) -> bool {
    let whole = ["f", "fn", "op", "func", "functor", "lambda", "policy", "traits", "config"];
    let parts = ["functor", "lambda", "callable", "policy", "traits", "operator", "_op", "opt", "func"];
    whole.contains(&name) || parts.iter().any(|w| name.contains(w) && !name.ends_with("_t"))
}

fn value(of: &str, name: &str, number: &str, hinted: bool, sliced: &Sliced) -> Option<String> {
    let simple: Vec<&str> = of.split_whitespace().filter(|w| !matches!(*w, "const" | "constexpr")).collect();
    let simple = simple.join(" ");
    if simple == "bool" {
        return Some("false".to_owned());
    }
    if let Some(first) = sliced.enumerations.get(of) {
        return Some(first.clone());
    }
    let integer = simple.split(' ').all(|w| {
        matches!(
            w,
            "int" | "unsigned" | "long" | "short" | "char" | "signed" | "auto" | "uint" | "size_t" | "std::size_t"
        ) || w.trim_start_matches("std::").trim_start_matches('u').starts_with("int")
    });
    let dependent = sliced.parameters.iter().any(|p| p.name == simple);
    if !integer && !dependent {
        return None;
    }
    let usual: &[(&[&str], &str)] = &[
        (&["block", "thread", "cta"], "256"),
        (&["warp_size", "warpsize"], "32"),
        (&["warp"], "4"),
        (&["vec", "pack", "unroll", "ilp", "items", "per_thread", "width"], "4"),
    ];
    let hint = usual.iter().find(|(words, _)| words.iter().any(|w| name.contains(w))).map(|(_, n)| *n);
    Some(hint.filter(|_| hinted).unwrap_or(number).to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::{NoHeaders, Target, slice};
    use super::*;

    fn first(text: &str) -> Option<String> {
        let sliced = slice("a.cu", text, &Target::Name("k"), &NoHeaders).expect("a slice");
        candidates(&sliced).first().map(Sample::note)
    }

    #[test]
    fn samples_name_every_parameter() {
        let end = ", chosen by kopt: no instantiation in view";
        let cases: &[(&str, Option<&str>)] = &[
            ("template <class T> __global__ void k(T* p) {}", Some("T = float")),
            ("template <class T, int N, bool B> __global__ void k(T* p) {}", Some("T = float, N = 32, B = false")),
            (
                "template <int BLOCK_SIZE, typename index_t> __global__ void k() {}",
                Some("BLOCK_SIZE = 256, index_t = int"),
            ),
            (
                "enum M { A, B }; enum class C : int { X = 2 };\ntemplate <M m, C c> __global__ void k() {}",
                Some("m = M::A, c = C::X"),
            ),
            ("template <class T, T V, int N = 3> __global__ void k() {}", Some("T = float, V = 32")),
            ("template <int> __global__ void k() {}", Some("1 = 32")),
            ("template <class Op> __global__ void k(Op f) {}", None),
            ("template <class... Ts> __global__ void k(Ts... f) {}", None),
            ("template <template <class> class C> __global__ void k() {}", None),
            ("struct S { int n; };\ntemplate <S s> __global__ void k() {}", None),
            ("template <float* P> __global__ void k() {}", None),
        ];
        for (text, want) in cases {
            let got = first(text).filter(|n| n != end);
            assert_eq!(got, want.map(|w| format!("{w}{end}")), "{text}");
        }
    }
}
