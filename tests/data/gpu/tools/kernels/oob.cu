__device__ float twice(const float* a, int i) {
    return 2.0f * a[i];
}
// kopt: dims.n = { samples = [1000] }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.c = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "ceil_div(n, 256)", block = 256, args = ["a", "c", "i32(n)"] }
__global__ void scale(const float* a, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = twice(a, i + 4096);
}
