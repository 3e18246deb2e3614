// Threads of a block exchange through global memory without a barrier.
// launch 2 64 0
// buffer work f32 128 zeros
// buffer out f32 128 none
extern "C" __global__ void broken(float* work, float* out) {
    int base = blockIdx.x * 64;
    work[base + threadIdx.x] = threadIdx.x;  //! Race
    out[base + threadIdx.x] = work[base + 63 - threadIdx.x];  //! Race
}
extern "C" __global__ void repaired(float* work, float* out) {
    int base = blockIdx.x * 64;
    work[base + threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[base + threadIdx.x] = work[base + 63 - threadIdx.x];
}
