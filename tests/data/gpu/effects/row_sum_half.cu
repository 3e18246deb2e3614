// skill: vectorize_access; at rows=131072 cols=2048
#include <cuda_fp16.h>

// kopt: dims.rows = { samples = [200], min = 1, max = 131072 }
// kopt: dims.cols = { samples = [64], min = 8, max = 2048, divisible_by = 8 }
// kopt: args.x = { role = "in", dtype = "f16", shape = ["rows", "cols"], align = 16 }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["rows"] }
// kopt: launch = { grid = "ceil_div(rows, 128)", block = 128, args = ["x", "y", "i32(rows)", "i32(cols)"] }
__global__ void row_sum(const __half* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float acc = 0.0f;
    for (int i = 0; i < cols; ++i) acc += __half2float(x[r * cols + i]);
    y[r] = acc;
}
