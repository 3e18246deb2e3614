// Cases, what falls into them, and what jumps past statements.

// kopt: dims.n = { samples = [130], min = 1, max = 500 }
// kopt: args.x = { role = "in", dtype = "i32", shape = "n", legal = [-3, 7] }
// kopt: args.y = { role = "out", dtype = "i32", shape = "n", init = "zero" }
// kopt: launch = { grid = "ceil_div(n, 64)", block = 64, args = ["x", "y", "i32(n)"] }
__global__ void falling(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i], a = 1;
    switch (v) {
        case 0:
            a = v + 10;
        case 1:
            a += v;
            y[i] = a;
            break;
        case 2:
        case 5: {
            int b = v * 2;
            a = b;
            if (i > 60) break;
            a = b + v;
            break;
        }
        case -3:
            y[i] = 9;
            return;
        default:
            a = v - 4;
            y[i] = a + v;
        case 7:
            a = v;
    }
    y[i] += a;
    switch (i & 3) {
        case 3: return;
        case 1: y[i] += 100;
    }
    y[i] += i & 3;
}

// kopt: dims.n = { samples = [130], min = 1, max = 500 }
// kopt: args.y = { role = "out", dtype = "i32", shape = "n", init = "zero" }
// kopt: launch = { grid = "ceil_div(n, 64)", block = 64, args = ["y", "i32(n)"] }
__global__ void unsigned_cases(int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned u = i - 2u;
    switch (u) {
        case 0xffffffffu: y[i] = (int)(u >> 4); break;
        case 0: y[i] = (int)u + 5; break;
        case 3: case 9: case 12: y[i] = (int)(100 - u); break;
        default: y[i] = (int)(u % 7);
    }
    unsigned char c = (unsigned char)i;
    switch (c) {
        case 200: y[i] += c; break;
        case 1: ++c; y[i] += c; break;
        case 2: y[i] += c; break;
    }
    for (int k = 0; k < 4; ++k) {
        switch (k) {
            case 1: continue;
            case 2: y[i] += k; break;
            default: y[i] -= k;
        }
        y[i] += 1;
    }
    switch (int q = i & 1; q) {
        case 0: y[i] += q; break;
        case 1: y[i] -= q;
    }
}

// kopt: dims.n = { samples = [130], min = 1, max = 500 }
// kopt: args.y = { role = "out", dtype = "i32", shape = "n", init = "zero" }
// kopt: launch = { grid = "ceil_div(n, 64)", block = 64, args = ["y", "i32(n)", "i32(3)"] }
__global__ void modes(int* y, int n, int mode) {
    __shared__ int t[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    t[threadIdx.x] = i;
    switch (mode) {
        case 0: t[threadIdx.x] = mode; break;
        case 3:
            __syncthreads();
            if (i < n) y[i] = t[63 - threadIdx.x] + mode;
            break;
        default: return;
    }
    if (i < n) y[i] += mode;
}

// kopt: dims.n = { samples = [130], min = 1, max = 500 }
// kopt: args.y = { role = "out", dtype = "i32", shape = "n", init = "zero" }
// kopt: launch = { grid = "ceil_div(n, 64)", block = 64, args = ["y", "i32(n)"] }
__global__ void declared_in_heads(int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = 0;
    while (int left = 5 - k) {
        y[i] += left;
        k++;
    }
    int t[3] = {4, 5, 6};
    for (int v : t) {
        y[i] += k + v;
        k++;
    }
    y[i] += k;
}
