#include <cuda_fp16.h>

__global__ void row_sum(const float* x, float* y, int cols) {
    __shared__ __half part[128];
    const float* row = x + (long long)blockIdx.x * cols;
    __half sum = __float2half(0.0f);
    for (int c = threadIdx.x; c < cols; c += 128) sum = __hadd(sum, __float2half(row[c]));
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] = __hadd(part[threadIdx.x], part[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = __half2float(part[0]);
}
