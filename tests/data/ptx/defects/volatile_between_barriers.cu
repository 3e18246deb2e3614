// Volatile accesses by threads of several warps, with a barrier missing that plain ones would need as well.
// launch 1 64 0
// buffer in f32 64 iota
// buffer out f32 64 none
extern "C" __global__ void broken(const float* in, float* out) {
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    out[t] = s[t ^ 1];  //! Race
}
extern "C" __global__ void repaired(const float* in, float* out) {
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    out[t] = s[t ^ 33];
    __syncthreads();
    s[t] = 2 * in[t];
    __syncthreads();
    out[t] += s[t ^ 1];
}
