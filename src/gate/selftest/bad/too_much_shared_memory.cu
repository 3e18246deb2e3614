// kopt: dims.n = { samples = [640], max = 100000 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "ceil_div(n, 128)", block = 128, shared = 240000, args = ["x", "y", "i32(n)"] }
__global__ void stage(const float* x, float* y, int n) {
    extern __shared__ float tile[];
    int i = blockIdx.x * 128 + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) y[i] = 3.0f * tile[threadIdx.x];
}
