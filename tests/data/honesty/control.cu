// Branches, exits, barriers and what is equal in all threads.

// kopt: dims.n = { samples = [150], min = 1, max = 400 }
// kopt: args.x = { role = "in", dtype = "f32", shape = "n" }
// kopt: args.y = { role = "out", dtype = "f32", shape = "ceil_div(n, 64)" }
// kopt: launch = { grid = "ceil_div(n, 64)", block = 64, args = ["x", "y", "i32(n)"] }
__global__ void tree(const float* x, float* y, int n) {
    __shared__ float tile[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) tile[threadIdx.x] += tile[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = tile[0];
}

// kopt: dims.n = { samples = [96], min = 1, max = 300 }
// kopt: args.x = { role = "in", dtype = "i32", shape = "n", legal = [0, 9] }
// kopt: args.y = { role = "out", dtype = "i32", shape = "n" }
// kopt: launch = { grid = "ceil_div(n, 32)", block = 32, args = ["x", "y", "i32(n)", "i32(3)"] }
__global__ void arms(const int* x, int* y, int n, int mode) {
    __shared__ int shared[32];
    int kind = 0, i = blockIdx.x * 32 + threadIdx.x;
    if (mode > 2) kind = blockIdx.x + 1;
    else kind = threadIdx.x;
    if (kind > 1 && blockIdx.x % 2 == 0) {
        shared[threadIdx.x] = kind;
        __syncthreads();
    } else {
        shared[threadIdx.x] = -kind;
        __syncthreads();
    }
    int own = shared[31 - threadIdx.x];
    if (blockIdx.x > 7) return;
    switch (mode) {
        case 1: own += 1;
        case 3: own += i < n ? x[i] : 0; break;
        default: own = 0;
    }
    for (int k = 0; k < mode; ++k) {
        __syncthreads();
        shared[(threadIdx.x + k) % 32] = own + k;
        __syncthreads();
        own = shared[threadIdx.x];
    }
    if (i < n || (i == n && mode == 77)) {
        int value = x[i];
        while (value > 2) value -= threadIdx.x % 2 ? 2 : 3;
        y[i] = value + own;
    }
}

// kopt: dims.n = { samples = [70], min = 1, max = 200 }
// kopt: args.x = { role = "inout", dtype = "i32", shape = "n", legal = [0, 50] }
// kopt: launch = { grid = 1, block = [16, 4], args = ["x", "i32(n)"] }
__global__ void early(int* x, int n) {
    int i = threadIdx.y * 16 + threadIdx.x;
    int step = blockDim.x * blockDim.y;
    if (i >= n) return;
    int seen = 0;
    for (; i < n; i += step) {
        if (x[i] == 0) return;
        if (x[i] > 40) continue;
        x[i] -= 1;
        seen++;
    }
    if (seen && threadIdx.y > 1) x[threadIdx.y * 16 + threadIdx.x] += seen;
}
