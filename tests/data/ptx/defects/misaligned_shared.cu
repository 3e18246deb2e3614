// An 8-byte store at an odd word of shared memory.
// launch 1 8 0
// buffer out f32 8 none
extern "C" __global__ void broken(float* out) {
    __shared__ __align__(16) float s[32];
    *reinterpret_cast<float2*>(&s[3 * threadIdx.x]) = make_float2(1, 2);  //! Misaligned
    out[threadIdx.x] = threadIdx.x & 1 ? 0.0f : s[3 * threadIdx.x];
}
extern "C" __global__ void repaired(float* out) {
    __shared__ __align__(16) float s[32];
    *reinterpret_cast<float2*>(&s[4 * threadIdx.x]) = make_float2(1, 2);
    out[threadIdx.x] = threadIdx.x & 1 ? 0.0f : s[4 * threadIdx.x];
}
