// launch 7 64 256
// buffer in f32 700 mod7
// buffer out f32 700 none
// int 100
extern "C" __global__ void softmax(const float* in, float* out, int cols) {
    extern __shared__ float buf[];
    const float* row = in + blockIdx.x * cols;
    float best = -3.4e38f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) best = fmaxf(best, row[i]);
    buf[threadIdx.x] = best;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) buf[threadIdx.x] = fmaxf(buf[threadIdx.x], buf[threadIdx.x + s]);
        __syncthreads();
    }
    best = buf[0];
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - best);
    buf[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) buf[threadIdx.x] += buf[threadIdx.x + s];
        __syncthreads();
    }
    float inverse = 1.0f / buf[0];
    for (int i = threadIdx.x; i < cols; i += blockDim.x) out[blockIdx.x * cols + i] = expf(row[i] - best) * inverse;
}
