__global__ void add(float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    z[i] = i < n ? x[i] + y[i] : 0.0f;
}
