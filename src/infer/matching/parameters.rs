//! Parameters of two kernels: which stands for which.

use super::{Given, Unclear, quoted};
use crate::infer::cuda::element;
use crate::ir::{Function, Scalar, Type};

/// The parameters of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub kernel: String,
    pub parameters: Vec<Parameter>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// What it points to, where that is a number or a vector of numbers, and whether through `const`.
    Pointer {
        to: Option<Scalar>,
        is_const: bool,
    },
    Scalar(Scalar),
    Other(String),
}

impl Kind {
    fn of(ty: &Type) -> Kind {
        match ty {
            Type::Pointer(p) => Kind::Pointer { to: element(&p.ty).map(|(s, _)| s), is_const: p.is_const },
            t => match element(t) {
                Some((s, 1)) => Kind::Scalar(s),
                _ => Kind::Other(format!("{t:?}")),
            },
        }
    }

    /// Whether one may be given what the other is given.
    fn fits(&self, other: &Kind) -> bool {
        match (self, other) {
            (Kind::Pointer { to: Some(a), .. }, Kind::Pointer { to: Some(b), .. }) => a == b,
            (Kind::Pointer { .. }, Kind::Pointer { .. }) => true,
            (Kind::Scalar(a), Kind::Scalar(b)) => a.is_float() == b.is_float(),
            (a, b) => a == b,
        }
    }

    /// Whether nothing tells them apart but their places.
    fn is_like(&self, other: &Kind) -> bool {
        match (self, other) {
            (Kind::Pointer { to: a, is_const: c }, Kind::Pointer { to: b, is_const: d }) => a == b && c == d,
            _ => self.fits(other),
        }
    }
}

impl Signature {
    pub fn of(f: &Function) -> Signature {
        let one = |p: &crate::ir::VarId| {
            let var = f.var(*p);
            Parameter { name: var.name.clone(), kind: Kind::of(&var.ty) }
        };
        Signature { kernel: f.qualified.clone(), parameters: f.params.iter().map(one).collect() }
    }

    /// The type of a parameter that is a number.
    pub fn scalar(&self, nth: usize) -> Option<Scalar> {
        match self.parameters.get(nth)?.kind {
            Kind::Scalar(s) => Some(s),
            _ => None,
        }
    }

    fn name(&self, nth: usize) -> &str {
        self.parameters.get(nth).map_or("", |p| p.name.as_str())
    }
}

/// For each parameter of the candidate the one of the original that it stands for, and what is worth saying of how that
/// was found. Names decide; then a type that only one of each side has; then the place, where nothing moved.
///
/// # Errors
/// Numbers of parameters that differ, equal names of types that do not fit, or several possibilities.
pub fn pair(original: &Signature, candidate: &Signature, given: &Given) -> Result<(Vec<usize>, Vec<String>), Unclear> {
    let (a, b) = (&original.parameters, &candidate.parameters);
    if a.len() != b.len() {
        let message = format!(
            "`{}` takes {} arguments and `{}` {}: the original's launch does not fit",
            original.kernel,
            a.len(),
            candidate.kernel,
            b.len()
        );
        return Err(Unclear::new(message, "give the candidate's launches with --candidate-contract"));
    }
    let mut found: Vec<Option<usize>> = vec![None; b.len()];
    let mut notes = vec![];
    for (slot, p) in found.iter_mut().zip(b) {
        let name = given.get(&p.name).unwrap_or(&p.name);
        *slot = a.iter().position(|q| q.name == *name);
    }
    for (n, m) in found.iter().enumerate() {
        if let Some((p, q)) = m.and_then(|m| Some((b.get(n)?, a.get(m)?)))
            && !p.kind.fits(&q.kind)
        {
            let message = format!("`{}` of `{}` has another type in `{}`", q.name, original.kernel, candidate.kernel);
            return Err(Unclear::new(message, "give the candidate's launches with --candidate-contract"));
        }
    }
    let moved = found.iter().enumerate().any(|(n, m)| m.is_some_and(|m| m != n));
    if moved {
        let order = quoted(found.iter().flatten().map(|m| original.name(*m)));
        notes.push(format!("`{}` takes its arguments in another order: {order}, by name", candidate.kernel));
    }
    rest(original, candidate, moved, &mut found, &mut notes)?;
    Ok((found.into_iter().flatten().collect(), notes))
}

/// Parameters that no name decides.
fn rest(
    original: &Signature,
    candidate: &Signature,
    moved: bool,
    found: &mut [Option<usize>],
    notes: &mut Vec<String>,
) -> Result<(), Unclear> {
    let left: Vec<usize> = (0..found.len()).filter(|n| found.get(*n) == Some(&None)).collect();
    let free: Vec<usize> = (0..original.parameters.len()).filter(|m| !found.contains(&Some(*m))).collect();
    if left.is_empty() {
        return Ok(());
    }
    let kinds = |n: usize, m: usize| Some((&candidate.parameters.get(n)?.kind, &original.parameters.get(m)?.kind));
    let like = |n: usize, m: usize| kinds(n, m).is_some_and(|(x, y)| x.is_like(y));
    let said = |n: usize, m: usize| format!("`{}` for `{}`", candidate.name(n), original.name(m));
    let in_place = !moved && left == free && left.iter().all(|n| like(*n, *n));
    let mut pairs = vec![];
    for n in &left {
        let fitting: Vec<usize> = free.iter().copied().filter(|m| like(*n, *m)).collect();
        let back = fitting.first().map_or(0, |m| left.iter().filter(|o| like(**o, *m)).count());
        match fitting.as_slice() {
            [m] if back == 1 => pairs.push((*n, *m)),
            _ if in_place => pairs.push((*n, *n)),
            _ => {
                let possible = quoted(free.iter().map(|m| original.name(*m)));
                let message = format!(
                    "parameter `{}` of `{}` can stand for several of the original's: {possible}",
                    candidate.name(*n),
                    candidate.kernel
                );
                let example = free.first().map_or("", |m| original.name(*m));
                let next = format!("say which with --match {}={example}, one for each", candidate.name(*n));
                return Err(Unclear::new(message, next));
            }
        }
    }
    let list: Vec<String> = pairs.iter().map(|(n, m)| said(*n, *m)).collect();
    let how = if in_place { "by position" } else { "by type" };
    notes.push(format!("parameters of `{}` {how}: {}", candidate.kernel, list.join(", ")));
    for (n, m) in pairs {
        if let Some(slot) = found.get_mut(n) {
            *slot = Some(m);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a: const float*` as `a:cf`, `y: float*` as `y:f`, `n: int` as `n:i`, `s: float` as `s:r`.
    fn signature(kernel: &str, text: &str) -> Signature {
        let one = |p: &str| {
            let (name, kind) = p.split_once(':').unwrap();
            let pointer = |to, is_const| Kind::Pointer { to: Some(to), is_const };
            let kind = match kind {
                "cf" => pointer(Scalar::F32, true),
                "f" => pointer(Scalar::F32, false),
                "h" => pointer(Scalar::F16, false),
                "i" => Kind::Scalar(Scalar::I32),
                "l" => Kind::Scalar(Scalar::I64),
                _ => Kind::Scalar(Scalar::F32),
            };
            Parameter { name: name.into(), kind }
        };
        Signature { kernel: kernel.into(), parameters: text.split_whitespace().map(one).collect() }
    }

    #[test]
    fn names_decide_then_types_then_places_that_nothing_moved() {
        type Case = (&'static str, &'static str, Result<&'static [usize], &'static str>, &'static str);
        let cases: &[Case] = &[
            ("a:cf b:cf y:f n:i", "a:cf b:cf y:f n:i", Ok(&[0, 1, 2, 3]), ""),
            ("a:cf b:cf y:f n:i", "b:cf a:cf y:f n:l", Ok(&[1, 0, 2, 3]), "in another order"),
            ("a:cf b:cf y:f n:i", "y:f a:cf b:cf n:i", Ok(&[2, 0, 1, 3]), "in another order"),
            ("a:cf b:cf y:f n:i", "p:cf q:cf r:f m:i", Ok(&[0, 1, 2, 3]), "by position: `p` for `a`, `q` for `b`"),
            ("a:cf y:f n:i", "out:f in:cf m:i", Ok(&[1, 0, 2]), "by type"),
            ("a:cf b:cf y:f n:i", "y:f p:cf q:cf n:i", Err("several"), ""),
            ("a:cf b:cf y:f n:i", "b:cf p:cf y:f n:i", Ok(&[1, 0, 2, 3]), "by type: `p` for `a`"),
            ("rows:i cols:i y:f", "y:f m:i n:i", Err("several"), ""),
            ("a:cf y:f n:i", "a:h y:f n:i", Err("another type"), ""),
            ("a:cf y:f s:r", "a:cf y:f s:i", Err("another type"), ""),
            ("a:cf y:f n:i", "a:cf y:f", Err("takes 3 arguments"), ""),
        ];
        for (a, b, expected, note) in cases {
            match (pair(&signature("k", a), &signature("k2", b), &Given::new()), expected) {
                (Ok((found, notes)), Ok(wanted)) => {
                    assert_eq!(found, *wanted, "{a} | {b}");
                    assert_eq!(notes.is_empty(), note.is_empty(), "{a} | {b}: {notes:?}");
                    assert!(notes.join("; ").contains(note), "{a} | {b}: {notes:?}");
                }
                (Err(why), Err(part)) => assert!(why.message.contains(part), "{a} | {b}: {why:?}"),
                (found, _) => panic!("{a} | {b}: {found:?}"),
            }
        }
    }

    #[test]
    fn the_user_chooses_where_several_are_possible() {
        let given: Given = [("p".to_owned(), "b".to_owned()), ("q".to_owned(), "a".to_owned())].into();
        let found = pair(&signature("k", "a:cf b:cf y:f"), &signature("k2", "y:f p:cf q:cf"), &given).unwrap();
        assert_eq!(found.0, [2, 1, 0]);
    }
}
