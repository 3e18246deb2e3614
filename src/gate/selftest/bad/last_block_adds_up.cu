__global__ void total(const float* x, float* y, int n) {
    __shared__ float part[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (threadIdx.x > 0) return;
    float sum = 0.0f;
    for (int k = 0; k < 128; ++k) sum += part[k];
    *y += sum;
}
