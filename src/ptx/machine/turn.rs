//! A turn of one warp: which of its groups of lanes runs, and for how long.

use super::context::{Config, Context};
use super::step::{Stop, run_group};
use super::warp::{State, Warp};

/// Instructions a group may run before others of its warp get a turn.
const GROUP_TURN: u32 = 4096;

/// Runs a warp until all its groups wait or `turn` is used up. True if anything ran.
#[inline(always)]
pub(crate) fn run_warp<C: Config>(ctx: &mut Context, w: &mut Warp, mut turn: u32) -> bool {
    let before = turn;
    let mut oldest = false;
    while turn > 0 && ctx.halt.is_none() {
        let Some(mut group) = w.pick(oldest) else { break };
        let limit = if oldest { u32::MAX } else { w.limit(&group) };
        let given = if w.groups.is_empty() { turn } else { turn.min(GROUP_TURN) };
        let (stop, left) = run_group::<C>(ctx, w, &mut group, limit, given);
        let used = given - left;
        turn -= used;
        w.clock += u64::from(used) + 1;
        group.ran = w.clock;
        oldest = stop == Stop::Turn;
        match stop {
            Stop::Exited => {}
            Stop::Halt => break,
            Stop::Rejoin | Stop::Turn => w.groups.push(group),
            Stop::Blocked => {
                let yielded = group.state == State::Yielded;
                w.absorb(&mut group);
                if yielded {
                    group.state = State::Ready;
                    oldest = true;
                    w.groups.push(group);
                    if w.groups.len() == 1 {
                        break;
                    }
                    continue;
                }
                w.groups.push(group);
                super::exec::warp_ops::settle(w, &ctx.program.code);
            }
        }
    }
    let used = before - turn;
    ctx.steps += u64::from(used);
    if u64::from(used) > ctx.fuel {
        ctx.fuel = 0;
    } else {
        ctx.fuel -= u64::from(used);
    }
    used > 0
}
