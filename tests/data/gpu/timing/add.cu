// Adds two vectors: as fast as memory.

// kopt: dims.n = { samples = [1000], min = 1, max = 536870912 }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.b = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.c = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "ceil_div(n, 256)", block = 256, args = ["a", "b", "c", "i32(n)"] }
__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
