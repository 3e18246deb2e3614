//! Bank conflicts of shared tiles, by evaluating the subscripts lane by lane.
//!
//! Shared memory has 32 banks of 4 bytes. The degree of an access is the largest number of different words that lanes of
//! one transaction want from one bank, with all lanes of the warp active; 8-byte accesses take two transactions per warp
//! and 16-byte accesses four. Source: CUDA C++ Programming Guide, shared memory of compute capability 5.x and later.

use std::collections::{BTreeMap, BTreeSet};

use super::Facts;
use super::atom::Atom;
use super::because::{Because, Fact};
use super::poly::Poly;
use super::questions::Missing;
use super::value::Value;
use crate::ir::*;

const BANKS: i128 = 32;

impl Facts<'_> {
    /// The constant that a value is known to be, with the reason.
    pub fn constant(&self, poly: &Poly, known: &super::range::Known) -> Option<(i128, Because)> {
        let (r, why) = known.range(poly);
        (r.lo.is_some() && r.lo == r.hi).then(|| (r.lo.unwrap_or_default(), why))
    }

    /// Extents of a tile, outermost first.
    pub fn extents(&self, tile: TileId) -> Result<Fact<Vec<i128>>, Missing> {
        self.usable()?;
        let f = self.function;
        let t = f.tiles.get(tile.0 as usize).ok_or_else(|| Missing::new("no such tile"))?;
        let span = f.var(t.var).name_span;
        let mut found = vec![];
        let mut because = Because::at(f.var(t.var).span, format!("extents of `{}`", f.var(t.var).name));
        for d in &t.dims {
            let value = d.and_then(|d| self.constant_expr(d, 0));
            let Some((v, why)) = value else {
                return Err(Missing::new("an extent of the tile is not a known constant").at(span, "this tile"));
            };
            because.join(&why);
            found.push(v);
        }
        Ok(Fact::new(found, because))
    }

    /// A constant expression over literals, template values and constants in view.
    pub fn constant_expr(&self, id: ExprId, depth: u32) -> Option<(i128, Because)> {
        if depth > 64 {
            return None;
        }
        let f = self.function;
        match f.kind_of(id) {
            ExprKind::Int(v) => Some((*v, Because::nothing())),
            ExprKind::Cast { operand, ty: Type::Scalar(s), .. } if s.is_integer() => {
                let (v, b) = self.constant_expr(*operand, depth + 1)?;
                (super::value::type_range(*s).lo <= Some(v) && Some(v) <= super::value::type_range(*s).hi)
                    .then_some((v, b))
            }
            ExprKind::Var(v) if f.var(*v).is_constexpr || f.var(*v).is_const => {
                let var = f.var(*v);
                let local = var.kind == VarKind::Local && matches!(var.ty, Type::Scalar(_) | Type::Auto);
                self.constant_expr(var.init.filter(|_| local && !var.is_volatile)?, depth + 1)
            }
            ExprKind::Name(n) if f.template.iter().any(|t| t.name == *n) => {
                self.context.values.get(n).map(|v| (*v, self.context.because.clone()))
            }
            ExprKind::Name(n) => {
                let mut macros = self.unit.constants.iter().filter(|(m, ..)| m == n);
                if let Some((_, v, span)) = macros.next() {
                    let one = macros.all(|(_, o, _)| o == v) && self.macros.is_settled(n, &self.unit.constants);
                    let because = Because::at(*span, format!("`{n}`")).and(&self.macros.reservation(n));
                    return one.then_some((*v, because));
                }
                let mut hits = self
                    .unit
                    .globals
                    .iter()
                    .filter(|g| (g.name == *n || g.qualified == *n) && (g.is_const || g.is_constexpr));
                match (hits.next(), hits.next()) {
                    (Some(g), None) => {
                        let behind = self.macros.behind(g, self.unit)?;
                        Some((g.value?, Because::at(g.span, format!("`{n}`")).and(&behind)))
                    }
                    _ => None,
                }
            }
            ExprKind::Binary { op, left, right } => {
                let (a, x) = self.constant_expr(*left, depth + 1)?;
                let (b, y) = self.constant_expr(*right, depth + 1)?;
                let v = match op {
                    BinaryOp::Add => a.checked_add(b)?,
                    BinaryOp::Sub => a.checked_sub(b)?,
                    BinaryOp::Mul => a.checked_mul(b)?,
                    BinaryOp::Div => a.checked_div(b)?,
                    BinaryOp::Rem => a.checked_rem(b)?,
                    BinaryOp::Shl if (0..31).contains(&b) => a.checked_mul(1 << b)?,
                    BinaryOp::Shr if (0..31).contains(&b) => a >> b,
                    _ => return None,
                };
                // Past 2^31 the type of the arithmetic would matter.
                (v.abs() < 1 << 31).then(|| (v, x.and(&y)))
            }
            _ => None,
        }
    }

    /// The shape of a block, where all three extents are known.
    pub fn block_shape(&self) -> Result<Fact<[i128; 3]>, Missing> {
        self.usable()?;
        let mut shape = [1; 3];
        let mut because = Because::nothing();
        for (slot, axis) in shape.iter_mut().zip([Axis::X, Axis::Y, Axis::Z]) {
            let Some((v, why)) = self.constant(&Poly::atom(Atom::BlockDim(axis)), &self.context.known) else {
                let m = Missing::new("the block shape is not known").at(self.function.name_span, "this kernel");
                return Err(m.next("assume `blockDim.x == 256`, `blockDim.y == 1`, `blockDim.z == 1` in the contract"));
            };
            because.join(&why);
            *slot = v;
        }
        Ok(Fact::new(shape, because))
    }

    /// The worst degree over all accesses of a tile whose rows are `pad` elements longer.
    pub fn bank_degree(&self, tile: TileId, pad: i128) -> Result<Fact<i128>, Missing> {
        let f = self.function;
        let t = f.tiles.get(tile.0 as usize).ok_or_else(|| Missing::new("no such tile"))?;
        if let Some(span) = self.other_use(tile)? {
            return Err(Missing::new("the tile is used otherwise than by its subscripts").at(span, "here"));
        }
        let extents = self.extents(tile)?;
        let shape = self.block_shape()?;
        let mut because = extents.because.clone().and(&shape.because);
        let mut worst = 0;
        for (i, a) in f.accesses.iter().enumerate().filter(|(_, a)| a.base == t.var) {
            let one = self.access_degree(AccessId(i as u32), a, &extents.value, pad, shape.value)?;
            worst = worst.max(one.value);
            because.join(&one.because);
        }
        if worst == 0 { Err(Missing::new("the tile is not accessed")) } else { Ok(Fact::new(worst, because)) }
    }

    fn access_degree(
        &self,
        id: AccessId,
        a: &Access,
        extents: &[i128],
        pad: i128,
        shape: [i128; 3],
    ) -> Result<Fact<i128>, Missing> {
        let (_, state) = self.access(id)?;
        let span = self.function.expr(a.expr).span;
        let fail = |why: &str| Missing::new(why).at(span, "this access");
        let width = i128::from(state.bytes.ok_or_else(|| fail("its width is not known"))?);
        if a.indices.len() != extents.len() || a.through_cast || ![1, 2, 4, 8, 16].contains(&width) {
            return Err(fail("it is not a plain subscript of the tile"));
        }
        let mut because = Because::nothing();
        let mut offset = Poly::zero();
        let mut pitch = width;
        for (n, (index, extent)) in a.indices.iter().zip(extents).enumerate().rev() {
            let Some(Value::Int(v)) = self.walked.value(*index) else {
                return Err(fail("a subscript is not known"));
            };
            if v.modular {
                return Err(fail("a subscript is not known"));
            }
            because.join(&v.because);
            let part = v.poly.scale(pitch).and_then(|p| offset.add(&p));
            offset = part.ok_or_else(|| fail("too large"))?;
            let own = if n + 1 == extents.len() { extent + pad } else { *extent };
            pitch = pitch.checked_mul(own).ok_or_else(|| fail("too large"))?;
        }
        let [x, y, z] = shape;
        let threads = x.checked_mul(y).and_then(|p| p.checked_mul(z)).filter(|t| (1..=1024).contains(t));
        let threads = threads.ok_or_else(|| fail("the block has more than 1024 threads"))?;
        let mut worst = 0;
        let mut warp = 0;
        while warp < threads {
            let lanes: Vec<i128> = (warp..threads.min(warp + 32)).collect();
            let bytes = self
                .lane_bytes(&offset, &lanes, shape, width, &state.place.known)
                .ok_or_else(|| fail("lanes of one warp differ by something that is not a constant"))?;
            worst = worst.max(degree(&bytes, width));
            warp += 32;
        }
        Ok(Fact::new(worst, because))
    }

    /// Byte offsets of the lanes, up to one common multiple of a word.
    fn lane_bytes(
        &self,
        offset: &Poly,
        lanes: &[i128],
        [x, y, _]: [i128; 3],
        width: i128,
        known: &super::range::Known,
    ) -> Option<Vec<i128>> {
        let varies = offset.any_atom(&|a| self.walked.varies(a));
        if varies {
            return None;
        }
        let thread = |axis: &Axis, lane: i128| match axis {
            Axis::X => lane % x,
            Axis::Y => lane / x % y,
            Axis::Z => lane / (x * y),
        };
        let extent = |axis: &Axis| known.interval(&Poly::atom(Atom::BlockDim(*axis))).lo;
        let at = |lane: i128| {
            offset.map_atoms(&|a| match a {
                Atom::Thread(axis) => Some(Poly::constant(thread(axis, lane))),
                Atom::BlockDim(axis) => extent(axis).map(Poly::constant),
                _ => None,
            })
        };
        let lane = *lanes.first()?;
        let first = at(lane)?;
        let base = match (first.as_constant(), width < 4) {
            (Some(c), _) => c,
            (None, true) => known.residue(4, &first)?.0,
            (None, false) => 0,
        };
        // What does not depend on the lane falls out of every difference.
        let moving = offset.terms_with(&|a| matches!(a, Atom::Thread(_)));
        let sizes = [extent(&Axis::X), extent(&Axis::Y), extent(&Axis::Z)];
        let number = |lane: i128| {
            moving.evaluate(&|a| match a {
                Atom::Thread(axis) => Some(thread(axis, lane)),
                Atom::BlockDim(axis) => sizes[*axis as usize],
                _ => None,
            })
        };
        let difference = |l: i128| match number(l).zip(number(lane)) {
            Some((value, before)) => value.checked_sub(before),
            None => at(l)?.sub(&first)?.as_constant(),
        };
        lanes.iter().map(|l| difference(*l)?.checked_add(base)).collect()
    }
}

fn degree(bytes: &[i128], width: i128) -> i128 {
    let per_transaction = usize::try_from((BANKS * 4 / width.max(4)).min(32)).unwrap_or(32);
    let mut worst = 0;
    for group in bytes.chunks(per_transaction.max(1)) {
        let mut words: BTreeMap<i128, BTreeSet<i128>> = BTreeMap::new();
        for b in group {
            let first = b.div_euclid(4);
            let last = (b + width - 1).div_euclid(4);
            for w in first..=last {
                words.entry(w.rem_euclid(BANKS)).or_default().insert(w);
            }
        }
        worst = worst.max(words.values().map(|w| w.len() as i128).max().unwrap_or(0));
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_of_known_patterns() {
        let lanes = |f: fn(i128) -> i128| (0..32).map(f).collect::<Vec<_>>();
        assert_eq!(degree(&lanes(|l| 4 * l), 4), 1);
        assert_eq!(degree(&lanes(|_| 0), 4), 1, "one word for all is a broadcast");
        assert_eq!(degree(&lanes(|l| 128 * l), 4), 32);
        assert_eq!(degree(&lanes(|l| 132 * l), 4), 1);
        assert_eq!(degree(&lanes(|l| 8 * l), 4), 2);
        assert_eq!(degree(&lanes(|l| 8 * l), 8), 1);
        assert_eq!(degree(&lanes(|l| 16 * l), 16), 1);
        assert_eq!(degree(&lanes(|l| 2 * l), 2), 1);
    }
}
