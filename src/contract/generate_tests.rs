use super::*;

fn contents(dtype: Scalar, distribution: Distribution) -> Contents {
    Contents { dtype, distribution, seed: 1, argument: "x".into(), row: 10, legal: None, infinite: false, nan: false }
}

fn floats(c: &Contents, n: u64) -> Vec<f64> {
    let bytes = c.bytes(0..n).unwrap();
    let width = c.dtype.bytes() as usize;
    let one = |b: &[u8]| match c.dtype {
        Scalar::F16 => F16.decode(u16::from_le_bytes(b.try_into().unwrap())),
        Scalar::BF16 => BF16.decode(u16::from_le_bytes(b.try_into().unwrap())),
        Scalar::F32 => f64::from(f32::from_le_bytes(b.try_into().unwrap())),
        _ => f64::from_le_bytes(b.try_into().unwrap()),
    };
    bytes.chunks(width).map(one).collect()
}

fn ints(c: &Contents, n: u64) -> Vec<i64> {
    let width = c.dtype.bytes() as usize;
    let one = |b: &[u8]| {
        let fill = if !c.dtype.is_unsigned() && b[width - 1] & 0x80 != 0 { 0xff } else { 0 };
        let mut whole = [fill; 8];
        whole[..width].copy_from_slice(b);
        i64::from_le_bytes(whole)
    };
    c.bytes(0..n).unwrap().chunks(width).map(one).collect()
}

/// The bytes are part of what a recorded seed means: they may never change.
#[test]
fn bytes_are_fixed() {
    let c = contents(Scalar::F32, Distribution::Normal);
    let all = c.bytes(0..1000).unwrap();
    assert_eq!(blake3::hash(&all).to_hex().as_str(), FIXED_F32);
    let c = Contents { legal: Some(Legal::Int(0, 99)), ..contents(Scalar::I32, Distribution::Skewed) };
    assert_eq!(blake3::hash(&c.bytes(0..1000).unwrap()).to_hex().as_str(), FIXED_I32);
}

const FIXED_F32: &str = "ca0ce986fd7229a7b5ca0947627392100fedd905eda38f5e60c6d253591cc67e";
const FIXED_I32: &str = "2a675d4a7a7a04cf9f2300ff84aa0c28d05edbc1842a91afdfa51e39f60a41d4";

#[test]
fn any_part_can_be_made_by_itself() {
    for d in Distribution::ALL {
        for dtype in [Scalar::F16, Scalar::F32, Scalar::I32, Scalar::U8, Scalar::I64, Scalar::Bool] {
            let c = contents(dtype, d);
            let whole = c.bytes(0..100).unwrap();
            let parts: Vec<u8> = [0..37, 37..38, 38..100].into_iter().flat_map(|r| c.bytes(r).unwrap()).collect();
            assert_eq!(whole, parts, "{d:?} {dtype:?}");
            assert_eq!(whole.len(), 100 * dtype.bytes() as usize);
        }
    }
}

#[test]
fn seeds_and_arguments_give_other_contents() {
    let c = contents(Scalar::F32, Distribution::Normal);
    let base = c.bytes(0..64).unwrap();
    assert_ne!(base, Contents { seed: 2, ..c.clone() }.bytes(0..64).unwrap());
    assert_ne!(base, Contents { argument: "y".into(), ..c.clone() }.bytes(0..64).unwrap());
    assert_eq!(base, c.bytes(0..64).unwrap());
}

#[test]
fn normal_has_mean_and_variance() {
    for (d, scale) in
        [(Distribution::NormalTenth, 0.1), (Distribution::Normal, 1.0), (Distribution::NormalThirty, 30.0)]
    {
        let v = floats(&contents(Scalar::F64, d), 100_000);
        let mean = v.iter().sum::<f64>() / v.len() as f64;
        let variance = v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / v.len() as f64;
        assert!(mean.abs() < 0.02 * scale, "{d:?} {mean}");
        assert!((variance / (scale * scale) - 1.0).abs() < 0.03, "{d:?} {variance}");
        assert!(v.iter().all(|x| x.abs() <= 6.0 * scale));
    }
}

#[test]
fn each_distribution_is_what_it_says() {
    for dtype in [Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64] {
        let of = |d| floats(&contents(dtype, d), 4000);
        assert!(of(Distribution::Integers).iter().all(|v| v.fract() == 0.0 && v.abs() <= 8.0));
        let rows = of(Distribution::ConstantRows);
        assert!(rows.chunks(10).all(|r| r.iter().all(|v| *v == r[0])));
        assert!(rows.chunks(10).any(|r| r[0] != rows[0]));
        let zeros = of(Distribution::Sparse).iter().filter(|v| **v == 0.0).count();
        assert!((3600..3850).contains(&zeros), "{zeros}");
        let top = of(Distribution::HeavyTail).iter().fold(0.0f64, |m, v| m.max(v.abs()));
        assert!(top > 100.0 && top.is_finite(), "{top}");
        let least = contents(dtype, Distribution::Denormals).least_normal();
        let denormal = of(Distribution::Denormals).iter().filter(|v| v.abs() < least).count();
        assert!((2850..3150).contains(&denormal), "{dtype:?} {denormal}");
        assert!(of(Distribution::Denormals).iter().any(|v| *v != 0.0 && v.abs() < least), "{dtype:?}");
        assert!(of(Distribution::Infinite).iter().all(|v| v.is_finite()));
        let c = Contents { infinite: true, ..contents(dtype, Distribution::Infinite) };
        let infinite = floats(&c, 4000).iter().filter(|v| v.is_infinite()).count();
        assert!((30..100).contains(&infinite), "{infinite}");
        assert!(!floats(&c, 4000).iter().any(|v| v.is_nan()));
        let c = Contents { nan: true, ..contents(dtype, Distribution::Infinite) };
        let none = floats(&c, 4000).iter().filter(|v| v.is_nan()).count();
        assert!((30..110).contains(&none) && floats(&c, 4000).iter().all(|v| !v.is_infinite()), "{none}");
        // Large and small magnitudes are drawn where a range says that they are legal, and only there.
        let c = Contents { legal: Some(Legal::Float(-4e4, 3e4)), ..contents(dtype, Distribution::Skewed) };
        let v = floats(&c, 4000);
        assert!(v.iter().any(|v| *v > 2e4) && v.iter().any(|v| *v < -3e4) && v.contains(&0.0));
        assert!(v.iter().any(|v| *v != 0.0 && v.abs() < 1e-3));
        assert!(of(Distribution::Skewed).iter().all(|v| v.abs() < 7.0));
    }
}

#[test]
fn legal_ranges_hold_for_every_distribution() {
    for d in Distribution::ALL {
        for dtype in [Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64] {
            let c = Contents { legal: Some(Legal::Float(0.3, 0.7)), ..contents(dtype, d) };
            assert!(floats(&c, 500).iter().all(|v| (0.3..=0.7).contains(v)), "{d:?} {dtype:?}");
        }
        for dtype in [Scalar::I8, Scalar::U16, Scalar::I32, Scalar::U64] {
            let c = Contents { legal: Some(Legal::Int(3, 9)), ..contents(dtype, d) };
            let v = ints(&c, 500);
            assert!(v.iter().all(|v| (3..=9).contains(v)), "{d:?} {dtype:?}");
        }
        let free = ints(&contents(Scalar::U8, d), 500);
        assert!(free.iter().all(|v| (0..=200).contains(v)), "{d:?}");
        assert!(ints(&contents(Scalar::Bool, d), 500).iter().all(|v| (0..=1).contains(v)), "{d:?}");
    }
}

#[test]
fn skewed_indices_meet_and_reach_both_ends() {
    let c = Contents { legal: Some(Legal::Int(0, 999)), ..contents(Scalar::I32, Distribution::Skewed) };
    let v = ints(&c, 2000);
    let mut counts = std::collections::BTreeMap::new();
    v.iter().for_each(|x| *counts.entry(*x).or_insert(0) += 1);
    assert!(*counts.values().max().unwrap() > 1200, "{counts:?}");
    assert!(counts.contains_key(&0) && counts.contains_key(&999));
}

#[test]
fn what_cannot_be_made_is_an_error() {
    assert!(matches!(contents(Scalar::F8, Distribution::Normal).bytes(0..1), Err(GenerateError::Unsupported(_))));
    let c = Contents { legal: Some(Legal::Int(5, 4)), ..contents(Scalar::I32, Distribution::Integers) };
    assert_eq!(c.bytes(0..1), Err(GenerateError::Empty));
    let c = Contents { legal: Some(Legal::Int(300, 400)), ..contents(Scalar::U8, Distribution::Integers) };
    assert_eq!(c.bytes(0..1), Err(GenerateError::Empty));
    let c = Contents { legal: Some(Legal::Float(1.0, 0.0)), ..contents(Scalar::F32, Distribution::Normal) };
    assert_eq!(c.bytes(0..1), Err(GenerateError::Empty));
}
