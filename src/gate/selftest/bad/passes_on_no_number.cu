__global__ void clip(const float* x, float* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = x[i] <= -3.0f ? -3.0f : x[i];
}
