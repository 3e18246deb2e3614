__global__ void clip(const float* x, float* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = fminf(x[i] > -3.0f ? x[i] : -3.0f, 65504.0f);
}
