__device__ float load(const float* a, int at) {
    return a[at];
}
// kopt: dims.n = { samples = [64], min = 32, max = 8192, divisible_by = 32 }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["n", "n"] }
// kopt: args.c = { role = "out", dtype = "f32", shape = ["n", "n"] }
// kopt: launch = { grid = ["n / 32", "n / 32"], block = [32, 32], args = ["a", "c", "i32(n)"] }
__global__ void transpose(const float* a, float* c, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = load(a, y * n + x);
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    c[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
