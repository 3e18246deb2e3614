// Each thread waits for its own copy, but reads what another thread copied.
// launch 1 64 0
// buffer in f32 64 iota
// buffer out f32 64 none
#include <cuda_pipeline_primitives.h>
extern "C" __global__ void broken(const float* in, float* out) {
    __shared__ float tile[64];
    tile[threadIdx.x] = 0;
    __syncthreads();
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = tile[threadIdx.x ^ 1];  //! Race
}
extern "C" __global__ void repaired(const float* in, float* out) {
    __shared__ float tile[64];
    tile[threadIdx.x] = 0;
    __syncthreads();
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
