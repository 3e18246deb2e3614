__global__ void row_sum(const float* x, float* y, int cols) {
    __shared__ float part[128];
    const float* row = x + (long long)blockIdx.x * cols;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) sum += row[c];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) part[0] = (part[0] + part[32]) + (part[64] + part[96]);
    if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
