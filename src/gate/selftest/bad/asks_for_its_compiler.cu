#ifdef __CUDACC_RTC__
#define MORE y[i]
#else
#define MORE 0.0f
#endif
__global__ void add(float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + MORE;
}
