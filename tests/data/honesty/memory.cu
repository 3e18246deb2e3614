// Addresses: vectors, tiles, offsets, aliases.

// kopt: dims.n = { samples = [128], min = 4, max = 400, divisible_by = 4 }
// kopt: args.x = { role = "in", dtype = "f32", shape = "n", align = 16 }
// kopt: args.y = { role = "out", dtype = "f32", shape = "n", align = 16 }
// kopt: launch = { grid = "ceil_div(n, 128)", block = 32, args = ["x", "y", "i32(n)"] }
__global__ void vectors(const float* __restrict__ x, float* __restrict__ y, int n) {
    const int i = 4 * (blockIdx.x * 32 + threadIdx.x);
    if (i + 3 < n) {
        float4 v = *reinterpret_cast<const float4*>(&x[i]);
        v.x += v.y * __ldg(&x[i + 1]);
        reinterpret_cast<float4*>(y)[i / 4] = v;
        y[i + 3] = x[(i + 4) % n];
    }
}

// kopt: assume blockDim.x == 16
// kopt: assume blockDim.y == 16
// kopt: assume blockDim.z == 1
// kopt: dims.n = { samples = [48], min = 1, max = 100 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["n", "n"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n", "n"] }
// kopt: launch = { grid = ["ceil_div(n, 16)", "ceil_div(n, 16)"], block = [16, 16], args = ["x", "y", "i32(n)"] }
__global__ void tiles(const float* x, float* y, int n) {
    __shared__ float plain[16][16];
    __shared__ float padded[16][17];
    __shared__ __align__(16) unsigned short halves[16][16];
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    float v = col < n && row < n ? x[row * n + col] : 0.0f;
    plain[threadIdx.y][threadIdx.x] = v;
    padded[threadIdx.y][threadIdx.x] = v;
    halves[threadIdx.x][threadIdx.y] = (unsigned short)threadIdx.x;
    __syncthreads();
    float w = plain[threadIdx.x][threadIdx.y] + padded[threadIdx.x][threadIdx.y] + halves[threadIdx.y][threadIdx.x];
    col = blockIdx.y * 16 + threadIdx.x;
    row = blockIdx.x * 16 + threadIdx.y;
    if (col < n && row < n) y[row * n + col] = w;
}

// kopt: dims.n = { samples = [64], min = 1, max = 200 }
// kopt: args.x = { role = "inout", dtype = "i32", shape = "2 * n + 2" }
// kopt: launch = { grid = 1, block = 32, args = ["x", "x + n", "i32(n)"] }
__global__ void halves(int* a, int* b, int n) {
    int kept[4];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        for (int k = 0; k < 4; ++k) kept[k] = a[i] + k;
        b[i] = kept[i % 4] + 1;
        a[i] = kept[3 - i % 4];
    }
}

struct Shape {
    int rows, cols;
    unsigned pitch;
};

// kopt: args.x = { role = "in", dtype = "i32", shape = "64" }
// kopt: args.y = { role = "out", dtype = "i32", shape = "64" }
// kopt: args.c = { role = "inout", dtype = "u32", shape = "4" }
// kopt: launch = { grid = 2, block = 32, shared = 256, args = ["x", "y", "c"] }
__global__ void dynamic(const int* x, int* y, unsigned* c) {
    extern __shared__ int pool[];
    int* upper = pool + 32;
    const Shape shape = {2, 32, 4u};
    pool[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
    upper[31 - threadIdx.x] = threadIdx.x;
    __syncthreads();
    atomicAdd(&c[threadIdx.x % shape.pitch], 1u);
    const int* read = x;
    read += blockIdx.x * shape.cols;
    y[blockIdx.x * blockDim.x + threadIdx.x] = pool[upper[threadIdx.x]] + read[threadIdx.x];
}
