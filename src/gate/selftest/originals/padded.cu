// kopt: dims.rows = { samples = [9], max = 100 }
// kopt: dims.cols = { samples = [50], max = 64 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["rows", "cols"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["rows", 64] }
// kopt: launch = { grid = "rows", block = 64, args = ["x", "y", "i32(cols)"] }
__global__ void padded(const float* x, float* y, int cols) {
    int c = threadIdx.x;
    if (c < cols) y[blockIdx.x * 64 + c] = 2.0f * x[blockIdx.x * cols + c];
}
