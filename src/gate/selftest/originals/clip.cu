// kopt: dims.n = { samples = [600], min = 1, max = 100000 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["n"], legal = [-1e6, 1e6], nan = true }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "ceil_div(n, 128)", block = 128, args = ["x", "y", "i32(n)"] }
__global__ void clip(const float* x, float* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = x[i] > -3.0f ? x[i] : -3.0f;
}
