// kopt: dims.rows = { samples = [6], max = 310 }
// kopt: dims.cols = { samples = [500], max = 1000 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["rows", "cols"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["rows"] }
// kopt: launch = { grid = "rows", block = 128, args = ["x", "y", "i32(cols)"] }
__global__ void row_sum(const float* x, float* y, int cols) {
    __shared__ float part[128];
    const float* row = x + (long long)blockIdx.x * cols;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) sum += row[c];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
