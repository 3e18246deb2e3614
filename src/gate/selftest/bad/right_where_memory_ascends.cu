__global__ void add(float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x < z ? x[i] + y[i] : x[i] - y[i];
}
