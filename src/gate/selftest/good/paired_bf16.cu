#include <cuda_bf16.h>

__global__ void scale_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
    int i = 2 * (blockIdx.x * 128 + threadIdx.x);
    if (i + 1 < n) {
        float2 v = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(x + i));
        *reinterpret_cast<__nv_bfloat162*>(y + i) = __floats2bfloat162_rn(1.5f * v.x + 0.25f, 1.5f * v.y + 0.25f);
    } else if (i < n) {
        y[i] = __float2bfloat16(1.5f * __bfloat162float(x[i]) + 0.25f);
    }
}
