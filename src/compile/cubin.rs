//! CUBINs: ELF files with machine code for one architecture. What is read of them is what a launch needs: the kernels, the
//! sizes of their parameters, what they take of a multiprocessor, and the variables of the module.
//!
//! The attributes in the sections `.nv.info` are not published by NVIDIA. The numbers below were taken from CUBINs of
//! kernels with known parameters, for `sm_75` to `sm_120`, and a CUBIN that has none of them is refused.

use object::elf::{self, FileHeader64};
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym, SymbolTable};

use super::KernelResources;

type Header = FileHeader64<LittleEndian>;

/// What a CUBIN says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cubin {
    /// `sm_90`; the architecture-specific `sm_90a` calls itself so as well.
    pub arch: String,
    /// In order of their symbols.
    pub kernels: Vec<Kernel>,
    /// Variables of the module, in order of their symbols.
    pub variables: Vec<Variable>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// The name and what it takes; spills are not known.
    pub resources: KernelResources,
    /// Sizes of the parameters in bytes, in their order.
    pub parameters: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub symbol: String,
    /// Bytes.
    pub size: u64,
    /// In device memory, so that kernels may write it; else in constant memory.
    pub is_global: bool,
}

/// Why a file was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CubinError {
    #[error("this is no CUBIN: {0}")]
    NotOne(String),
    #[error("the CUBIN is a library of relocatable code, which no driver loads")]
    Relocatable,
    #[error("the CUBIN has no kernel")]
    NoKernel,
    #[error("the CUBIN does not say how large the parameters of `{0}` are")]
    Parameters(String),
}

/// `EIATTR_KPARAM_INFO`: index, ordinal and offset, size in the upper 14 bits of the last word.
const KPARAM_INFO: u8 = 0x17;
/// The same for parameters of more than 4 KiB, with the size as a word.
const KPARAM_INFO_2: u8 = 0x45;
/// `EIATTR_CBANK_PARAM_SIZE`: bytes of all parameters.
const PARAM_BYTES: u8 = 0x19;
/// `EIATTR_REGCOUNT`: symbol, registers of a thread.
const REGISTERS: u8 = 0x2f;
/// `EIATTR_FRAME_SIZE`: symbol, bytes of a thread's stack.
const FRAME: u8 = 0x11;
/// `EIATTR_NUM_BARRIERS`.
const BARRIERS: u8 = 0x4c;
/// Attributes that carry bytes of their own.
const SIZED: u8 = 4;
/// `STO_CUDA_ENTRY`: a kernel; functions that kernels call do not have it.
const ENTRY: u8 = 0x10;
/// Shared memory that the system keeps for itself in every block, counted in the section from `sm_90` on.
const RESERVED_SHARED: u64 = 1024;

/// Reads a CUBIN.
///
/// # Errors
/// See [`CubinError`].
pub fn read(bytes: &[u8]) -> Result<Cubin, CubinError> {
    let not_one = |e: object::read::Error| CubinError::NotOne(e.to_string());
    let header = Header::parse(bytes).map_err(not_one)?;
    if header.e_machine(LittleEndian) != elf::EM_CUDA {
        return Err(CubinError::NotOne("an ELF file for another machine".to_owned()));
    }
    if header.e_type(LittleEndian) == elf::ET_REL {
        return Err(CubinError::Relocatable);
    }
    let sections = header.sections(LittleEndian, bytes).map_err(not_one)?;
    let symbols = sections.symbols(LittleEndian, bytes, elf::SHT_SYMTAB).map_err(not_one)?;
    let file = File { bytes, sections, symbols, arch: arch(header) };
    let kernels = file.kernels()?;
    if kernels.is_empty() {
        return Err(CubinError::NoKernel);
    }
    Ok(Cubin { arch: format!("sm_{}", file.arch), kernels, variables: file.variables() })
}

impl Cubin {
    /// The kernel of this symbol.
    pub fn kernel(&self, symbol: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.resources.symbol == symbol)
    }
}

/// The number of the architecture: in the second byte of the flags from ABI version 8 on, in the first before.
fn arch(header: &Header) -> u32 {
    let flags = header.e_flags(LittleEndian).0;
    if header.e_ident().abi_version >= 8 { (flags >> 8) & 0xff } else { flags & 0xff }
}

struct File<'d> {
    bytes: &'d [u8],
    sections: SectionTable<'d, Header>,
    symbols: SymbolTable<'d, Header>,
    arch: u32,
}

impl<'d> File<'d> {
    fn section_name(&self, s: &'d <Header as FileHeader>::SectionHeader) -> &'d str {
        self.sections.section_name(LittleEndian, s).ok().and_then(|n| std::str::from_utf8(n).ok()).unwrap_or("")
    }

    fn section(&self, name: &str) -> Option<&'d <Header as FileHeader>::SectionHeader> {
        self.sections.iter().find(|s| self.section_name(s) == name)
    }

    fn attributes(&self, section: &str) -> Vec<Attribute<'d>> {
        let data = self.section(section).and_then(|s| s.data(LittleEndian, self.bytes).ok());
        data.map(attributes).unwrap_or_default()
    }

    fn kernels(&self) -> Result<Vec<Kernel>, CubinError> {
        let whole = self.attributes(".nv.info");
        let mut found = vec![];
        for (index, symbol) in self.symbols.iter().enumerate() {
            let name = symbol.name(LittleEndian, self.symbols.strings()).ok().and_then(|n| std::str::from_utf8(n).ok());
            let entry = symbol.st_type() == elf::STT_FUNC && symbol.st_other().0 & ENTRY != 0;
            let Some(name) = name.filter(|_| entry) else { continue };
            let own = self.attributes(&format!(".nv.info.{name}"));
            let bytes = own.iter().find(|a| a.kind == PARAM_BYTES).map_or(0, |a| a.short);
            let parameters = parameters(&own).filter(|p| p.is_empty() == (bytes == 0));
            let parameters = parameters.ok_or_else(|| CubinError::Parameters(name.to_owned()))?;
            let counted = |kind: u8| {
                let mine = |a: &&Attribute| a.kind == kind && a.word(0) == u32::try_from(index).ok();
                whole.iter().find(mine).and_then(|a| a.word(1)).unwrap_or(0)
            };
            let barriers = own.iter().find(|a| a.kind == BARRIERS).map_or(0, |a| u32::from(a.short & 0xff));
            let resources = KernelResources {
                symbol: name.to_owned(),
                name: name.to_owned(),
                registers: counted(REGISTERS),
                stack: counted(FRAME),
                shared: self.shared(name),
                barriers,
                ..KernelResources::default()
            };
            found.push(Kernel { resources, parameters });
        }
        found.sort_by(|a, b| a.resources.symbol.cmp(&b.resources.symbol));
        Ok(found)
    }

    /// Bytes of static shared memory.
    fn shared(&self, kernel: &str) -> u32 {
        let size = self.section(&format!(".nv.shared.{kernel}")).map_or(0, |s| s.sh_size(LittleEndian));
        let reserved = if self.arch >= 90 { RESERVED_SHARED } else { 0 };
        u32::try_from(size.saturating_sub(reserved)).unwrap_or(u32::MAX)
    }

    fn variables(&self) -> Vec<Variable> {
        let mut found = vec![];
        for symbol in self.symbols.iter().filter(|s| s.st_type() == elf::STT_OBJECT) {
            let index = object::SectionIndex(usize::from(symbol.st_shndx(LittleEndian).0));
            let section = self.sections.section(index).map(|s| self.section_name(s)).unwrap_or("");
            let is_global = section == ".nv.global" || section == ".nv.global.init";
            if !is_global && section != ".nv.constant3" {
                continue;
            }
            let name = symbol.name(LittleEndian, self.symbols.strings()).ok().and_then(|n| std::str::from_utf8(n).ok());
            let size = symbol.st_size(LittleEndian);
            found.extend(name.map(|n| Variable { symbol: n.to_owned(), size, is_global }));
        }
        found.sort_by(|a, b| a.symbol.cmp(&b.symbol));
        found
    }
}

/// One entry of `.nv.info`.
struct Attribute<'d> {
    kind: u8,
    /// The value of an entry without bytes of its own, else their number.
    short: u16,
    data: &'d [u8],
}

impl Attribute<'_> {
    fn word(&self, n: usize) -> Option<u32> {
        let bytes = self.data.get(4 * n..4 * n + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    fn half(&self, n: usize) -> Option<u16> {
        let bytes = self.data.get(2 * n..2 * n + 2)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    }
}

fn attributes(mut rest: &[u8]) -> Vec<Attribute<'_>> {
    let mut found = vec![];
    while let [format, kind, low, high, after @ ..] = rest {
        let short = u16::from_le_bytes([*low, *high]);
        let length = if *format == SIZED { usize::from(short) } else { 0 };
        let Some(data) = after.get(..length) else { break };
        found.push(Attribute { kind: *kind, short, data });
        rest = after.get(length..).unwrap_or(&[]);
    }
    found
}

/// Sizes in their order; `None` where an ordinal is missing.
fn parameters(own: &[Attribute]) -> Option<Vec<u32>> {
    let size = |a: &Attribute| match a.kind {
        KPARAM_INFO => a.word(2).map(|w| w >> 18),
        KPARAM_INFO_2 => a.word(2),
        _ => None,
    };
    let mut found: Vec<(u16, u32)> = own.iter().filter_map(|a| a.half(2).zip(size(a))).collect();
    found.sort_unstable();
    let complete = found.iter().enumerate().all(|(n, (ordinal, _))| usize::from(*ordinal) == n);
    complete.then(|| found.into_iter().map(|(_, size)| size).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The source of all: `tests/data/cubin/kernels.cu`, compiled by nvcc 13.5 for each architecture.
    const OLD: &[u8] = include_bytes!("../../tests/data/cubin/kernels.sm_75.cubin");
    const NEW: &[u8] = include_bytes!("../../tests/data/cubin/kernels.sm_90a.cubin");

    #[test]
    fn kernels_and_their_parameters_are_read() {
        for (bytes, arch) in [(OLD, "sm_75"), (NEW, "sm_90")] {
            let cubin = read(bytes).unwrap();
            assert_eq!(cubin.arch, arch);
            let sizes = |name: &str| cubin.kernel(name).unwrap().parameters.clone();
            assert_eq!(sizes("_Z3twoPKfPfi1Pcs"), [8, 8, 4, 24, 1, 2]);
            assert_eq!(sizes("_Z5scaleIdEvPT_S0_"), [8, 8]);
            assert!(sizes("_Z4nonev").is_empty());
            assert_eq!(cubin.kernels.len(), 3, "the function that a kernel calls is none");
            let two = &cubin.kernel("_Z3twoPKfPfi1Pcs").unwrap().resources;
            assert_eq!((two.shared, two.stack), (160, 0));
            assert!((8..64).contains(&two.registers), "{two:?}");
            let variables: Vec<_> = cubin.variables.iter().map(|v| (v.symbol.as_str(), v.size, v.is_global)).collect();
            assert_eq!(variables, [("counter", 4, true), ("taps", 20, false)]);
        }
    }

    #[test]
    fn parameters_of_more_than_four_kilobytes_are_read() {
        let large = include_bytes!("../../tests/data/cubin/large.sm_90.cubin");
        assert_eq!(read(large).unwrap().kernels[0].parameters, [6000, 8, 4]);
    }

    #[test]
    fn what_is_no_cubin_is_named() {
        assert!(matches!(read(b""), Err(CubinError::NotOne(_))));
        assert!(matches!(read(b".version 8.0"), Err(CubinError::NotOne(_))));
        let mut other = OLD.to_vec();
        other[18] = 62;
        assert!(matches!(read(&other), Err(CubinError::NotOne(_))));
        let mut relocatable = OLD.to_vec();
        relocatable[16] = 1;
        assert_eq!(read(&relocatable), Err(CubinError::Relocatable));
    }

    #[test]
    fn a_damaged_one_gives_no_panic() {
        for n in (0..NEW.len()).step_by(7) {
            let _ = read(&NEW[..n]);
            let mut bytes = NEW.to_vec();
            bytes[n] ^= 0xff;
            let _ = read(&bytes);
        }
    }
}
