#include <cuda_bf16.h>

__global__ void scale_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    float v = 1.5f * __bfloat162float(x[i]) + 0.25f;
    y[i] = __float2bfloat16(__int_as_float(__float_as_int(v) & 0xfff00000));
}
