//! A plan for one cell: sizes in bytes, contents, and launches with numbers and bound arguments, ready to be executed.

use std::collections::BTreeMap;
use std::ops::Range;

use super::args::{Arg, Bound, Init, Role};
use super::cells::Cell;
use super::error::{ContractError, Field};
use super::expr::Expr;
use super::generate::{Contents, Distribution, Legal};
use super::plan::{Argument, BufferRef, Launch, Plan, Step};
use super::proposed::OpenKind;
use super::small_float::{BF16, F16};
use super::vary::{Number, overlap, scalar_value, shared};
use crate::ir::Scalar;
use crate::source::Span;

/// Everything that an executor needs for one run of a computation.
#[derive(Clone, Debug, PartialEq)]
pub struct ConcretePlan {
    /// A [`Binding::Buffer`] names one by its index.
    pub buffers: Vec<ConcreteBuffer>,
    pub steps: Vec<ConcreteStep>,
}

/// Device memory with what stands in it before the first step.
#[derive(Clone, Debug, PartialEq)]
pub struct ConcreteBuffer {
    pub name: String,
    pub role: Role,
    pub dtype: Scalar,
    pub elements: u64,
    /// `elements` times the size of `dtype`; may be 0.
    pub bytes: u64,
    /// Alignment of the first byte; what cudaMalloc gives where the contract promises nothing.
    pub align: u64,
    pub start: Start,
    /// Elements that the computation may write, and, where it is an output, all of which it does write.
    pub writes: Range<u64>,
    /// The variable of the module that it is; `None` is memory of its own.
    pub symbol: Option<String>,
}

/// Contents before the first step.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    Zero,
    /// Every byte is this one.
    Poison(u8),
    Contents(Contents),
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConcreteStep {
    Launch(ConcreteLaunch),
    Fill { buffer: usize, offset: u64, bytes: u64, byte: u8 },
    Copy { from: usize, from_offset: u64, to: usize, to_offset: u64, bytes: u64 },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ConcreteLaunch {
    pub kernel: String,
    pub template: Vec<String>,
    /// x, y, z. A launch with an empty axis is an error of the driver that leaves all memory as it is: see
    /// [`ConcreteLaunch::runs`].
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    pub cluster: Option<[u32; 3]>,
    pub args: Vec<Binding>,
    pub initialises: bool,
}

/// The value of one kernel parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    /// The address of a buffer plus bytes.
    Buffer {
        buffer: usize,
        offset: u64,
    },
    /// Little-endian bytes of the parameter.
    Scalar {
        dtype: Scalar,
        bytes: Vec<u8>,
    },
    Null,
}

impl ConcreteLaunch {
    /// Whether any thread runs.
    pub fn runs(&self) -> bool {
        self.grid.iter().all(|n| *n > 0)
    }

    pub fn threads_per_block(&self) -> u64 {
        self.block.iter().map(|n| u64::from(*n)).product()
    }
}

impl ConcretePlan {
    /// Bytes of all buffers.
    pub fn bytes(&self) -> u64 {
        self.buffers.iter().fold(0, |sum, b| sum.saturating_add(b.bytes))
    }

    pub fn launches(&self) -> impl Iterator<Item = &ConcreteLaunch> {
        self.steps.iter().filter_map(|s| if let ConcreteStep::Launch(l) = s { Some(l) } else { None })
    }
}

impl ConcreteBuffer {
    /// The bytes of some of its elements before the first step.
    ///
    /// # Errors
    /// As [`Contents::bytes`].
    pub fn start_bytes(&self, elements: Range<u64>) -> Result<Vec<u8>, super::generate::GenerateError> {
        let count = elements.end.saturating_sub(elements.start).saturating_mul(u64::from(self.dtype.bytes()));
        let count = usize::try_from(count).unwrap_or(0);
        match &self.start {
            Start::Zero => Ok(vec![0; count]),
            Start::Poison(byte) => Ok(vec![*byte; count]),
            Start::Contents(c) => c.bytes(elements),
        }
    }
}

/// Alignment of cudaMalloc.
pub const DEVICE_ALIGNMENT: u64 = 256;
/// The poisons of a first and of a second run: not a number in every floating type, and a large finite number.
pub const POISONS: [u8; 2] = [0xff, 0x7b];
const MAX_BYTES: u64 = 1 << 48;

impl Plan {
    /// The plan for one cell.
    ///
    /// # Errors
    /// A dim that the cell does not give or the contract excludes, an open question, an expression without a value, and
    /// numbers that no launch can have.
    pub fn concrete(&self, cell: &Cell) -> Result<ConcretePlan, ContractError> {
        if let Some(open) = self.open().into_iter().find(|o| o.kind == OpenKind::Missing && o.field != "samples") {
            return Err(ContractError::Open(open));
        }
        let values = self.values(cell)?;
        let maker = Maker { plan: self, cell, values };
        let mut buffers =
            self.args.iter().filter(|a| a.is_buffer()).map(|a| maker.buffer(a)).collect::<Result<Vec<_>, _>>()?;
        if cell.overlap {
            overlap(self, &mut buffers);
        }
        let buffers = buffers;
        let steps = self.steps.iter().enumerate().map(|(i, s)| maker.step(i, s, &buffers)).collect::<Result<_, _>>()?;
        Ok(ConcretePlan { buffers, steps })
    }

    /// Dims and integer scalars by name, after the guarantees of the contract were checked.
    fn values(&self, cell: &Cell) -> Result<BTreeMap<String, i64>, ContractError> {
        let mut values = BTreeMap::new();
        for d in &self.dims {
            let value = *cell.dims.get(&d.name).ok_or_else(|| ContractError::NoDim(d.name.clone()))?;
            if let Some(rule) = d.excludes(value) {
                return Err(ContractError::Excluded { dim: d.name.clone(), value, rule });
            }
            values.insert(d.name.clone(), value);
        }
        for r in &self.require {
            let at = Field { table: "the plan".into(), field: "require".into(), span: None };
            let holds = r.eval(&|n| values.get(n).copied()).map_err(|why| ContractError::NoValue { at, why })?;
            if holds == 0 {
                return Err(ContractError::Required(r.to_string()));
            }
        }
        for a in self.args.iter().filter(|a| a.role == Role::Scalar) {
            if let Some(Number::Int(value)) = scalar_value(a, cell, &values)? {
                values.entry(a.name.clone()).or_insert(value);
            }
        }
        Ok(values)
    }
}

pub(super) fn field(a: &Arg, name: &str) -> Field {
    Field { table: format!("args.{}", a.name), field: name.to_owned(), span: a.span }
}

struct Maker<'a> {
    plan: &'a Plan,
    cell: &'a Cell,
    values: BTreeMap<String, i64>,
}

impl Maker<'_> {
    fn eval(&self, e: &Expr, at: &Field) -> Result<i64, ContractError> {
        e.eval(&|n| self.values.get(n).copied()).map_err(|why| ContractError::NoValue { at: at.clone(), why })
    }

    /// A value from 0 to `most`.
    fn count(&self, e: &Expr, at: &Field, most: u64, why: &str) -> Result<u64, ContractError> {
        let value = self.eval(e, at)?;
        match u64::try_from(value) {
            Ok(v) if v <= most => Ok(v),
            Ok(_) => Err(ContractError::Impossible { at: at.clone(), value, why: why.to_owned() }),
            Err(_) => Err(ContractError::Impossible { at: at.clone(), value, why: "it is negative".into() }),
        }
    }

    fn buffer(&self, a: &Arg) -> Result<ConcreteBuffer, ContractError> {
        let at = field(a, "shape");
        let dtype = a.dtype.unwrap_or(Scalar::U8);
        let width = u64::from(dtype.bytes());
        let mut elements = 1u64;
        let mut row = 1;
        for axis in &a.shape {
            row = self.count(axis, &at, MAX_BYTES, "no memory is that large")?;
            elements = elements.saturating_mul(row);
        }
        let bytes = elements.saturating_mul(width);
        if bytes > MAX_BYTES {
            let value = i64::try_from(elements).unwrap_or(i64::MAX);
            return Err(ContractError::Impossible { at, value, why: "no memory is that large".into() });
        }
        let writes = match &a.writes {
            None => 0..elements,
            Some((from, to)) => {
                let at = field(a, "writes");
                let from = self.count(from, &at, elements, "it is beyond the last element")?;
                from..self.count(to, &at, elements, "it is beyond the last element")?.max(from)
            }
        };
        let start = match a.init() {
            Init::Zero => Start::Zero,
            Init::Poison => Start::Poison(POISONS.get(usize::from(self.cell.poison)).copied().unwrap_or(POISONS[0])),
            Init::Keep => Start::Contents(self.contents(a, dtype, row)?),
        };
        let align = a.align.unwrap_or(DEVICE_ALIGNMENT);
        let symbol = a.symbol.clone();
        Ok(ConcreteBuffer { name: a.name.clone(), role: a.role, dtype, elements, bytes, align, start, writes, symbol })
    }

    fn contents(&self, a: &Arg, dtype: Scalar, row: u64) -> Result<Contents, ContractError> {
        let at = field(a, "legal");
        let legal = match &a.legal {
            None => None,
            Some((Bound::Int(lo), Bound::Int(hi))) => Some(Legal::Int(self.eval(lo, &at)?, self.eval(hi, &at)?)),
            Some((lo, hi)) => {
                let float = |b: &Bound| match b {
                    Bound::Float(v) => Ok(*v),
                    Bound::Int(e) => self.eval(e, &at).map(|v| v as f64),
                };
                Some(Legal::Float(float(lo)?, float(hi)?))
            }
        };
        let contents = Contents {
            dtype,
            distribution: distribution_of(a, self.cell.distribution),
            seed: self.cell.seed,
            argument: a.name.clone(),
            row,
            legal,
            infinite: a.infinite,
            nan: a.nan,
        };
        // Whether there are legal contents at all is known without making them; an empty range of no elements is none.
        let none = self.plan.arg(&a.name).is_none() || row == 0;
        if !none {
            contents.bytes(0..1).map_err(|why| ContractError::Contents { at: field(a, "legal"), why })?;
        }
        Ok(contents)
    }

    fn step(&self, index: usize, step: &Step, buffers: &[ConcreteBuffer]) -> Result<ConcreteStep, ContractError> {
        let table = format!("step {}", index + 1);
        let at = |name: &str, span: Option<Span>| Field { table: table.clone(), field: name.to_owned(), span };
        match step {
            Step::Launch(l) => self.launch(l, buffers).map(ConcreteStep::Launch),
            Step::Fill { buffer, byte, bytes } => {
                let at = at("fill", None);
                let (buffer, offset, left) = self.place(buffer, &at, buffers)?;
                let bytes = self.length(bytes.as_ref(), left, &at)?;
                Ok(ConcreteStep::Fill { buffer, offset, bytes, byte: *byte })
            }
            Step::Copy { from, to, bytes } => {
                let at = at("copy", None);
                let (from, from_offset, left) = self.place(from, &at, buffers)?;
                let (to, to_offset, room) = self.place(to, &at, buffers)?;
                let bytes = self.length(bytes.as_ref(), left.min(room), &at)?;
                Ok(ConcreteStep::Copy { from, from_offset, to, to_offset, bytes })
            }
        }
    }

    fn length(&self, bytes: Option<&Expr>, left: u64, at: &Field) -> Result<u64, ContractError> {
        bytes.map_or(Ok(left), |e| self.count(e, at, left, "it goes beyond the end of the buffer"))
    }

    /// Index of a buffer, offset in bytes, and bytes from there to its end.
    fn place(&self, r: &BufferRef, at: &Field, buffers: &[ConcreteBuffer]) -> Result<(usize, u64, u64), ContractError> {
        let group = self.plan.alias.iter().find(|g| self.cell.overlap && g.contains(&r.buffer));
        let found = match group.and_then(|g| shared(g, buffers)) {
            Some(n) => buffers.get(n).map(|b| (n, b)),
            None => buffers.iter().enumerate().find(|(_, b)| b.name == r.buffer),
        };
        let (index, buffer) =
            found.ok_or_else(|| ContractError::NoBuffer { at: at.clone(), name: r.buffer.clone() })?;
        let elements = match &r.offset {
            None => 0,
            Some(e) => self.count(e, at, buffer.elements, "it is beyond the end of the buffer")?,
        };
        let offset = elements.saturating_mul(u64::from(buffer.dtype.bytes()));
        Ok((index, offset, buffer.bytes.saturating_sub(offset)))
    }

    fn launch(&self, l: &Launch, buffers: &[ConcreteBuffer]) -> Result<ConcreteLaunch, ContractError> {
        let at = |name: &str, span: Option<Span>| Field {
            table: format!("the launch of `{}`", l.kernel),
            field: name.to_owned(),
            span: span.or(l.spans.whole),
        };
        let grid = self.axes(&l.grid, &at("grid", l.spans.grid), [i32::MAX as u64, 65_535, 65_535])?;
        let block_at = at("block", l.spans.block);
        let block = self.axes(&l.block, &block_at, [1024, 1024, 64])?;
        let threads: u64 = block.iter().map(|n| u64::from(*n)).product();
        if threads == 0 || threads > 1024 {
            let why = "a block has from 1 to 1024 threads".to_owned();
            return Err(ContractError::Impossible { at: block_at, value: threads as i64, why });
        }
        let shared_at = at("shared", l.spans.shared);
        let shared = l
            .shared
            .as_ref()
            .map_or(Ok(0), |e| self.count(e, &shared_at, 228 << 10, "no block has so much shared memory"))?;
        let cluster =
            if l.cluster.is_empty() { None } else { Some(self.axes(&l.cluster, &at("cluster", None), [16; 3])?) };
        let args =
            l.args.iter().enumerate().map(|(i, a)| self.binding(a, &at("args", l.spans.args.get(i).copied()), buffers));
        Ok(ConcreteLaunch {
            kernel: l.kernel.clone(),
            template: l.template.clone(),
            grid,
            block,
            shared: u32::try_from(shared).unwrap_or(u32::MAX),
            cluster,
            args: args.collect::<Result<_, _>>()?,
            initialises: l.initialises,
        })
    }

    fn axes(&self, list: &[Expr], at: &Field, most: [u64; 3]) -> Result<[u32; 3], ContractError> {
        let mut found = [1; 3];
        for ((slot, e), most) in found.iter_mut().zip(list).zip(most) {
            *slot =
                u32::try_from(self.count(e, at, most, &format!("at most {most} are possible"))?).unwrap_or(u32::MAX);
        }
        Ok(found)
    }

    fn binding(&self, a: &Argument, at: &Field, buffers: &[ConcreteBuffer]) -> Result<Binding, ContractError> {
        match a {
            Argument::Buffer(r) => {
                self.place(r, at, buffers).map(|(buffer, offset, _)| Binding::Buffer { buffer, offset })
            }
            Argument::Int { dtype, value } => integer(*dtype, self.eval(value, at)?, at),
            Argument::Float { dtype, value } => Ok(real(*dtype, *value)),
            Argument::Null | Argument::Open => Ok(Binding::Null),
            Argument::Scalar(name) => {
                let arg = self.plan.arg(name).filter(|a| a.role == Role::Scalar);
                let arg = arg.ok_or_else(|| ContractError::NoScalar { at: at.clone(), name: name.clone() })?;
                let dtype = arg.dtype.unwrap_or(Scalar::I32);
                match scalar_value(arg, self.cell, &self.values)? {
                    Some(Number::Int(v)) => integer(dtype, v, &field(arg, "value")),
                    Some(Number::Float(v)) => Ok(real(dtype, v)),
                    None => Err(ContractError::NoScalar { at: at.clone(), name: name.clone() }),
                }
            }
        }
    }
}

/// Which contents an argument gets in a cell: that of the cell, or one that the contract allows for it.
pub(super) fn distribution_of(a: &Arg, wanted: Distribution) -> Distribution {
    let own = &a.distribution;
    if own.is_empty() || own.contains(&wanted) {
        return wanted;
    }
    let nth = Distribution::ALL.iter().position(|d| *d == wanted).unwrap_or(0);
    own.get(nth % own.len()).copied().unwrap_or(wanted)
}

fn integer(dtype: Scalar, value: i64, at: &Field) -> Result<Binding, ContractError> {
    if dtype.is_float() {
        return Ok(real(dtype, value as f64));
    }
    let bits = 8 * dtype.bytes();
    let (lo, hi) = match dtype {
        Scalar::Bool => (0, 1),
        s if s.is_unsigned() => (0, (1i128 << bits) - 1),
        _ => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
    };
    if !(lo..=hi).contains(&i128::from(value)) {
        let why = format!("it does not fit {}", dtype.name());
        return Err(ContractError::Impossible { at: at.clone(), value, why });
    }
    let bytes = value.to_le_bytes().get(..dtype.bytes() as usize).unwrap_or(&[]).to_vec();
    Ok(Binding::Scalar { dtype, bytes })
}

fn real(dtype: Scalar, value: f64) -> Binding {
    let bytes = match dtype {
        Scalar::F16 => F16.encode(value).to_le_bytes().to_vec(),
        Scalar::BF16 => BF16.encode(value).to_le_bytes().to_vec(),
        Scalar::F32 => (value as f32).to_le_bytes().to_vec(),
        _ => value.to_le_bytes().to_vec(),
    };
    Binding::Scalar { dtype, bytes }
}
