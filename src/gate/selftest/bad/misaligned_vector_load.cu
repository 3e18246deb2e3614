__global__ void row_sum(const float* x, float* y, int cols) {
    __shared__ float part[128];
    const float* row = x + (long long)blockIdx.x * cols;
    float sum = 0.0f;
    const float4* wide = reinterpret_cast<const float4*>(row);
    for (int c = threadIdx.x; c < cols / 4; c += 128) {
        float4 v = wide[c];
        sum += v.x + v.y + v.z + v.w;
    }
    if (threadIdx.x < cols % 4) sum += row[cols / 4 * 4 + threadIdx.x];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
