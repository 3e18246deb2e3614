__global__ void invert(const unsigned char* x, unsigned char* y, long long n) {
    unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = static_cast<unsigned char>(~x[i]);
}
