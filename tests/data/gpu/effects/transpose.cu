// skill: pad_shared; at n=16384
// kopt: dims.n = { samples = [96], min = 1, max = 16384 }
// kopt: args.in = { role = "in", dtype = "f32", shape = ["n", "n"] }
// kopt: args.out = { role = "out", dtype = "f32", shape = ["n", "n"] }
// kopt: launch = { grid = ["ceil_div(n, 32)", "ceil_div(n, 32)"], block = [32, 32], args = ["in", "out", "i32(n)"] }
__global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    int tx = blockIdx.y * 32 + threadIdx.x;
    int ty = blockIdx.x * 32 + threadIdx.y;
    if (tx < n && ty < n) out[ty * n + tx] = tile[threadIdx.x][threadIdx.y];
}
