//! The PyTorch extension: the header's function on tensors, compiled at first use.

use std::fmt::Write as _;

use super::cpp::{element, expr, quoted};
use super::header::header;
use super::interface::{Buffer, Interface};
use super::{ExportError, Exported};
use crate::contract::{Expr, Role};
use crate::ir::Scalar;

/// The files of a Python package, beside the kernel's own: name and text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    pub files: Vec<(String, String)>,
}

/// The package around a kernel.
///
/// # Errors
/// See [`ExportError`].
pub fn torch(exported: &Exported) -> Result<Package, ExportError> {
    let interface = Interface::of(exported)?;
    let files = vec![
        (format!("{}.cuh", exported.name), header(exported)?),
        ("binding.cu".to_owned(), binding(exported, &interface)?),
        ("__init__.py".to_owned(), python(exported, &interface)),
    ];
    Ok(Package { files })
}

/// PyTorch's type of elements.
fn tensor_type(dtype: Scalar) -> &'static str {
    match dtype {
        Scalar::Bool => "at::kBool",
        Scalar::I8 => "at::kChar",
        Scalar::U8 => "at::kByte",
        Scalar::I16 => "at::kShort",
        Scalar::U16 => "at::kUInt16",
        Scalar::I32 => "at::kInt",
        Scalar::U32 => "at::kUInt32",
        Scalar::I64 => "at::kLong",
        Scalar::U64 => "at::kUInt64",
        Scalar::F16 => "at::kHalf",
        Scalar::BF16 => "at::kBFloat16",
        Scalar::F32 => "at::kFloat",
        Scalar::F64 => "at::kDouble",
        Scalar::F8 => "at::kFloat8_e4m3fn",
    }
}

fn python_type(dtype: Scalar) -> &'static str {
    match dtype {
        Scalar::Bool => "bool",
        _ if dtype.is_float() => "float",
        _ => "int",
    }
}

fn c_type(dtype: Scalar) -> &'static str {
    match dtype {
        Scalar::Bool => "bool",
        _ if dtype.is_float() => "double",
        _ => "int64_t",
    }
}

/// Tensors that the caller passes, and those that are made and returned.
fn given(interface: &Interface) -> impl Iterator<Item = &Buffer> {
    interface.passed().filter(|b| b.role != Role::Out)
}

fn made(interface: &Interface) -> impl Iterator<Item = &Buffer> {
    interface.passed().filter(|b| b.role == Role::Out)
}

/// Dims that no tensor shows.
fn asked(interface: &Interface) -> impl Iterator<Item = &str> {
    interface.dims.iter().filter(|d| d.from.is_none()).map(|d| d.name.as_str())
}

const CHECK: &str = "\
static void check(const at::Tensor& t, const char* name, at::ScalarType type, int64_t axes, const at::Device& device) {
    TORCH_CHECK(t.is_cuda(), name, \": expected a CUDA tensor\");
    TORCH_CHECK(t.device() == device, name, \": on another device than the first tensor\");
    TORCH_CHECK(t.scalar_type() == type, name, \": expected \", type, \", not \", t.scalar_type());
    TORCH_CHECK(t.dim() == axes, name, \": expected \", axes, \" axes, not \", t.dim());
    TORCH_CHECK(t.is_contiguous(), name, \": expected a contiguous tensor\");
}
";

fn binding(exported: &Exported, interface: &Interface) -> Result<String, ExportError> {
    let name = exported.name;
    let mut out = format!(
        "// Written by `kopt export` {} for {}; see {name}.cuh.\n\
         #include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDAGuard.h>\n\n\
         #include \"{name}.cuh\"\n\n{CHECK}\n",
        env!("CARGO_PKG_VERSION"),
        exported.file
    );
    let tensors = given(interface).map(|b| format!("at::Tensor {}", b.name));
    let scalars = interface.scalars.iter().map(|s| format!("{} {}", c_type(s.dtype), s.name));
    let dims = asked(interface).map(|d| format!("int64_t {d}"));
    let parameters: Vec<String> = tensors.chain(scalars).chain(dims).collect();
    let _ = writeln!(out, "static std::vector<at::Tensor> call({}) {{", parameters.join(", "));
    let device = given(interface).next().map_or_else(
        || "at::Device(at::kCUDA, c10::cuda::current_device())".to_owned(),
        |b| format!("{}.device()", b.name),
    );
    let _ = writeln!(out, "    const at::Device device = {device};");
    for b in given(interface) {
        let (name, kind) = (&b.name, tensor_type(b.dtype));
        let _ = writeln!(out, "    check({name}, {}, {kind}, {}, device);", quoted(name), b.shape.len());
    }
    for dim in &interface.dims {
        if let Some((buffer, axis)) = &dim.from {
            let _ = writeln!(out, "    const int64_t {} = {buffer}.size({axis});", dim.name);
        }
    }
    for b in given(interface) {
        for (axis, extent) in b.shape.iter().enumerate() {
            let is_source = matches!(extent, Expr::Name(n)
                if interface.dims.iter().any(|d| d.name == *n && d.from.as_ref() == Some(&(b.name.clone(), axis))));
            if !is_source {
                let (name, text) = (&b.name, expr(extent));
                let said = quoted(&format!("{name}: axis {axis} must be {text}"));
                let _ = writeln!(
                    out,
                    "    TORCH_CHECK({name}.size({axis}) == kopt_{}::same({text}), {said});",
                    exported.name
                );
            }
        }
    }
    let _ = writeln!(out, "    const c10::cuda::CUDAGuard guard(device);");
    for b in made(interface) {
        let shape: Vec<String> = b.shape.iter().map(|e| format!("kopt_{name}::same({})", expr(e))).collect();
        let _ = writeln!(
            out,
            "    at::Tensor {} = at::empty({{{}}}, at::TensorOptions().device(device).dtype({}));",
            b.name,
            shape.join(", "),
            tensor_type(b.dtype)
        );
    }
    let mut arguments = vec![];
    for b in interface.passed() {
        let kind = element(&b.name, b.dtype)?;
        arguments.push(match b.role {
            Role::In => format!("static_cast<const {kind}*>({}.const_data_ptr())", b.name),
            _ => format!("static_cast<{kind}*>({}.mutable_data_ptr())", b.name),
        });
    }
    for s in &interface.scalars {
        arguments.push(format!("{}({})", element(&s.name, s.dtype)?, s.name));
    }
    arguments.extend(interface.dims.iter().map(|d| d.name.clone()));
    arguments.push("at::cuda::getCurrentCUDAStream()".to_owned());
    let results: Vec<&str> = made(interface).map(|b| b.name.as_str()).collect();
    let _ = writeln!(
        out,
        "    const char* refused = kopt_{name}::{name}(\n        {});\n    TORCH_CHECK(!refused, {}, refused);\n    return {{{}}};\n}}\n",
        arguments.join(",\n        "),
        quoted(&format!("{name}: ")),
        results.join(", ")
    );
    let _ = writeln!(out, "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n    m.def(\"call\", &call);\n}}");
    Ok(out)
}

fn python(exported: &Exported, interface: &Interface) -> String {
    let name = exported.name;
    let tensors = given(interface).map(|b| (b.name.clone(), "torch.Tensor"));
    let scalars = interface.scalars.iter().map(|s| (s.name.clone(), python_type(s.dtype)));
    let dims = asked(interface).map(|d| (d.to_owned(), "int"));
    let all: Vec<(String, &str)> = tensors.chain(scalars).chain(dims).collect();
    let typed: Vec<String> = all.iter().map(|(n, t)| format!("{n}: {t}")).collect();
    let names: Vec<&str> = all.iter().map(|(n, _)| n.as_str()).collect();
    let results = made(interface).count();
    let (returns, give) = match results {
        0 => ("None", "    _extension().call({})"),
        1 => ("torch.Tensor", "    return _extension().call({})[0]"),
        _ => ("list[torch.Tensor]", "    return _extension().call({})"),
    };
    let mut shapes = String::new();
    for b in interface.passed() {
        let shape: Vec<String> = b.shape.iter().map(Expr::to_string).collect();
        let what = match b.role {
            Role::Out => "returned",
            Role::InOut => "changed in place",
            _ => "read",
        };
        let _ = writeln!(shapes, "        {}: {} of shape ({}), {what}", b.name, b.dtype.name(), shape.join(", "));
    }
    format!(
        "\"\"\"{name}: a CUDA kernel with the checks of its contract.\n\nWritten by `kopt export torch` {version} from {file} (BLAKE3 {hash}).\n\"\"\"\n\n\
         from functools import lru_cache\nfrom pathlib import Path\n\nimport torch\nfrom torch.utils.cpp_extension import load\n\n\
         __all__ = [\"{name}\"]\n\n\n\
         @lru_cache(maxsize=None)\ndef _extension():\n    \"\"\"Compiled at first use, and kept by PyTorch for the next process.\"\"\"\n\
         \x20   here = Path(__file__).resolve().parent\n\
         \x20   # PyTorch takes the operators of 16-bit types away, which kernels use.\n\
         \x20   operators = [\"HALF_OPERATORS\", \"HALF_CONVERSIONS\", \"HALF2_OPERATORS\", \"BFLOAT16_CONVERSIONS\"]\n\
         \x20   flags = [\"-O3\"] + [f\"-U__CUDA_NO_{{o}}__\" for o in operators]\n\
         \x20   return load(\"kopt_{name}_{short}\", [str(here / \"binding.cu\")], extra_cuda_cflags=flags, extra_include_paths=[str(here)])\n\n\n\
         def {name}({typed}) -> {returns}:\n    \"\"\"A call that breaks a promise of the contract raises RuntimeError, and nothing is launched.\n\n\
         \x20   Contiguous CUDA tensors on one device:\n{shapes}    \"\"\"\n{give}\n",
        version = env!("CARGO_PKG_VERSION"),
        file = exported.file,
        hash = exported.hash,
        short = exported.hash.get(..12).unwrap_or(exported.hash),
        typed = typed.join(", "),
        give = give.replace("{}", &names.join(", ")),
    )
}
