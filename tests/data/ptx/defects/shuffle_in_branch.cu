// A full mask in code that half of the warp does not reach.
// launch 1 32 0
// buffer in f32 32 iota
// buffer out f32 32 none
extern "C" __global__ void broken(const float* in, float* out) {
    float v = in[threadIdx.x];
    if (threadIdx.x < 16) {
        v += __shfl_xor_sync(0xffffffffu, v, 1);  //! InactiveLane
    }
    out[threadIdx.x] = v;
}
extern "C" __global__ void repaired(const float* in, float* out) {
    float v = in[threadIdx.x];
    float other = __shfl_xor_sync(0xffffffffu, v, 1);
    if (threadIdx.x < 16) v += other;
    out[threadIdx.x] = v;
}
