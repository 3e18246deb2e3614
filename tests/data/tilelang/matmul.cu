// The product of matrices that tests/data/tilelang/matmul.py computes, one thread for each element.
#include <cuda_fp16.h>

// kopt: dims.m = { samples = [128], min = 128, max = 128 }
// kopt: dims.n = { samples = [128], min = 128, max = 128 }
// kopt: dims.k = { samples = [128], min = 128, max = 128 }
// kopt: args.A = { role = "in", dtype = "f16", shape = ["m", "k"], align = 16 }
// kopt: args.B = { role = "in", dtype = "f16", shape = ["k", "n"], align = 16 }
// kopt: args.C = { role = "out", dtype = "f16", shape = ["m", "n"], align = 16 }
// kopt: launch = { grid = ["ceil_div(n, 32)", "ceil_div(m, 8)"], block = [32, 8], args = ["A", "B", "C", "i32(m)", "i32(n)", "i32(k)"] }
__global__ void matmul(const __half* A, const __half* B, __half* C, int m, int n, int k) {
    int col = blockIdx.x * 32 + threadIdx.x;
    int row = blockIdx.y * 8 + threadIdx.y;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += __half2float(A[row * k + i]) * __half2float(B[i * n + col]);
    C[row * n + col] = __float2half(sum);
}
