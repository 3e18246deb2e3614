//! Peaks of named devices, for rooflines. They are data sheets' figures, not measurements: nothing is said of time.

/// What a data sheet promises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// As `--gpu` takes it.
    pub name: &'static str,
    pub arch: &'static str,
    pub multiprocessors: u32,
    /// Bytes per second of device memory.
    pub memory: f64,
    /// Floating-point operations per second in f32 without matrix units.
    pub f32: f64,
    pub source: &'static str,
}

pub const PEAKS: &[Peaks] = &[
    Peaks {
        name: "t4",
        arch: "sm_75",
        multiprocessors: 40,
        memory: 320e9,
        f32: 8.1e12,
        source: "NVIDIA T4 data sheet, 2018",
    },
    Peaks {
        name: "a100-40gb",
        arch: "sm_80",
        multiprocessors: 108,
        memory: 1555e9,
        f32: 19.5e12,
        source: "NVIDIA A100 Tensor Core GPU data sheet, 2020",
    },
    Peaks {
        name: "a100-80gb",
        arch: "sm_80",
        multiprocessors: 108,
        memory: 2039e9,
        f32: 19.5e12,
        source: "NVIDIA A100 80GB SXM data sheet, 2021",
    },
    Peaks {
        name: "l4",
        arch: "sm_89",
        multiprocessors: 58,
        memory: 300e9,
        f32: 30.3e12,
        source: "NVIDIA L4 data sheet, 2023",
    },
    Peaks {
        name: "h100-sxm",
        arch: "sm_90",
        multiprocessors: 132,
        memory: 3.35e12,
        f32: 67e12,
        source: "NVIDIA H100 data sheet, SXM5, 2023",
    },
    Peaks {
        name: "h200-sxm",
        arch: "sm_90",
        multiprocessors: 132,
        memory: 4.8e12,
        f32: 67e12,
        source: "NVIDIA H200 data sheet, SXM, 2024",
    },
];

/// The peaks of a device by name.
pub fn of(name: &str) -> Option<&'static Peaks> {
    PEAKS.iter().find(|p| p.name.eq_ignore_ascii_case(name))
}

impl Peaks {
    /// Operations per byte at which memory and arithmetic peaks meet.
    pub fn ridge(&self) -> f64 {
        self.f32 / self.memory
    }

    /// The floor of a run that reads and writes `bytes` of device memory once and does `flops` operations in f32, in
    /// seconds, and whether memory is what binds.
    pub fn floor(&self, bytes: f64, flops: f64) -> (f64, bool) {
        let (memory, arithmetic) = (bytes / self.memory, flops / self.f32);
        (memory.max(arithmetic), memory >= arithmetic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_of_both_floors_binds() {
        let p = of("A100-40GB").unwrap();
        assert_eq!(p.floor(1555e9, 0.0), (1.0, true));
        assert_eq!(p.floor(0.0, 19.5e12), (1.0, false));
        assert!((p.ridge() - 12.54).abs() < 0.01);
        assert!(of("none").is_none());
        assert!(PEAKS.iter().all(|p| crate::compile::occupancy::limits(p.arch).is_some()));
    }
}
