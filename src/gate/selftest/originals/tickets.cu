__device__ unsigned int served;
// kopt: dims.n = { samples = [300], min = 1, max = 5000 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: permissions = { mutable_globals = ["served"] }
// kopt: launch = { grid = "ceil_div(n, 128)", block = 128, args = ["x", "y", "i32(n)"] }
__global__ void serve(const float* x, float* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = x[i] * 3.0f;
    if (i == 0) served += 1;
}
