// Dynamic shared memory that is too small for the block.
// launch 1 128 256
// buffer out f32 128 none
extern "C" __global__ void broken(float* out) {
    extern __shared__ float s[];
    s[threadIdx.x] = threadIdx.x;  //! OutOfBounds
    out[threadIdx.x] = 1.0f;
}
extern "C" __global__ void repaired(float* out) {
    extern __shared__ float s[];
    if (threadIdx.x < 64) s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = 1.0f;
}
