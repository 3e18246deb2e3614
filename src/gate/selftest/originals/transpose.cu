// kopt: dims.rows = { samples = [70], max = 1000 }
// kopt: dims.cols = { samples = [45], max = 1000 }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["rows", "cols"] }
// kopt: args.b = { role = "out", dtype = "f32", shape = ["cols", "rows"] }
// kopt: launch = { grid = ["ceil_div(cols, 16)", "ceil_div(rows, 16)"], block = [16, 16], args = ["a", "b", "i32(rows)", "i32(cols)"] }
__global__ void transpose(const float* a, float* b, int rows, int cols) {
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (r < rows && c < cols) b[c * rows + r] = a[r * cols + c];
}
