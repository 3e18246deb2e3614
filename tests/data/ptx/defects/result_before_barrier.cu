// Thread 0 publishes a sum; the others read it before the barrier.
// launch 1 64 0
// buffer in f32 1 iota
// buffer out f32 64 none
extern "C" __global__ void broken(const float* in, float* out) {
    __shared__ float mean;
    if (threadIdx.x == 0) mean = in[0];  //! Race
    out[threadIdx.x] = mean * threadIdx.x;  //! Race //! UninitialisedShared
}
extern "C" __global__ void repaired(const float* in, float* out) {
    __shared__ float mean;
    if (threadIdx.x == 0) mean = in[0];
    __syncthreads();
    out[threadIdx.x] = mean * threadIdx.x;
}
