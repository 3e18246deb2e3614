// kopt: dims.n = { samples = [1024] }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.c = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "n / 256", block = 256, args = ["a", "c", "i32(n)"] }
__global__ void reverse(const float* a, float* c, int n) {
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = a[i];
    c[i] = tile[255 - threadIdx.x];
}
