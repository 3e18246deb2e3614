// Functions that take floats apart by their bits, or build them so; each kernel is one of them, element by element.
// launch 8 128 0
// buffer in f32 1024 spread
// buffer out f32 1024 none
#define ELEMENTWISE(name, expression)                                       \
    extern "C" __global__ void name(const float* in, float* out) {          \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                      \
        float x = in[i];                                                    \
        out[i] = expression;                                                \
    }

__device__ float exp2_by_shift(float x) {
    int n = __float2int_rn(x);
    float fraction = x - (float)n;
    return __int_as_float((n + 127) << 23) * exp2f(fraction);
}
__device__ float exp2_by_magic(float x) {
    float shifted = x + 12582912.0f;
    int bits = __float_as_int(shifted);
    return __int_as_float((bits + 127) << 23) * exp2f(x - (shifted - 12582912.0f));
}
__device__ float exp2_by_table(float x) {
    // Whole 32nds of x by the constant, the table's index by the bits.
    float shifted = __fadd_rn(x, 393216.0f);
    int bits = __float_as_int(shifted);
    float rest = x - __fsub_rn(shifted, 393216.0f);
    return exp2f((float)(bits & 31) * 0.03125f) * __int_as_float(((bits >> 5) + 127 & 255) << 23) * exp2f(rest);
}
__device__ float split_and_joined(float x) {
    int bits = __float_as_int(x);
    float mantissa = __int_as_float((bits & 0x7fffff) | 0x3f800000);
    int exponent = (bits >> 23 & 255) - 127;
    float sign = bits < 0 ? -1.0f : 1.0f;
    return sign * mantissa * exp2f((float)exponent);
}
__device__ float upper_and_lower(float x) {
    float upper = __int_as_float(__float_as_int(x) & 0xfffff000);
    return upper * upper + (x - upper) * (x + upper);
}
__device__ float harmonic_by_key(float x) {
    float sum = x * x;
    for (int k = 1; k <= 2000; ++k) sum += 1.0f / (float)k;
    int bits = __float_as_int(sum), key = bits < 0 ? bits ^ 0x7fffffff : bits;
    return __int_as_float(key < 0 ? key ^ 0x7fffffff : key);
}

ELEMENTWISE(f_expf, expf(x))
ELEMENTWISE(f_exp10f, exp10f(x * 0.3f))
ELEMENTWISE(f_exp2f, exp2f(x))
ELEMENTWISE(f_expm1f, expm1f(x))
ELEMENTWISE(f_logf, logf(fabsf(x)))
ELEMENTWISE(f_log1pf, log1pf(fabsf(x)))
ELEMENTWISE(f_powf, powf(fabsf(x), 1.7f))
ELEMENTWISE(f_tanhf, tanhf(x))
ELEMENTWISE(f_sinf, sinf(x))
ELEMENTWISE(f_rintf, rintf(x))
ELEMENTWISE(f_fast_exp, __expf(x))
ELEMENTWISE(f_exp2_by_shift, exp2_by_shift(x))
ELEMENTWISE(f_exp2_by_magic, exp2_by_magic(x))
ELEMENTWISE(f_exp2_by_table, exp2_by_table(x))
ELEMENTWISE(f_rint_by_magic, __fsub_rn(__fadd_rn(x, 12582912.0f), 12582912.0f))
ELEMENTWISE(f_abs_by_bits, __int_as_float(__float_as_int(x * 3.0f) & 0x7fffffff))
ELEMENTWISE(f_split_and_joined, split_and_joined(x))
ELEMENTWISE(f_upper_and_lower, upper_and_lower(x))
ELEMENTWISE(f_clamped, __saturatef(x * 0.1f) + __saturatef(fmaf(x, -0.1f, 0.5f)))
ELEMENTWISE(f_harmonic_by_key, harmonic_by_key(x))
