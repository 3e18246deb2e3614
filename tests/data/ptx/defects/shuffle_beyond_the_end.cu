// The last warp has fewer threads than its mask says.
// launch 1 48 0
// buffer in f32 48 iota
// buffer out f32 48 none
extern "C" __global__ void broken(const float* in, float* out) {
    float v = in[threadIdx.x];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);  //! InactiveLane
    out[threadIdx.x] = v;
}
extern "C" __global__ void repaired(const float* in, float* out) {
    float v = in[threadIdx.x];
    unsigned mask = threadIdx.x < 32 ? 0xffffffffu : 0xffffu;
    int width = threadIdx.x < 32 ? 32 : 16;
    for (int d = width / 2; d > 0; d >>= 1) v += __shfl_down_sync(mask, v, d, width);
    out[threadIdx.x] = v;
}
