//! K04xx: the compile gate and the toolchain.

use super::{Code, Entry};

/// By rising code.
pub const ENTRIES: &[Entry] = &[
    Entry {
        code: Code(401),
        title: "no such kernel in the file",
        explain: "The kernel that was named, or the place that was given, is not a function of this file. A kernel is found by its \
            name with or without namespaces (`k`, `ns::k`). A kernel that a macro of another file defines is not seen.",
    },
    Entry {
        code: Code(402),
        title: "a header of another project is missing",
        explain: "The kernel uses a name such as `cutlass::half_t` or `at::Half` that neither the file nor the headers found define, \
            and the file includes headers that were not found. Give their folder with -I, or install nvcc and let it compile the \
            whole file. Nothing is guessed: the kernel counts as not compiled.",
    },
    Entry {
        code: Code(403),
        title: "device code uses a library that exists only on the host",
        explain: "The device slice, the part of the file that the kernel needs, contains something like `std::vector`, which the \
            run-time compiler does not have. Often a class holds both host and device members: the class is kept whole. nvcc \
            compiles such a file; or move the host members out of the class.",
    },
    Entry {
        code: Code(404),
        title: "a kernel is launched from device code",
        explain: "Dynamic parallelism needs relocatable device code and a link with the device runtime, which the run-time compiler \
            alone does not do. Use nvcc with -rdc=true.",
    },
    Entry {
        code: Code(405),
        title: "texture references are gone",
        explain: "`texture<float, 2> t;` at file scope was removed in CUDA 12. Pass a `cudaTextureObject_t` to the kernel and read it \
            with `tex2D<float>(object, x, y)`.",
    },
    Entry {
        code: Code(406),
        title: "the file with its headers is too large to cut",
        explain: "The headers of the project, expanded, exceed 64 MB or 200,000 items, or include each other without end. Compile the \
            file with nvcc.",
    },
    Entry {
        code: Code(410),
        title: "no CUDA compiler",
        explain: "Neither NVRTC (NVIDIA's run-time compiler) nor a result in the cache was found. `kopt toolchain install` brings \
            NVRTC and the CUDA headers (65 MB) into kopt's cache with pip; `kopt doctor` lists where kopt looked. An installed CUDA \
            toolkit is found through CUDA_HOME; KOPT_NVRTC names the library itself. Without it, parsing, conditions and rewriting \
            work, and the compile gate says not-run.",
    },
    Entry {
        code: Code(411),
        title: "the compiler refused the kernel",
        explain: "The message is the compiler's own, on the line of your file that it speaks of. For a candidate the rewrite is \
            rejected and your file stays as it is. If the message names a host function, the kernel reaches code without \
            `__device__`; if the original does not compile either, the flags of your build may be missing.",
    },
    Entry {
        code: Code(412),
        title: "the compiler warned",
        explain: "The message is the compiler's own. Warnings do not fail the gate.",
    },
    Entry {
        code: Code(413),
        title: "a template needs an instantiation",
        explain: "A template is compiled for given arguments only. kopt takes those that launches and explicit instantiations of the files \
            in the run ask for, also through templates and macros of the host; if there are none, it tries a few of its own and \
            says so. Nothing compiled here: give the folder of the files that launch the kernel.",
    },
    Entry {
        code: Code(414),
        title: "the compiler does not know this architecture",
        explain: "Each version of NVRTC compiles for a range: 13.x from sm_75 on, 12.x up to sm_120. `kopt doctor` shows the range of \
            the one found.",
    },
    Entry {
        code: Code(415),
        title: "the compiler could not be asked",
        explain: "The library failed for a reason that says nothing about your code: out of memory, an internal error, a text with a \
            NUL byte. It is never recorded as a lesson about the code. `kopt doctor` checks the installation.",
    },
    Entry {
        code: Code(416),
        title: "the kernel is switched off by the preprocessor",
        explain: "The kernel stands inside an `#if` that is not taken under the options given, so the compiler never sees it. Give \
            the -D options of your build, for example `-DENABLE_BF16`.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_rise_within_their_family() {
        assert!(ENTRIES.windows(2).all(|w| w[0].code < w[1].code));
        assert!(ENTRIES.iter().all(|e| (400..500).contains(&e.code.0) && !e.title.is_empty() && e.explain.len() > 40));
    }
}
