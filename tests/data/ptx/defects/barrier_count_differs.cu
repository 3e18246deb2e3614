// Threads make different numbers of iterations, each with a barrier.
// launch 1 64 0
// buffer out f32 64 none
extern "C" __global__ void broken(float* out) {
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    for (int k = 0; k < 2 + (threadIdx.x & 1); ++k) {
        __syncthreads();  //! DivergentBarrier
        s[threadIdx.x] += 1;
    }
    out[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void repaired(float* out) {
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    for (int k = 0; k < 3; ++k) {
        __syncthreads();
        if (k < 2 + (threadIdx.x & 1)) s[threadIdx.x] += 1;
    }
    out[threadIdx.x] = s[threadIdx.x];
}
