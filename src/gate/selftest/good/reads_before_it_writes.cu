__global__ void blend(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    y[i] = fmaf(a, v, 1.0f);
}
