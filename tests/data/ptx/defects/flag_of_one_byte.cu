// One thread sets a flag of one byte for its block; several blocks do so one after the other.
// launch 4 128 0
// buffer in f32 512 iota
// buffer out f32 512 none
extern "C" __global__ void broken(const float* in, float* out) {
    __shared__ bool negate;
    int i = blockIdx.x * 128 + threadIdx.x;
    if (threadIdx.x == 0) negate = blockIdx.x % 2;  //! Race
    out[i] = negate ? -in[i] : in[i];  //! Race //! UninitialisedShared
}
extern "C" __global__ void repaired(const float* in, float* out) {
    __shared__ bool negate;
    int i = blockIdx.x * 128 + threadIdx.x;
    if (threadIdx.x == 0) negate = blockIdx.x % 2;
    __syncthreads();
    out[i] = negate ? -in[i] : in[i];
}
