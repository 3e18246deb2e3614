__global__ void add(float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = *(const volatile float*)(x + i);
    if (i < n) z[i] = v + y[i];
}
