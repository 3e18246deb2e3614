//! Chooses the vector instructions of the CPU once for each turn of a warp.

use super::context::{Altered, Context, Full, Plain};
use super::turn::run_warp;
use super::warp::Warp;

/// Which instance of the dispatch loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instance {
    Plain,
    Full,
    Altered,
}

/// What the CPU offers, asked once for each launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Base,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Level {
    pub fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2") {
            return Level::Avx2;
        }
        Level::Base
    }
}

/// Runs a warp for at most `turn` instructions; true if any ran. The results of both levels are equal: all operations
/// are exact by definition.
pub(crate) fn run(level: Level, instance: Instance, ctx: &mut Context, w: &mut Warp, turn: u32) -> bool {
    match level {
        Level::Base => base(instance, ctx, w, turn),
        // SAFETY: `Level::Avx2` is only made by `detect`, which found these features.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(instance, ctx, w, turn) },
    }
}

/// Old CPUs take the instance with all checks for plain runs too: one copy of the loop less to compile.
fn base(instance: Instance, ctx: &mut Context, w: &mut Warp, turn: u32) -> bool {
    match instance {
        Instance::Altered => run_warp::<Altered>(ctx, w, turn),
        #[cfg(not(target_arch = "x86_64"))]
        Instance::Plain => run_warp::<Plain>(ctx, w, turn),
        _ => run_warp::<Full>(ctx, w, turn),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
fn avx2(instance: Instance, ctx: &mut Context, w: &mut Warp, turn: u32) -> bool {
    match instance {
        Instance::Plain => run_warp::<Plain>(ctx, w, turn),
        Instance::Full => run_warp::<Full>(ctx, w, turn),
        Instance::Altered => run_warp::<Altered>(ctx, w, turn),
    }
}
