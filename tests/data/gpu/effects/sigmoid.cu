// skill: use_fast_intrinsic; at n=268435456
// kopt: dims.n = { samples = [5000], min = 1, max = 268435456 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: assume = ["permit(approximate)"]
// kopt: launch = { grid = 4096, block = 256, args = ["x", "y", "i32(n)"] }
__global__ void sigmoid(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = 1.0f / (1.0f + expf(-x[i]));
    }
}
