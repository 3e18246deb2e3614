__global__ void add(float* x, const float* y, float* z, int n) {
    unsigned short i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x * blockDim.x + threadIdx.x < n) z[i] = x[i] + y[i];
}
