// A scan over blocks by looking back at flags: each block waits for the one before.
// launch 6 32 0
// buffer in f32 192 iota
// buffer sums f32 6 zeros
// buffer flags i32 6 zeros
// buffer out f32 192 none
extern "C" __global__ void broken(const float* in, float* sums, volatile int* flags, float* out) {
    __shared__ float before;
    int t = threadIdx.x, b = blockIdx.x;
    float x = in[32 * b + t];
    for (int d = 1; d < 32; d *= 2) {
        float y = __shfl_up_sync(0xffffffffu, x, d);
        if (t >= d) x += y;
    }
    if (t == 31) {
        float sum = 0;
        if (b > 0) {
            while (flags[b - 1] == 0) {}
            __threadfence();
            sum = sums[b - 1];  //! Race
        }
        before = sum;
        sums[b] = sum + x;
        flags[b] = 1;
    }
    __syncthreads();
    out[32 * b + t] = before + x;
}
extern "C" __global__ void repaired(const float* in, float* sums, volatile int* flags, float* out) {
    __shared__ float before;
    int t = threadIdx.x, b = blockIdx.x;
    float x = in[32 * b + t];
    for (int d = 1; d < 32; d *= 2) {
        float y = __shfl_up_sync(0xffffffffu, x, d);
        if (t >= d) x += y;
    }
    if (t == 31) {
        float sum = 0;
        if (b > 0) {
            while (flags[b - 1] == 0) {}
            __threadfence();
            sum = sums[b - 1];
        }
        before = sum;
        sums[b] = sum + x;
        __threadfence();
        flags[b] = 1;
    }
    __syncthreads();
    out[32 * b + t] = before + x;
}
