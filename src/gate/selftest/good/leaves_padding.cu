__global__ void padded(const float* x, float* y, int cols) {
    for (int c = threadIdx.x; c < cols; c += 32) {
        if (threadIdx.x < 32) y[blockIdx.x * 64 + c] = x[blockIdx.x * cols + c] + x[blockIdx.x * cols + c];
    }
}
