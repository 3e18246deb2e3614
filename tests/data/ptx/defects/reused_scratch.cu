// A scratch word is reused for a second reduction while others still read the first result.
// launch 1 64 0
// buffer out f32 128 none
extern "C" __global__ void broken(float* out) {
    __shared__ float word;
    if (threadIdx.x == 0) word = 1;
    __syncthreads();
    out[threadIdx.x] = word;  //! Race
    if (threadIdx.x == 0) word = 2;  //! Race
    __syncthreads();
    out[64 + threadIdx.x] = word;
}
extern "C" __global__ void repaired(float* out) {
    __shared__ float word;
    if (threadIdx.x == 0) word = 1;
    __syncthreads();
    out[threadIdx.x] = word;
    __syncthreads();
    if (threadIdx.x == 0) word = 2;
    __syncthreads();
    out[64 + threadIdx.x] = word;
}
