__global__ void axpy(float a, const float* y, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += a * y[i];
}
