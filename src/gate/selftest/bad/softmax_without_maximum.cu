__global__ void softmax(const float* x, float* y, int cols) {
    __shared__ float part[64];
    int t = threadIdx.x;
    const float* in = x + (long long)blockIdx.x * cols;
    float* out = y + (long long)blockIdx.x * cols;
    float sum = 0.0f;
    for (int c = t; c < cols; c += 64) sum += expf(in[c]);
    part[t] = sum;
    __syncthreads();
    for (int h = 32; h > 0; h /= 2) {
        if (t < h) part[t] += part[t + h];
        __syncthreads();
    }
    sum = part[0];
    for (int c = t; c < cols; c += 64) out[c] = expf(in[c]) / sum;
}
