__global__ void row_sum(const float* x, float* y, int cols) {
    __shared__ float part[128];
    const float* row = x + (long long)blockIdx.x * cols;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) sum += row[c];
    part[threadIdx.x] = sum;
    if (threadIdx.x < 128 && threadIdx.x % 32 < 24) {
        for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) part[0] = part[0] + part[1] + part[2] + part[3];
    if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
