//! Sizes of the structures that files declare, and of what they consist.

use std::collections::BTreeMap;

use super::arith::type_named;
use super::cuda::element;
use crate::ir::{Scalar, Type};
use crate::source::tokens::{Token, TokenKind, scan_code};

/// A structure in memory, as C++ lays it out on the device and on 64-bit hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub bytes: i64,
    pub align: i64,
    /// The number of which all of it consists, and how many of them; members of several types, or a gap, have none.
    pub element: Option<(Scalar, u8)>,
}

impl Layout {
    pub fn of(ty: &Type) -> Option<Layout> {
        if let Type::Pointer(_) = ty {
            return Some(Layout { bytes: 8, align: 8, element: None });
        }
        let bytes = i64::from(ty.bytes()?);
        let element = element(ty);
        // Vectors of three are aligned like their elements (CUDA C++ Programming Guide, "Built-in Vector Types").
        let align = match ty {
            Type::Vector { elem, lanes: 3 } => i64::from(elem.bytes()),
            _ => bytes.min(16),
        };
        Some(Layout { bytes, align, element })
    }
}

/// A structure as it is written: members with their extents, whose types and constants others may have to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    pub name: String,
    /// Type, and the text of each extent.
    pub members: Vec<(String, Vec<String>)>,
    pub align: Option<i64>,
}

/// The structures of a text of which every member is plain data.
pub fn declared(text: &str) -> Vec<Declared> {
    let tokens: Vec<Token> = scan_code(text);
    let word = |i: usize| tokens.get(i).map_or("", |t| t.of(text));
    let mut found = vec![];
    for i in 0..tokens.len() {
        if word(i) != "struct" || matches!(word(i.wrapping_sub(1)), "enum" | ">" | ",") {
            continue;
        }
        let mut at = i + 1;
        let mut align = None;
        while matches!(word(at), "__align__" | "alignas" | "__attribute__") && word(at + 1) == "(" {
            align = word(at + 2).parse().ok();
            // Anything but a plain number is not followed.
            if align.is_none() || word(at + 3) != ")" {
                break;
            }
            at += 4;
        }
        let own = if word(at) == "{" { "" } else { word(at) };
        let open = if own.is_empty() { at } else { at + 1 };
        if word(open) != "{" {
            continue;
        }
        let Some((members, end)) = members(text, &tokens, open) else { continue };
        let is_typedef = word(i.wrapping_sub(1)) == "typedef";
        let names = [own, if is_typedef && word(end + 2) == ";" { word(end + 1) } else { "" }];
        for name in names.into_iter().filter(|n| !n.is_empty()) {
            found.push(Declared { name: name.to_owned(), members: members.clone(), align });
        }
    }
    found
}

type Members = Vec<(String, Vec<String>)>;

/// The members between braces, and where they end; `None` where anything else stands there.
fn members(text: &str, tokens: &[Token], open: usize) -> Option<(Members, usize)> {
    let word = |i: usize| tokens.get(i).map_or("", |t| t.of(text));
    let mut found = vec![];
    let mut at = open + 1;
    while word(at) != "}" {
        let mut ty: Vec<&str> = vec![];
        while tokens.get(at).is_some_and(|t| t.kind == TokenKind::Word) {
            ty.push(word(at));
            at += 1;
        }
        ty.retain(|w| !matches!(*w, "const" | "volatile" | "struct" | "mutable"));
        let odd = ["static", "union", "enum", "using", "virtual", "template", "friend", "class"];
        if ty.iter().any(|w| odd.contains(w)) {
            return None;
        }
        // `public:`, and functions, which take no room.
        if word(at) == ":" && matches!(ty.as_slice(), ["public" | "private" | "protected"]) {
            at += 1;
            continue;
        }
        if word(at) == "(" && word(at + 1) != "*" || ty.contains(&"operator") {
            at = behind_function(text, tokens, at)?;
            continue;
        }
        let mut pointer = "";
        if word(at) == "*" {
            (pointer, at) = ("*", at + 1);
            ty.push("*");
            ty.push(word(at));
            at += 1;
        }
        // The last word is the name of the first member.
        ty.pop()?;
        let base = ty.join(" ");
        if base.is_empty() {
            return None;
        }
        loop {
            let mut extents = vec![];
            while word(at) == "[" {
                let close = (at..tokens.len()).find(|i| word(*i) == "]")?;
                let (from, to) = (tokens.get(at)?.end as usize, tokens.get(close)?.start as usize);
                extents.push(text.get(from..to)?.trim().to_owned());
                at = close + 1;
            }
            found.push((base.clone(), extents));
            match word(at) {
                "," if pointer.is_empty() && tokens.get(at + 1)?.kind == TokenKind::Word => at += 2,
                ";" => break,
                _ => return None,
            }
        }
        at += 1;
        if at >= tokens.len() {
            return None;
        }
    }
    (!found.is_empty()).then_some((found, at))
}

/// The token behind a function that is declared or defined in a structure, from its parameters on.
fn behind_function(text: &str, tokens: &[Token], from: usize) -> Option<usize> {
    let mut depth = 0u32;
    for (i, t) in tokens.iter().enumerate().skip(from) {
        match t.of(text) {
            "(" | "{" | "[" => depth += 1,
            ")" | "]" => depth = depth.checked_sub(1)?,
            "}" => {
                depth = depth.checked_sub(1)?;
                // The end of a body, unless it is that of a member in the list of a constructor.
                let next = tokens.get(i + 1).map_or("", |t| t.of(text));
                if depth == 0 && !matches!(next, "," | "{") {
                    return Some(i + 1 + usize::from(next == ";"));
                }
            }
            ";" if depth == 0 => return Some(i + 1),
            _ => {}
        }
    }
    None
}

/// Lays a structure out; `of` gives the layout of a type by name, `extent` the value of an extent.
pub fn lay_out(
    d: &Declared,
    of: &dyn Fn(&str) -> Option<Layout>,
    extent: &dyn Fn(&str) -> Option<i64>,
) -> Option<Layout> {
    let (mut bytes, mut align) = (0i64, d.align.unwrap_or(1).max(1));
    let mut element: Option<(Scalar, i64)> = None;
    let mut plain = true;
    for (ty, extents) in &d.members {
        let one = if ty.ends_with('*') {
            Layout { bytes: 8, align: 8, element: None }
        } else {
            type_named(ty).as_ref().and_then(Layout::of).or_else(|| of(ty))?
        };
        let count = extents.iter().try_fold(1i64, |n, e| n.checked_mul(extent(e).filter(|e| *e > 0)?))?;
        let at = (bytes + one.align - 1) / one.align * one.align;
        plain &= at == bytes;
        bytes = at.checked_add(one.bytes.checked_mul(count)?)?;
        align = align.max(one.align);
        let lanes = i64::from(one.element.map_or(0, |(_, n)| n)).checked_mul(count)?;
        match (one.element, element) {
            (Some((s, _)), None) if lanes > 0 => element = Some((s, lanes)),
            (Some((s, _)), Some((t, n))) if s == t => element = Some((t, n + lanes)),
            _ => plain = false,
        }
    }
    let whole = (bytes + align - 1) / align * align;
    plain &= whole == bytes;
    let element = element.filter(|_| plain).and_then(|(s, n)| Some((s, u8::try_from(n).ok()?)));
    Some(Layout { bytes: whole, align, element })
}

/// The structures of a text by name.
pub fn of_text(text: &str) -> BTreeMap<String, Vec<Declared>> {
    let mut found: BTreeMap<String, Vec<Declared>> = BTreeMap::new();
    // What a pragma packs has no layout of its own.
    if text.contains("struct") && !text.contains("pragma pack") {
        declared(text).into_iter().for_each(|d| found.entry(d.name.clone()).or_default().push(d));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_laid_out_as_compilers_do() {
        type Expected = Option<(i64, i64, Option<(Scalar, u8)>)>;
        let cases: &[(&str, Expected)] = &[
            ("struct S { float x, y; float z; };", Some((12, 4, Some((Scalar::F32, 3))))),
            ("typedef struct { float r[3]; float g; } S;", Some((16, 4, Some((Scalar::F32, 4))))),
            ("typedef struct tag { int a; int b; } S;", Some((8, 4, Some((Scalar::I32, 2))))),
            ("struct S { char c; double d; };", Some((16, 8, None))),
            ("struct S { double d; float f; };", Some((16, 8, None))),
            ("struct S { float *p; int n; };", Some((16, 8, None))),
            ("struct S { float4 v; };", Some((16, 16, Some((Scalar::F32, 4))))),
            ("struct S { float3 v; float w; };", Some((16, 4, Some((Scalar::F32, 4))))),
            ("struct __align__(16) S { float x, y, z; };", Some((16, 16, None))),
            ("struct S { unsigned int a[N][2]; };", Some((32, 4, Some((Scalar::U32, 8))))),
            ("struct I { float a; float b; }; struct S { I i[2]; float c; };", Some((20, 4, Some((Scalar::F32, 5))))),
            // What is not plain data has no layout that is known here.
            ("struct S { float x; void f(); };", Some((4, 4, Some((Scalar::F32, 1))))),
            (
                "struct S { public: float x; S() : x(0) {} __device__ float hit(float a) { if (a > x) { return a; } return x; } float y; };",
                Some((8, 4, Some((Scalar::F32, 2)))),
            ),
            (
                "struct S { float x; bool operator<(const S& o) const { return x < o.x; } };",
                Some((4, 4, Some((Scalar::F32, 1)))),
            ),
            ("struct S { float x; S() = default; int (*f)(int); };", None),
            ("struct S { float x; virtual void f(); };", None),
            ("struct S { float x; template <typename T> void f(T t) {} };", None),
            ("struct S : Base { float x; };", None),
            ("struct S { union { int a; float b; }; };", None),
            ("struct S { Unknown u; };", None),
            ("struct S { int a[M]; };", None),
            ("struct S { int a : 3; };", None),
            ("struct S { virtual ~S(); int a; };", None),
            ("struct S;", None),
        ];
        for (text, expected) in cases {
            let all = of_text(text);
            fn of(all: &BTreeMap<String, Vec<Declared>>, name: &str) -> Option<Layout> {
                let d = all.get(name)?.first()?;
                lay_out(d, &|n| of(all, n), &|e| if e == "N" { Some(4) } else { e.parse().ok() })
            }
            let found = of(&all, "S").map(|l| (l.bytes, l.align, l.element));
            assert_eq!(found, *expected, "{text}");
        }
    }
}
