__global__ void padded(const float* x, float* y, int cols) {
    int c = threadIdx.x;
    y[blockIdx.x * 64 + c] = c < cols ? 2.0f * x[blockIdx.x * cols + c] : 0.0f;
}
