// A block reads what its neighbour writes in the same launch.
// launch 4 32 0
// buffer work f32 128 zeros
// buffer out f32 128 none
extern "C" __global__ void broken(float* work, float* out) {
    int i = blockIdx.x * 32 + threadIdx.x;
    work[i] = i;
    __syncthreads();
    out[i] = work[i >= 32 ? i - 32 : i];  //! Race
}
extern "C" __global__ void repaired(float* work, float* out) {
    int i = blockIdx.x * 32 + threadIdx.x;
    work[i] = i;
    __syncthreads();
    out[i] = work[i ^ 1];
}
