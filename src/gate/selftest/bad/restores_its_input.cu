__global__ void add(float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float before = x[i];
    x[i] = before + y[i];
    z[i] = x[i];
    x[i] = before;
}
