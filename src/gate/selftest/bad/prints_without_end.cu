__global__ void add(float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
    for (int k = 0; k < 4000; ++k) printf("line %d of a flood that goes on and on and on and on\n", k);
}
