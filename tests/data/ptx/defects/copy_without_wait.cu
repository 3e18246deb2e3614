// An asynchronous copy is read without waiting for it.
// launch 1 32 0
// buffer in f32 32 iota
// buffer out f32 32 none
#include <cuda_pipeline_primitives.h>
extern "C" __global__ void broken(const float* in, float* out) {
    __shared__ float tile[32];
    tile[threadIdx.x] = 0;
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    out[threadIdx.x] = tile[threadIdx.x];  //! UnfinishedCopy
}
extern "C" __global__ void repaired(const float* in, float* out) {
    __shared__ float tile[32];
    tile[threadIdx.x] = 0;
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = tile[threadIdx.x];
}
