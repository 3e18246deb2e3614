// A Hillis-Steele scan that reads and writes one buffer between two barriers.
// launch 1 64 0
// buffer out f32 64 none
extern "C" __global__ void broken(float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = 1;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        float v = t >= d ? s[t - d] : 0;  //! Race
        s[t] += v;  //! Race
        __syncthreads();
    }
    out[t] = s[t];
}
extern "C" __global__ void repaired(float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = 1;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        float v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    out[t] = s[t];
}
