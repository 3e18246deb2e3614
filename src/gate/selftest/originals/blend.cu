// kopt: dims.n = { samples = [600], min = 1, max = 100000 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: args.a = { role = "scalar", dtype = "f32", value = 0.5, legal = [-2.0, 2.0] }
// kopt: alias = [["x", "y"]]
// kopt: launch = { grid = "ceil_div(n, 128)", block = 128, args = ["a", "x", "y", "i32(n)"] }
__global__ void blend(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = a * x[i] + 1.0f;
}
