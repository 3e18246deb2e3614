// Some threads of a warp go around the barrier.
// launch 1 128 0
// buffer in f32 128 iota
// buffer out f32 128 none
extern "C" __global__ void broken(const float* in, float* out) {
    __shared__ float tile[128];
    tile[threadIdx.x] = in[threadIdx.x];
    float v = 0;
    if (threadIdx.x < 100) {
        __syncthreads();  //! DivergentBarrier
        v = tile[threadIdx.x];
    }
    out[threadIdx.x] = v;
}
extern "C" __global__ void repaired(const float* in, float* out) {
    __shared__ float tile[128];
    tile[threadIdx.x] = in[threadIdx.x];
    float v = 0;
    __syncthreads();
    if (threadIdx.x < 100) v = tile[99 - threadIdx.x];
    out[threadIdx.x] = v;
}
