// Eight lanes reduce among themselves; only lane 0 has the sum, the others hold parts of what nobody gave.
// launch 2 32 0
// buffer in f32 64 iota
// buffer out f32 64 none
extern "C" __global__ void broken(const float* in, float* out) {
    int t = threadIdx.x;
    if (t < 8) {
        float v = in[blockIdx.x * 32 + t];
        v += __shfl_down_sync(0xffu, v, 4);  //! InactiveLane
        v += __shfl_down_sync(0xffu, v, 2);  //! InactiveLane
        v += __shfl_down_sync(0xffu, v, 1);  //! InactiveLane
        out[blockIdx.x * 32 + t] = v;
    }
}
extern "C" __global__ void repaired(const float* in, float* out) {
    int t = threadIdx.x;
    if (t < 8) {
        float v = in[blockIdx.x * 32 + t];
        v += __shfl_down_sync(0xffu, v, 4);
        v += __shfl_down_sync(0xffu, v, 2);
        v += __shfl_down_sync(0xffu, v, 1);
        if (t == 0) out[blockIdx.x] = v;
    }
}
