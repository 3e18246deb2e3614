// kopt: dims.rows = { samples = [4], max = 1000 }
// kopt: dims.cols = { samples = [200], max = 4096, min = 1 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["rows", "cols"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["rows", "cols"] }
// kopt: launch = { grid = "rows", block = 64, args = ["x", "y", "i32(cols)"] }
__global__ void softmax(const float* x, float* y, int cols) {
    __shared__ float part[64];
    int t = threadIdx.x;
    const float* in = x + (long long)blockIdx.x * cols;
    float* out = y + (long long)blockIdx.x * cols;
    float most = -INFINITY;
    for (int c = t; c < cols; c += 64) most = fmaxf(most, in[c]);
    part[t] = most;
    __syncthreads();
    for (int h = 32; h > 0; h /= 2) {
        if (t < h) part[t] = fmaxf(part[t], part[t + h]);
        __syncthreads();
    }
    most = part[0];
    __syncthreads();
    float sum = 0.0f;
    for (int c = t; c < cols; c += 64) sum += expf(in[c] - most);
    part[t] = sum;
    __syncthreads();
    for (int h = 32; h > 0; h /= 2) {
        if (t < h) part[t] += part[t + h];
        __syncthreads();
    }
    sum = part[0];
    for (int c = t; c < cols; c += 64) out[c] = expf(in[c] - most) / sum;
}
