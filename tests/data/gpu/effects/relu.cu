// skill: vectorize_access; at n=268435456
#include <cuda_bf16.h>

// kopt: dims.n = { samples = [4096], min = 32, max = 268435456, divisible_by = 32 }
// kopt: args.x = { role = "inout", dtype = "bf16", shape = ["n"], align = 16 }
// kopt: launch = { grid = "ceil_div(n, 8192)", block = 256, args = ["x", "i32(n)"] }
__global__ void relu(__nv_bfloat16* x, int n) {
    int base = (blockIdx.x * blockDim.x + threadIdx.x) * 32;
    if (base + 32 > n) return;
    for (int i = 0; i < 32; ++i) {
        const float v = __bfloat162float(x[base + i]);
        x[base + i] = __float2bfloat16(v > 0.0f ? v : 0.0f);
    }
}
