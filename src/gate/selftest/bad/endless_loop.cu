__global__ void add(float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    while (i < n && n > 0) z[i] = x[i] + y[i];
}
