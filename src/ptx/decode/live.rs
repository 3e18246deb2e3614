//! Registers that a thread may read before it wrote them.
//!
//! They hold zero then, whatever block ran before on the same worker. A program that calls functions is not followed: all
//! its registers count.

use super::flow::{Flow, Place, flow};
use super::op::{Inst, NEGATED, Op};
use super::program::Program;

/// Straight pieces of code, by their first instruction, with what each needs and sets.
struct Piece {
    end: usize,
    /// Bits of registers read before they are written here; written here for certain.
    needs: Vec<u64>,
    sets: Vec<u64>,
    next: [Option<usize>; 2],
}

/// Word and wide registers that may be read before they are written.
pub(crate) fn unset(program: &Program) -> Vec<Place> {
    let calls = [Op::Call, Op::CallIndirect, Op::BraIndexed].iter().any(|op| program.uses(*op));
    let (words, wides) = (usize::from(program.r), usize::from(program.q));
    let given = |place: &Place| match place {
        Place::Word(r) => *r == 0 || program.values32.iter().any(|v| v.0 == *r),
        Place::Wide(r) => *r == 0 || program.values64.iter().any(|v| v.0 == *r),
        Place::Predicate(_) => true,
    };
    let all = (0..words).map(|r| Place::Word(r as u16)).chain((0..wides).map(|r| Place::Wide(r as u16)));
    if calls || program.functions.len() != 1 {
        return all.filter(|place| !given(place)).collect();
    }
    let entry = program.functions.first().map_or(0, |f| f.entry as usize);
    let live = live_at(program, entry, (words, wides));
    all.enumerate()
        .filter(|(bit, _)| live.get(bit / 64).is_some_and(|b| b >> (bit % 64) & 1 != 0))
        .map(|(_, place)| place)
        .filter(|place| !given(place))
        .collect()
}

/// The bit of a register. An operand that may be of either file is named in both.
fn bit(place: Place, (words, wides): (usize, usize)) -> Option<usize> {
    match place {
        Place::Word(r) => Some(usize::from(r)).filter(|r| *r < words),
        Place::Wide(r) => Some(usize::from(r)).filter(|r| *r < wides).map(|r| words + r),
        Place::Predicate(_) => None,
    }
}

fn live_at(program: &Program, entry: usize, files: (usize, usize)) -> Vec<u64> {
    let code = &program.code;
    let mut starts = vec![entry, 0];
    for (at, i) in code.iter().enumerate().filter(|(_, i)| i.op == Op::Bra) {
        starts.extend([at + 1, i.off.max(0) as usize]);
    }
    starts.retain(|at| *at < code.len());
    starts.sort_unstable();
    starts.dedup();
    let size = (files.0 + files.1).div_ceil(64);
    let place_of = |at: usize| starts.binary_search(&at).ok();
    let pieces: Vec<Piece> = (0..starts.len())
        .map(|n| {
            let end = starts.get(n + 1).copied().unwrap_or(code.len());
            piece(program, &code[starts[n]..end], end, files, size, &place_of)
        })
        .collect();
    let mut live: Vec<Vec<u64>> = pieces.iter().map(|p| p.needs.clone()).collect();
    loop {
        let mut changed = false;
        for n in (0..pieces.len()).rev() {
            for next in pieces[n].next.into_iter().flatten() {
                let needed = live[next].clone();
                for ((mine, needed), sets) in live[n].iter_mut().zip(needed).zip(&pieces[n].sets) {
                    let more = needed & !sets & !*mine;
                    changed |= more != 0;
                    *mine |= more;
                }
            }
        }
        if !changed {
            break;
        }
    }
    place_of(entry).map_or_else(|| vec![u64::MAX; size], |n| live.swap_remove(n))
}

fn piece(
    program: &Program,
    code: &[Inst],
    end: usize,
    files: (usize, usize),
    size: usize,
    place_of: &impl Fn(usize) -> Option<usize>,
) -> Piece {
    let mut piece = Piece { end, needs: vec![0; size], sets: vec![0; size], next: [None; 2] };
    for i in code {
        let Flow { reads, writes, .. } = flow(program, i);
        for at in named(i).into_iter().chain(reads).filter_map(|r| bit(r, files)) {
            if piece.sets[at / 64] >> (at % 64) & 1 == 0 {
                piece.needs[at / 64] |= 1 << (at % 64);
            }
        }
        let always = i.guard & !NEGATED == 0;
        for at in writes.into_iter().filter_map(|w| bit(w, files)).filter(|_| always) {
            piece.sets[at / 64] |= 1 << (at % 64);
        }
    }
    let last = code.last();
    let goes_on = last.is_none_or(|i| !matches!(i.op, Op::Bra | Op::Exit | Op::Ret) || i.guard & !NEGATED != 0);
    piece.next[0] = if goes_on { place_of(piece.end) } else { None };
    piece.next[1] = last.filter(|i| i.op == Op::Bra).and_then(|i| place_of(i.off.max(0) as usize));
    piece
}

/// Registers beside the operands: member masks, barrier numbers and counts, leading dimensions.
fn named(i: &Inst) -> Vec<Place> {
    match i.op {
        Op::Shuffle if i.off >= 0 => vec![Place::Word(i.off as u16)],
        Op::Vote | Op::Match | Op::Redux | Op::Elect => vec![Place::Word(i.b)],
        Op::WarpSync => vec![Place::Word(i.a)],
        Op::Barrier | Op::BarrierReduce | Op::BarrierArrive => vec![Place::Word(i.a), Place::Word(i.b)],
        Op::CpAsync => vec![Place::Word(i.d)],
        Op::CpAsyncArrive => vec![Place::Word(i.a), Place::Wide(i.a)],
        Op::Mbarrier => vec![Place::Word(i.b), Place::Wide(i.b)],
        Op::Ldmatrix | Op::Stmatrix | Op::WmmaLoad | Op::WmmaStore => vec![Place::Word(i.b), Place::Wide(i.a)],
        _ => vec![],
    }
}
