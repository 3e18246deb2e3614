__global__ void row_sum(const float* x, float* y, int cols) {
    __shared__ float part[128];
    const float* row = x + (long long)blockIdx.x * cols;
    float sum = 0.0f;
    for (int c = 4 * threadIdx.x; c + 3 < cols; c += 512) sum += row[c] + row[c + 1] + (row[c + 2] + row[c + 3]);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
