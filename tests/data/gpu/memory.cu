// Ways into and out of memory.
#include <cuda_pipeline.h>

__constant__ float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "(n + 127) / 128", block = 128, shared = "4 * 132", args = ["a", "y", "i32(n)"] }
__global__ void stencil(const float* a, float* y, int n) {
    extern __shared__ float tile[];
    int i = blockIdx.x * 128 + threadIdx.x;
    for (int t = threadIdx.x; t < 132; t += 128) {
        int at = blockIdx.x * 128 + t - 2;
        tile[t] = at >= 0 && at < n ? __ldg(a + at) : 0.0f;
    }
    __syncthreads();
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < 5; ++k) sum = fmaf(weights[k], tile[threadIdx.x + k], sum);
    y[i] = sum;
}

// kopt: dims.n = { samples = [1024], max = 100000, divisible_by = 128 }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "n / 128", block = 32, args = ["a", "y"] }
__global__ void staged(const float* a, float* y) {
    __shared__ __align__(16) float tile[2][64];
    int t = threadIdx.x, base = blockIdx.x * 128;
    for (int half = 0; half < 2; ++half) {
        if (t < 16) __pipeline_memcpy_async(&tile[half][4 * t], a + base + 64 * half + 4 * t, 16);
        __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    __syncthreads();
    y[base + t] = tile[0][63 - t] + 1.0f;
    y[base + 32 + t] = tile[0][31 - t] * 2.0f;
    __pipeline_wait_prior(0);
    __syncthreads();
    y[base + 64 + t] = tile[1][t ^ 5];
    y[base + 96 + t] = tile[1][32 + (t ^ 9)];
}

// kopt: dims.rows = { samples = [33], max = 1000 }
// kopt: dims.cols = { samples = [70], max = 1000 }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["rows", "cols"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["cols", "rows"] }
// kopt: launch = { grid = ["(cols + 31) / 32", "(rows + 31) / 32"], block = [32, 8], args = ["a", "y", "i32(rows)", "i32(cols)"] }
__global__ void transposed(const float* a, float* y, int rows, int cols) {
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r0 = blockIdx.y * 32;
    for (int k = threadIdx.y; k < 32; k += 8)
        if (r0 + k < rows && c < cols) tile[k][threadIdx.x] = a[(long long)(r0 + k) * cols + c];
    __syncthreads();
    int r = r0 + threadIdx.x, c0 = blockIdx.x * 32;
    for (int k = threadIdx.y; k < 32; k += 8)
        if (r < rows && c0 + k < cols) y[(long long)(c0 + k) * rows + r] = tile[threadIdx.x][k];
}

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "i32", shape = ["n"], legal = [0, 31] }
// kopt: args.y = { role = "out", dtype = "i32", shape = ["n"] }
// kopt: launch = { grid = "(n + 63) / 64", block = 64, args = ["a", "y", "i32(n)"] }
__global__ void local_array(const int* a, int* y, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    int seen[32];
    for (int k = 0; k < 32; ++k) seen[k] = k * k;
    for (int k = 0; k < 8; ++k) seen[(a[i] + 5 * k) & 31] += a[(i + k) % n];
    y[i] = seen[a[i]] - seen[a[(i * 7) % n]];
}
