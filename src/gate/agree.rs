//! Two runs of the same code on equal inputs, element by element: the interpreter and a device, or two devices.

use super::element;
use super::execute::{Output, Ran};
use crate::ir::Scalar;

/// How far one output agrees.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Agreement {
    pub output: String,
    pub dtype: &'static str,
    pub elements: u64,
    /// Elements whose bits differ; two that are not a number agree.
    pub differing: u64,
    /// The largest distance in units in the last place; `None` for integers, and where one side is not a number.
    pub ulps: Option<u64>,
    pub first: Option<Differing>,
}

/// An element with both values.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Differing {
    pub index: u64,
    pub ours: String,
    pub theirs: String,
}

/// Compares the outputs of two runs of one plan.
pub fn agreements(ours: &Ran, theirs: &Ran) -> Vec<Agreement> {
    ours.outputs.iter().zip(&theirs.outputs).map(|(a, b)| agreement(a, b)).collect()
}

fn agreement(ours: &Output, theirs: &Output) -> Agreement {
    let dtype = ours.dtype;
    let mut found = Agreement {
        output: ours.name.clone(),
        dtype: dtype.name(),
        elements: ours.elements(),
        differing: 0,
        ulps: Some(0).filter(|_| element::unit_roundoff(dtype).is_some()),
        first: None,
    };
    for index in 0..ours.elements().max(theirs.elements()) {
        let at = index as usize;
        let (a, b) = (element::bits(dtype, &ours.bytes, at), element::bits(dtype, &theirs.bytes, at));
        if a == b || both_nan(dtype, a, b) {
            continue;
        }
        found.differing += 1;
        let distance = element::ulps(dtype, a, b);
        found.ulps = found.ulps.zip(distance).map(|(most, this)| most.max(this));
        found.first.get_or_insert_with(|| Differing {
            index,
            ours: element::show(dtype, a),
            theirs: element::show(dtype, b),
        });
    }
    found
}

fn both_nan(dtype: Scalar, a: u64, b: u64) -> bool {
    element::value(dtype, a).is_nan() && element::value(dtype, b).is_nan()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(values: &[f32]) -> Ran {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let output = Output {
            name: "y".into(),
            dtype: Scalar::F32,
            bytes,
            start: vec![],
            unwritten: vec![],
            writes: 0..values.len() as u64,
        };
        Ran { outputs: vec![output], ..Ran::default() }
    }

    #[test]
    fn differences_are_counted_and_measured() {
        let next = f32::from_bits(2f32.to_bits() + 3);
        let found = agreements(&output(&[1.0, 2.0, f32::NAN, 0.0]), &output(&[1.0, next, f32::NAN, -0.0]));
        assert_eq!((found[0].differing, found[0].ulps, found[0].elements), (2, Some(3), 4));
        assert_eq!(found[0].first.as_ref().map(|d| d.index), Some(1));
        let nan = agreements(&output(&[1.0]), &output(&[f32::NAN]));
        assert_eq!((nan[0].differing, nan[0].ulps), (1, None));
        assert_eq!(agreements(&output(&[1.0]), &output(&[1.0]))[0].differing, 0);
    }
}
