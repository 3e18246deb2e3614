// kopt: dims.n = { samples = [1000], max = 1000000 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.z = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "ceil_div(n, 256)", block = 256, args = ["x", "y", "z", "i32(n)"] }
__global__ void add(float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
