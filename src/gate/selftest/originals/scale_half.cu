#include <cuda_fp16.h>

// kopt: dims.n = { samples = [600], max = 100000 }
// kopt: args.x = { role = "in", dtype = "f16", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f16", shape = ["n"] }
// kopt: launch = { grid = "ceil_div(n, 128)", block = 128, args = ["x", "y", "i32(n)"] }
__global__ void scale_half(const __half* x, __half* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = __float2half(2.5f * __half2float(x[i]));
}
