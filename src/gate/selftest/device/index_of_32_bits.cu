__global__ void invert(const unsigned char* x, unsigned char* y, long long n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 255 - x[i];
}
