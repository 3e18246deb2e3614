#include <cuda_fp16.h>

__global__ void scale_half(const __half* x, __half* y, int n) {
    __shared__ __half tile[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : __float2half(0.0f);
    __syncthreads();
    int j = blockIdx.x * 128 + 127 - threadIdx.x;
    if (j < n) y[j] = __float2half(2.5f * __half2float(tile[127 - threadIdx.x]));
}
