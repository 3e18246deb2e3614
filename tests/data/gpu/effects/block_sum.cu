// skill: shuffle_reduce; at n=268435456
// kopt: dims.n = { samples = [1000], min = 1, max = 268435456 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["ceil_div(n, 256)"] }
// kopt: launch = { grid = "ceil_div(n, 256)", block = 256, args = ["x", "y", "i32(n)"] }
__global__ void block_sum(const float* x, float* y, int n) {
    __shared__ float sm[256];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    sm[tid] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sm[tid] += sm[tid + s];
        __syncthreads();
    }
    if (tid == 0) y[blockIdx.x] = sm[0];
}
