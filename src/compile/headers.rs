//! What is known about headers: which of NVIDIA's the run-time compiler can take, which belong to the host, and what
//! kopt supplies in place of the host's standard headers.
//!
//! NVRTC has no standard library. `cuda/std` would supply one, but `<cuda/std/limits>` alone costs a second to
//! compile, so the common names are supplied here in a few lines and `cuda/std` is the answer for the rest.

use std::collections::BTreeSet;

/// What becomes of an `#include` that is not one of the project's own files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// The compiler takes it; it is kept when a word of the slice is one of its names (always, where none is listed).
    Device(&'static [&'static str]),
    /// Built into the compiler, or of no use to device code.
    Host,
    Unknown,
}

const HALF: &[&str] =
    &["half", "__half", "__nv_half", "nv_half", "__h", "hexp", "hrcp", "hsqrt", "hrsqrt", "hlog", "htan"];
const BF16: &[&str] = &["bf16", "bfloat16"];
const NARROW: &[&str] = &["fp8", "e4m3", "e5m2", "fp6", "fp4", "e2m1", "e3m2", "e2m3", "e8m0"];

/// Classifies a header by the name in its `#include`.
pub fn classify(name: &str) -> Header {
    let groups: &[(&[&str], Header)] = &[
        (&["cuda_fp16.h", "cuda_fp16.hpp"], Header::Device(HALF)),
        (&["cuda_bf16.h", "cuda_bf16.hpp"], Header::Device(BF16)),
        (&["cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h"], Header::Device(NARROW)),
        (&["mma.h", "crt/mma.h"], Header::Device(&["nvcuda", "wmma"])),
        (&["cuda_pipeline.h", "cuda_pipeline_primitives.h"], Header::Device(&["__pipeline", "nvcuda"])),
        (&["cuda_awbarrier.h", "cuda_awbarrier_primitives.h"], Header::Device(&["__mbarrier", "awbarrier"])),
        (&["cuComplex.h"], Header::Device(&["cuC", "cuFloatComplex", "cuDoubleComplex", "make_cu"])),
        (&["math_constants.h"], Header::Device(&["CUDART_"])),
        (&["cuda.h"], Header::Device(&["CUtensorMap", "CUdeviceptr"])),
    ];
    if let Some((_, header)) = groups.iter().find(|(names, _)| names.contains(&name)) {
        return *header;
    }
    if name.starts_with("cooperative_groups") {
        return Header::Device(&["cooperative_groups"]);
    }
    if name.starts_with("cuda/") || name.starts_with("nv/") {
        return Header::Device(&["cuda", "nv", "NV_"]);
    }
    if name.starts_with("cub/") {
        return Header::Device(&["cub"]);
    }
    if name.starts_with("thrust/") {
        return Header::Device(&["thrust"]);
    }
    if is_host(name) { Header::Host } else { Header::Unknown }
}

/// Device headers that a host header brings along.
pub fn brings(name: &str) -> &'static [&'static str] {
    let libraries = ["cublas", "cudnn", "cusparse", "cusolver", "ATen/", "torch/", "cutlass/", "cute/", "c10/"];
    if libraries.iter().any(|l| name.starts_with(l)) { &["cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"] } else { &[] }
}

/// Whether one of `words` needs a header with these names. A name matches as part of a word, `cuda`, `nv` and `cub`
/// only as the whole of it.
pub fn needed(names: &[&str], words: &BTreeSet<String>) -> bool {
    let whole = |n: &str| matches!(n, "cuda" | "nv" | "cub" | "thrust" | "nvcuda" | "wmma");
    names.iter().any(|n| if whole(n) { words.contains(*n) } else { words.iter().any(|w| w.contains(n)) })
}

fn is_host(name: &str) -> bool {
    const C: &[&str] = &[
        "assert.h",
        "complex.h",
        "ctype.h",
        "errno.h",
        "fcntl.h",
        "fenv.h",
        "float.h",
        "getopt.h",
        "inttypes.h",
        "iso646.h",
        "limits.h",
        "locale.h",
        "malloc.h",
        "math.h",
        "memory.h",
        "omp.h",
        "setjmp.h",
        "signal.h",
        "stdalign.h",
        "stdarg.h",
        "stdbool.h",
        "stddef.h",
        "stdint.h",
        "stdio.h",
        "stdlib.h",
        "string.h",
        "strings.h",
        "tgmath.h",
        "time.h",
        "uchar.h",
        "unistd.h",
        "wchar.h",
        "windows.h",
        "io.h",
        "dirent.h",
        "dlfcn.h",
        "pthread.h",
        "nvToolsExt.h",
        "mpi.h",
        "nccl.h",
    ];
    const CUDA: &[&str] = &[
        "builtin_types.h",
        "cuda_runtime.h",
        "cuda_runtime_api.h",
        "cuda_device_runtime_api.h",
        "device_launch_parameters.h",
        "device_functions.h",
        "driver_types.h",
        "vector_types.h",
        "vector_functions.h",
        "host_defines.h",
        "helper_math.h",
        "helper_cuda.h",
        "helper_functions.h",
        "helper_timer.h",
        "helper_string.h",
        "cuda_profiler_api.h",
        "cublas_v2.h",
        "cublas.h",
        "cublasLt.h",
        "cudnn.h",
        "cufft.h",
        "cusparse.h",
        "cusolverDn.h",
        "curand.h",
        "nvrtc.h",
        "cudaTypedefs.h",
        "cuda_texture_types.h",
        "texture_types.h",
        "surface_types.h",
        "texture_fetch_functions.h",
        "sm_30_intrinsics.h",
        "cuda_occupancy.h",
        "library_types.h",
        "channel_descriptor.h",
        "nvml.h",
        "device_atomic_functions.h",
        "math_functions.h",
        "common_functions.h",
        "sm_61_intrinsics.h",
        "cudaProfiler.h",
        "nvtx3/nvToolsExt.h",
        "cuda_gl_interop.h",
    ];
    // `helper_math.h` defines operators that kernels use: not a host header.
    let cuda = CUDA.contains(&name) && name != "helper_math.h";
    // A standard C++ header has no suffix and no folder: <vector>, <cstdint>.
    let standard = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit());
    cuda || standard || C.contains(&name) || name.starts_with("sys/") || name.starts_with("arpa/")
}

/// Which header of CUB holds a class, since `cub/cub.cuh` itself is refused by NVRTC.
pub fn cub_header(class: &str) -> Option<&'static str> {
    // `cub::BLOCK_REDUCE_RAKING` belongs to `BlockReduce`.
    const ALGORITHMS: &[(&str, &str)] = &[
        ("BLOCK_REDUCE_", "cub/block/block_reduce.cuh"),
        ("BLOCK_SCAN_", "cub/block/block_scan.cuh"),
        ("BLOCK_LOAD_", "cub/block/block_load.cuh"),
        ("BLOCK_STORE_", "cub/block/block_store.cuh"),
        ("BLOCK_HISTO_", "cub/block/block_histogram.cuh"),
        ("WARP_LOAD_", "cub/warp/warp_load.cuh"),
        ("WARP_STORE_", "cub/warp/warp_store.cuh"),
        ("LOAD_", "cub/thread/thread_load.cuh"),
        ("STORE_", "cub/thread/thread_store.cuh"),
    ];
    const TABLE: &[(&str, &str)] = &[
        ("BlockAdjacentDifference", "cub/block/block_adjacent_difference.cuh"),
        ("BlockDiscontinuity", "cub/block/block_discontinuity.cuh"),
        ("BlockShuffle", "cub/block/block_shuffle.cuh"),
        ("BlockRunLengthDecode", "cub/block/block_run_length_decode.cuh"),
        ("WarpExchange", "cub/warp/warp_exchange.cuh"),
        ("WarpLoad", "cub/warp/warp_load.cuh"),
        ("WarpStore", "cub/warp/warp_store.cuh"),
        ("ThreadLoad", "cub/thread/thread_load.cuh"),
        ("ThreadStore", "cub/thread/thread_store.cuh"),
        ("ThreadReduce", "cub/thread/thread_reduce.cuh"),
        ("KeyValuePair", "cub/util_type.cuh"),
        ("ArgMax", "cub/thread/thread_operators.cuh"),
        ("ArgMin", "cub/thread/thread_operators.cuh"),
        ("BlockReduce", "cub/block/block_reduce.cuh"),
        ("BlockScan", "cub/block/block_scan.cuh"),
        ("BlockLoad", "cub/block/block_load.cuh"),
        ("BlockStore", "cub/block/block_store.cuh"),
        ("BlockExchange", "cub/block/block_exchange.cuh"),
        ("BlockRadixSort", "cub/block/block_radix_sort.cuh"),
        ("BlockHistogram", "cub/block/block_histogram.cuh"),
        ("WarpReduce", "cub/warp/warp_reduce.cuh"),
        ("WarpScan", "cub/warp/warp_scan.cuh"),
        ("WarpMergeSort", "cub/warp/warp_merge_sort.cuh"),
        ("BlockMergeSort", "cub/block/block_merge_sort.cuh"),
        ("Sum", "cub/thread/thread_operators.cuh"),
        ("Max", "cub/thread/thread_operators.cuh"),
        ("Min", "cub/thread/thread_operators.cuh"),
    ];
    let exact = TABLE.iter().find(|(name, _)| *name == class);
    exact.or_else(|| ALGORITHMS.iter().find(|(start, _)| class.starts_with(start))).map(|(_, header)| *header)
}

/// The `cuda/std` header that supplies `std::name`, for the names that [`super::standard`] does not supply.
pub fn cuda_std(name: &str) -> Option<&'static str> {
    const TABLE: &[(&str, &[&str])] = &[
        ("array", &["array"]),
        ("tuple", &["tuple", "make_tuple", "tie", "tuple_size", "tuple_element", "get", "apply", "forward_as_tuple"]),
        (
            "utility",
            &[
                "pair",
                "make_pair",
                "index_sequence",
                "make_index_sequence",
                "integer_sequence",
                "make_integer_sequence",
            ],
        ),
        ("utility", &["index_sequence_for", "exchange", "in_place"]),
        ("optional", &["optional", "nullopt"]),
        ("variant", &["variant", "visit", "monostate"]),
        ("complex", &["complex"]),
        ("span", &["span"]),
        (
            "functional",
            &["plus", "minus", "multiplies", "divides", "less", "greater", "equal_to", "logical_and", "logical_or"],
        ),
        (
            "functional",
            &["less_equal", "greater_equal", "not_equal_to", "negate", "bit_and", "bit_or", "bit_xor", "invoke"],
        ),
        ("bit", &["bit_cast", "popcount", "countl_zero", "countr_zero", "has_single_bit", "bit_ceil", "bit_width"]),
        ("numeric", &["accumulate", "gcd", "lcm", "iota"]),
        (
            "algorithm",
            &["fill", "copy", "sort", "lower_bound", "upper_bound", "fill_n", "copy_n", "max_element", "for_each"],
        ),
        ("initializer_list", &["initializer_list"]),
        ("iterator", &["begin", "end", "iterator_traits", "size", "distance", "advance", "iterator"]),
        ("iterator", &["input_iterator_tag", "forward_iterator_tag", "random_access_iterator_tag", "reverse_iterator"]),
        ("atomic", &["atomic", "memory_order_relaxed", "memory_order_acquire", "memory_order_release", "memory_order"]),
        (
            "type_traits",
            &["invoke_result", "invoke_result_t", "common_type", "common_type_t", "make_unsigned", "make_signed"],
        ),
        (
            "type_traits",
            &["make_unsigned_t", "make_signed_t", "decay", "decay_t", "underlying_type", "underlying_type_t"],
        ),
        (
            "type_traits",
            &["is_convertible", "is_convertible_v", "is_base_of", "is_base_of_v", "is_constructible", "void_t"],
        ),
        ("type_traits", &["is_trivially_copyable", "is_trivially_copyable_v", "is_enum", "is_class", "is_invocable"]),
        (
            "type_traits",
            &["is_invocable_v", "conjunction", "conjunction_v", "disjunction", "disjunction_v", "negation"],
        ),
        (
            "type_traits",
            &["alignment_of", "aligned_storage", "extent", "rank", "remove_extent", "is_array", "is_function"],
        ),
    ];
    TABLE.iter().find(|(_, names)| names.contains(&name)).map(|(header, _)| *header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_sorted_into_three_kinds() {
        for name in ["stdio.h", "vector", "cuda_runtime.h", "cstdint", "sys/time.h", "curand.h"] {
            assert_eq!(classify(name), Header::Host, "{name}");
        }
        for name in ["cuda_fp16.h", "cooperative_groups/reduce.h", "cuda/std/limits", "cub/cub.cuh", "mma.h"] {
            assert!(matches!(classify(name), Header::Device(_)), "{name}");
        }
        for name in ["cutlass/cutlass.h", "torch/extension.h", "my_kernel.cuh", "curand_kernel.h", "helper_math.h", ""]
        {
            assert_eq!(classify(name), Header::Unknown, "{name}");
        }
    }

    #[test]
    fn a_header_is_needed_by_its_words_only() {
        let words = |w: &[&str]| w.iter().map(|s| s.to_string()).collect::<BTreeSet<_>>();
        assert!(needed(HALF, &words(&["__half2float"])) && needed(HALF, &words(&["half"])));
        assert!(!needed(HALF, &words(&["float4", "x"])));
        assert!(!needed(&["cuda"], &words(&["cudaStream_t"])) && needed(&["cuda"], &words(&["cuda"])));
    }
}
