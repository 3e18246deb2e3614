// The mask is right, but lanes 8 to 15 read from lanes that are not in it.
// launch 1 32 0
// buffer in f32 32 iota
// buffer out f32 32 none
extern "C" __global__ void broken(const float* in, float* out) {
    float v = in[threadIdx.x];
    if (threadIdx.x < 16) {
        v += __shfl_down_sync(0x0000ffffu, v, 8);  //! InactiveLane
    }
    out[threadIdx.x] = v;
}
extern "C" __global__ void repaired(const float* in, float* out) {
    float v = in[threadIdx.x];
    if (threadIdx.x < 16) {
        v += __shfl_down_sync(0x0000ffffu, v, 8, 16);
    }
    out[threadIdx.x] = v;
}
