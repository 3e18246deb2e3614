// kopt: dims.n = { samples = [700], max = 100000 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "inout", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "ceil_div(n, 128)", block = 128, args = ["f32(0.75)", "x", "y", "i32(n)"] }
__global__ void axpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
