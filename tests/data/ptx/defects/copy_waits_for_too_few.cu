// Two stages in flight, but the wait leaves one of them open.
// launch 1 32 0
// buffer in f32 64 iota
// buffer out f32 32 none
#include <cuda_pipeline_primitives.h>
extern "C" __global__ void broken(const float* in, float* out) {
    __shared__ float tile[2][32];
    for (int s = 0; s < 2; ++s) {
        __pipeline_memcpy_async(&tile[s][threadIdx.x], &in[32 * s + threadIdx.x], 4);
        __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    float v = tile[0][threadIdx.x];
    v += tile[1][threadIdx.x];  //! UnfinishedCopy
    out[threadIdx.x] = v;
}
extern "C" __global__ void repaired(const float* in, float* out) {
    __shared__ float tile[2][32];
    for (int s = 0; s < 2; ++s) {
        __pipeline_memcpy_async(&tile[s][threadIdx.x], &in[32 * s + threadIdx.x], 4);
        __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    float v = tile[0][threadIdx.x];
    __pipeline_wait_prior(0);
    v += tile[1][threadIdx.x];
    out[threadIdx.x] = v;
}
