// The last warp adds without __syncwarp: volatile makes the accesses happen, it does not put lanes in step.
// launch 1 64 0
// buffer in f32 64 ones
// buffer out f32 1 none
extern "C" __global__ void broken(const float* in, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    if (t < 32) {
        volatile float* v = s;
        v[t] += v[t + 32];
        v[t] += v[t + 16];  //! Race
        v[t] += v[t + 8];  //! Race
        if (t == 0) out[0] = v[0] + v[1];  //! Race
    }
}
extern "C" __global__ void repaired(const float* in, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    if (t < 32) {
        volatile float* v = s;
        float x = v[t] + v[t + 32];
        for (int d = 16; d > 0; d /= 2) {
            __syncwarp();
            v[t] = x;
            __syncwarp();
            if (t < d) x += v[t + d];
        }
        if (t == 0) out[0] = x;
    }
}
