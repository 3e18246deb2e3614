// Floating-point arithmetic that IEEE 754 or the PTX manual defines to the bit, and approximations beside it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.b = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "(n + 127) / 128", block = 128, args = ["a", "b", "y", "i32(n)"] }
__global__ void rounded(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = a[i], w = b[i];
    float r = v / (fabsf(w) + 0.5f) + sqrtf(fabsf(v)) * __frcp_rn(fabsf(w) + 1.0f);
    r = fmaf(r, v, -w) + __fadd_ru(v, w) - __fmul_rd(v, w) + fminf(v, w) * fmaxf(v, 0.25f);
    y[i] = r + floorf(v * 8.0f) - ceilf(w * 8.0f) + truncf(v) + rintf(w) + copysignf(1.5f, w);
}

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "f64", shape = ["n"] }
// kopt: args.b = { role = "in", dtype = "f64", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f64", shape = ["n"] }
// kopt: launch = { grid = "(n + 127) / 128", block = 128, args = ["a", "b", "y", "i32(n)"] }
__global__ void doubles(const double* a, const double* b, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = a[i], w = b[i];
    double r = v / (fabs(w) + 0.5) + sqrt(fabs(v)) + fma(v, w, -1.0) + rint(v * 16.0);
    y[i] = r + exp(v * 0.125) * cos(w) + log(fabs(v) + 1.0) + (double)(float)w;
}

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "(n + 127) / 128", block = 128, args = ["a", "y", "i32(n)"] }
__global__ void library_functions(const float* a, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = a[i];
    float r = expf(v) + sinf(v) * cosf(v * 3.0f) + tanhf(v) + logf(fabsf(v) + 1e-3f) + powf(fabsf(v), 1.3f);
    y[i] = r + erff(v) + cbrtf(v) + atan2f(v, 2.0f) + rsqrtf(fabsf(v) + 1.0f) + log1pf(fabsf(v)) + expm1f(v);
}

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "(n + 127) / 128", block = 128, args = ["a", "y", "i32(n)"] }
__global__ void approximate(const float* a, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = a[i];
    y[i] = __expf(v) + __sinf(v) + __cosf(v) + __logf(fabsf(v) + 1.0f) + __fdividef(v, fabsf(v) + 2.0f)
        + __powf(fabsf(v), 0.5f) + __tanf(v * 0.25f) + __frsqrt_rn(fabsf(v) + 1.0f);
}

// kopt: dims.n = { samples = [1000], max = 100000, divisible_by = 2 }
// kopt: args.a = { role = "in", dtype = "f16", shape = ["n"] }
// kopt: args.b = { role = "in", dtype = "f16", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f16", shape = ["n"] }
// kopt: launch = { grid = "(n / 2 + 127) / 128", block = 128, args = ["a", "b", "y", "i32(n / 2)"] }
__global__ void halves(const __half2* a, const __half2* b, __half2* y, int pairs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    __half2 r = __hfma2(a[i], b[i], __hadd2(a[i], __hneg2(b[i])));
    r = __hmax2(r, __hmul2(a[i], __float2half2_rn(0.5f)));
    __half low = __hdiv(__low2half(r), __hadd(__habs(__high2half(b[i])), __float2half(0.25f)));
    y[i] = __halves2half2(low, hsqrt(__habs(__high2half(r))));
}

// kopt: dims.n = { samples = [1000], max = 100000, divisible_by = 2 }
// kopt: args.a = { role = "in", dtype = "bf16", shape = ["n"] }
// kopt: args.b = { role = "in", dtype = "bf16", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "bf16", shape = ["n"] }
// kopt: launch = { grid = "(n / 2 + 127) / 128", block = 128, args = ["a", "b", "y", "i32(n / 2)"] }
__global__ void brain_floats(const __nv_bfloat162* a, const __nv_bfloat162* b, __nv_bfloat162* y, int pairs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    __nv_bfloat162 r = __hfma2(a[i], b[i], __hadd2(a[i], b[i]));
    float low = __bfloat162float(__low2bfloat16(r)) * 1.7f;
    y[i] = __floats2bfloat162_rn(low, __bfloat162float(__hmin(__high2bfloat16(r), __high2bfloat16(a[i]))));
}
