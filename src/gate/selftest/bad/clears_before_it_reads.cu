__global__ void blend(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    y[i] = 1.0f;
    y[i] += a * x[i];
}
