__constant__ float taps[5];
__global__ void filter(const float* x, float* y, int n) {
    float t[5];
    for (int k = 0; k < 5; ++k) t[k] = taps[k];
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) {
        float s = 0.0f;
        for (int k = 0; k < 5; ++k) s += t[k] * x[i + k];
        y[i] = s;
    }
}
