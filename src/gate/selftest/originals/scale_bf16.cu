#include <cuda_bf16.h>

// kopt: dims.n = { samples = [777], max = 100000 }
// kopt: args.x = { role = "in", dtype = "bf16", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "bf16", shape = ["n"] }
// kopt: launch = { grid = "ceil_div(n, 128)", block = 128, args = ["x", "y", "i32(n)"] }
__global__ void scale_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = __float2bfloat16(1.5f * __bfloat162float(x[i]) + 0.25f);
}
