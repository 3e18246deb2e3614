//! The C++ header: the kernel's file, and a function that checks and launches.

use std::fmt::Write as _;

use super::cpp::{element, expr, product, quoted};
use super::interface::{Buffer, Interface, buffer_of, conditions};
use super::{ExportError, Exported};
use crate::contract::{Argument, BufferRef, Init, Launch, Plan, Role, Step};

/// The text of the header.
///
/// # Errors
/// See [`ExportError`].
pub fn header(exported: &Exported) -> Result<String, ExportError> {
    let interface = Interface::of(exported)?;
    let name = exported.name;
    let mut out = format!(
        "// Written by `kopt export` {} from {} (BLAKE3 {}) and its contract;\n\
         // written again by the same command, and not to be edited. Include it in one CUDA file.\n\
         #pragma once\n\n#include <cstdint>\n#include <initializer_list>\n#include <cuda_runtime.h>\n",
        env!("CARGO_PKG_VERSION"),
        exported.file,
        exported.hash,
    );
    for (types, header) in [("__half", "cuda_fp16.h"), ("__nv_bfloat16", "cuda_bf16.h")] {
        if interface.buffers.iter().any(|b| element(&b.name, b.dtype) == Ok(types)) {
            let _ = writeln!(out, "#include <{header}>");
        }
    }
    let _ = write!(
        out,
        "\n// What the file has of a program of its own is not called from here.\n\
         #define main kopt_main_of_{name}\n#include {}\n#undef main\n\nnamespace kopt_{name} {{\n\n{HELPERS}\n",
        quoted(exported.file)
    );
    function(&mut out, exported, &interface)?;
    let _ = writeln!(out, "\n}}  // namespace kopt_{name}");
    Ok(out)
}

/// What the function needs of arithmetic; a pointer fits every parameter that is one.
const HELPERS: &str = "\
inline int64_t min(int64_t a, int64_t b) { return b < a ? b : a; }
inline int64_t max(int64_t a, int64_t b) { return a < b ? b : a; }
inline int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }
inline int64_t same(int64_t a) { return a; }
struct pointer {
    const void* address;
    template <class T>
    operator T*() const { return static_cast<T*>(const_cast<void*>(address)); }
};
inline bool overlap(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes) {
    const char *first = static_cast<const char*>(a), *second = static_cast<const char*>(b);
    return first < second + b_bytes && second < first + a_bytes;
}
inline bool fits(int64_t x, int64_t most) { return x >= 0 && x <= most; }
";

fn function(out: &mut String, exported: &Exported, interface: &Interface) -> Result<(), ExportError> {
    let plan = exported.plan;
    let parameters = parameters(interface)?;
    let _ = write!(
        out,
        "// Nothing is launched where the answer is not null: it says which promise of the contract the call breaks, or\n\
         // what the CUDA runtime says. Addresses are of device memory; elements per buffer are\n"
    );
    for b in interface.passed() {
        let shape: Vec<String> = b.shape.iter().map(expr).collect();
        let _ = writeln!(out, "//   {}: {} ({})", b.name, shape.join(" x "), b.role.word());
    }
    let _ = writeln!(out, "inline const char* {}({}) {{", exported.name, parameters.join(", "));
    for (condition, said) in conditions(plan) {
        let _ = writeln!(out, "    if (!({condition})) return {};", quoted(&said));
    }
    for b in &interface.buffers {
        let _ = writeln!(
            out,
            "    [[maybe_unused]] const int64_t {}_bytes = int64_t(sizeof({})) * {};",
            b.name,
            element(&b.name, b.dtype)?,
            product(&b.shape)
        );
    }
    for b in interface.passed().filter(|b| b.align > 1) {
        let said = format!("the address of `{}` is no multiple of {} bytes", b.name, b.align);
        let _ = writeln!(
            out,
            "    if (reinterpret_cast<uintptr_t>({}) % {} != 0) return {};",
            b.name,
            b.align,
            quoted(&said)
        );
    }
    apart(out, plan, interface);
    let _ = writeln!(out, "    cudaError_t error = cudaSuccess;");
    for b in interface.temporaries() {
        let _ = writeln!(
            out,
            "    void* {0} = nullptr;\n    error = error ? error : cudaMallocAsync(&{0}, max({0}_bytes, 1), stream);",
            b.name
        );
    }
    for b in &interface.buffers {
        let init = plan.args.iter().find(|a| a.name == b.name).and_then(|a| a.init);
        if init == Some(Init::Zero) {
            let _ = writeln!(out, "    error = error ? error : cudaMemsetAsync({0}, 0, {0}_bytes, stream);", b.name);
        }
    }
    let _ = writeln!(out, "    const char* refused = nullptr;");
    for step in &plan.steps {
        match step {
            Step::Launch(l) => launch(out, exported, interface, l)?,
            Step::Fill { buffer, byte, bytes } => {
                let to = place(interface, buffer)?;
                let length = bytes.as_ref().map_or_else(|| rest(interface, buffer), |b| Ok(expr(b)))?;
                let _ = writeln!(out, "    error = error ? error : cudaMemsetAsync({to}, {byte}, {length}, stream);");
            }
            Step::Copy { from, to, bytes } => {
                let both = format!("min({}, {})", rest(interface, from)?, rest(interface, to)?);
                let length = bytes.as_ref().map_or(both, expr);
                let (from, to) = (place(interface, from)?, place(interface, to)?);
                let _ = writeln!(
                    out,
                    "    error = error ? error : cudaMemcpyAsync({to}, {from}, {length}, cudaMemcpyDeviceToDevice, stream);"
                );
            }
        }
    }
    for b in interface.temporaries() {
        let _ = writeln!(out, "    if ({0}) cudaFreeAsync({0}, stream);", b.name);
    }
    let _ = writeln!(out, "    return refused ? refused : error ? cudaGetErrorString(error) : nullptr;\n}}");
    Ok(())
}

fn parameters(interface: &Interface) -> Result<Vec<String>, ExportError> {
    let mut found = vec![];
    for b in interface.passed() {
        let constant = if b.role == Role::In { "const " } else { "" };
        found.push(format!("{constant}{}* {}", element(&b.name, b.dtype)?, b.name));
    }
    for s in &interface.scalars {
        found.push(format!("{} {}", element(&s.name, s.dtype)?, s.name));
    }
    found.extend(interface.dims.iter().map(|d| format!("int64_t {}", d.name)));
    found.push("cudaStream_t stream".to_owned());
    Ok(found)
}

/// Buffers of which one is written do not overlap, but for those that the contract lets be one.
fn apart(out: &mut String, plan: &Plan, interface: &Interface) {
    let passed: Vec<&Buffer> = interface.passed().collect();
    let together = |a: &str, b: &str| plan.alias.iter().any(|g| g.iter().any(|n| n == a) && g.iter().any(|n| n == b));
    for (n, a) in passed.iter().enumerate() {
        for b in passed.iter().skip(n + 1) {
            let written = a.role.is_output() || b.role.is_output();
            if (written || plan.noalias) && !together(&a.name, &b.name) {
                let said = format!("`{}` and `{}` overlap", a.name, b.name);
                let _ = writeln!(
                    out,
                    "    if (overlap({0}, {0}_bytes, {1}, {1}_bytes)) return {2};",
                    a.name,
                    b.name,
                    quoted(&said)
                );
            }
        }
    }
}

/// An address inside a buffer.
fn place(interface: &Interface, at: &BufferRef) -> Result<String, ExportError> {
    let buffer = buffer_of(interface, &at.buffer)?;
    Ok(match &at.offset {
        None => buffer.name.clone(),
        Some(offset) => {
            let constant = if buffer.role == Role::In { "const " } else { "" };
            format!("(({constant}{}*){} + ({}))", element(&buffer.name, buffer.dtype)?, buffer.name, expr(offset))
        }
    })
}

/// Bytes from a place to the end of its buffer.
fn rest(interface: &Interface, at: &BufferRef) -> Result<String, ExportError> {
    let buffer = buffer_of(interface, &at.buffer)?;
    Ok(match &at.offset {
        None => format!("{}_bytes", buffer.name),
        Some(offset) => format!("({}_bytes - int64_t({}) * {})", buffer.name, buffer.dtype.bytes(), expr(offset)),
    })
}

fn launch(out: &mut String, exported: &Exported, interface: &Interface, l: &Launch) -> Result<(), ExportError> {
    let axis = |list: &[crate::contract::Expr], n: usize| list.get(n).map_or_else(|| "1".to_owned(), expr);
    let typed = exported.deduced.contains(&l.kernel);
    let arguments: Vec<String> =
        l.args.iter().map(|a| argument(interface, a, typed)).collect::<Result<_, ExportError>>()?;
    let template = if l.template.is_empty() { String::new() } else { format!("<{}>", l.template.join(", ")) };
    let kernel = format!("::{}{template}", l.kernel.trim_start_matches("::"));
    let shared = l.shared.as_ref().map_or_else(|| "0".to_owned(), expr);
    let three = |list: &[crate::contract::Expr]| format!("{}, {}, {}", axis(list, 0), axis(list, 1), axis(list, 2));
    let _ = writeln!(
        out,
        "    {{\n        const int64_t grid[3] = {{{}}}, block[3] = {{{}}}, shared = {shared};",
        three(&l.grid),
        three(&l.block)
    );
    let _ = writeln!(
        out,
        "        const bool possible = fits(grid[0], 2147483647) && fits(grid[1], 65535) && fits(grid[2], 65535) && fits(shared, 1 << 20);\n\
         \x20       if (!possible && !refused) refused = {};\n\
         \x20       if (!error && !refused && grid[0] && grid[1] && grid[2]) {{",
        quoted(&format!("the grid of `{}` is larger than CUDA allows", l.kernel))
    );
    let cast = if typed { String::new() } else { format!("            auto* kernel = {kernel};\n") };
    let function = if typed { kernel } else { "kernel".to_owned() };
    out.push_str(&cast);
    if l.shared.is_some() && !typed {
        let _ = writeln!(
            out,
            "            if (shared > 48 << 10)\n                error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared));"
        );
    }
    let dims = "dim3(unsigned(grid[0]), unsigned(grid[1]), unsigned(grid[2])), \
                dim3(unsigned(block[0]), unsigned(block[1]), unsigned(block[2]))";
    if l.cluster.is_empty() {
        let _ = writeln!(
            out,
            "            if (!error) {function}<<<{dims}, size_t(shared), stream>>>({});",
            arguments.join(", ")
        );
    } else {
        let _ = writeln!(
            out,
            "            cudaLaunchConfig_t config{{{dims}, size_t(shared), stream}};\n\
             \x20           cudaLaunchAttribute attribute{{}};\n\
             \x20           attribute.id = cudaLaunchAttributeClusterDimension;\n\
             \x20           attribute.val.clusterDim = {{unsigned({}), unsigned({}), unsigned({})}};\n\
             \x20           config.attrs = &attribute;\n            config.numAttrs = 1;\n\
             \x20           if (!error) error = cudaLaunchKernelEx(&config, {function}, {});",
            axis(&l.cluster, 0),
            axis(&l.cluster, 1),
            axis(&l.cluster, 2),
            arguments.join(", ")
        );
    }
    let _ = writeln!(out, "            error = error ? error : cudaGetLastError();\n        }}\n    }}");
    Ok(())
}

fn argument(interface: &Interface, a: &Argument, typed: bool) -> Result<String, ExportError> {
    Ok(match a {
        Argument::Buffer(at) if typed => {
            let b = buffer_of(interface, &at.buffer)?;
            let constant = if b.role == Role::In { "const " } else { "" };
            format!("({constant}{}*)({})", element(&b.name, b.dtype)?, place(interface, at)?)
        }
        Argument::Buffer(at) => format!("pointer{{{}}}", place(interface, at)?),
        Argument::Int { dtype, value } => format!("{}({})", element("an argument", *dtype)?, expr(value)),
        Argument::Float { dtype, value } => format!("{}({value:?})", element("an argument", *dtype)?),
        Argument::Scalar(name) => name.clone(),
        Argument::Null => "pointer{nullptr}".to_owned(),
        Argument::Open => return Err(ExportError::Open { what: "an argument", of: "a launch".to_owned() }),
    })
}
