// skill: shuffle_reduce; at rows=262144 cols=1024
// kopt: dims.rows = { samples = [37], min = 1, max = 262144 }
// kopt: dims.cols = { samples = [300], min = 1, max = 1024 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["rows", "cols"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["rows"] }
// kopt: launch = { grid = "rows", block = 128, args = ["x", "y", "i32(cols)"] }
__global__ void row_max(const float* x, float* y, int cols) {
    __shared__ float sm[128];
    float m = -3.402823466e+38f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, x[blockIdx.x * cols + c]);
    sm[threadIdx.x] = m;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) sm[threadIdx.x] = fmaxf(sm[threadIdx.x], sm[threadIdx.x + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = sm[0];
}
