__constant__ float taps[5];
// kopt: dims.n = { samples = [600], min = 1, max = 100000 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["n + 4"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: args.taps = { role = "in", dtype = "f32", shape = [5], symbol = "taps" }
// kopt: launch = { grid = "ceil_div(n, 128)", block = 128, args = ["x", "y", "i32(n)"] }
__global__ void filter(const float* x, float* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    float s = 0.0f;
    for (int k = 0; k < 5; ++k) s += taps[k] * x[i + k];
    y[i] = s;
}
