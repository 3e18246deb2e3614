// Loops of every form: counters, steps, exits, nesting.

// kopt: dims.n = { samples = [77], min = 1, max = 200 }
// kopt: args.x = { role = "in", dtype = "f32", shape = "n" }
// kopt: args.y = { role = "out", dtype = "f32", shape = "64" }
// kopt: launch = { grid = 1, block = 64, args = ["x", "y", "i32(n)"] }
__global__ void forms(const float* x, float* y, int n) {
    const int t = threadIdx.x;
    float s = 0.0f;
    for (int i = t; i < n; i += 64) s += x[i];
    for (int i = n - 1; i >= 0; --i) s += x[i];
    for (int i = n - 1; i > t; i -= 3) s -= x[i];
    int i = 0;
    while (i < n) {
        s += x[i];
        i += 5;
        if (i < n) s += x[i];
    }
    int j = n;
    do {
        j -= 7;
        if (j > 0) s += x[j];
    } while (j > 0);
    for (int k = 0, m = n - 1; k < m; ++k, --m) s += x[k] * x[m];
    for (int d = 32; d > 0; d >>= 1) s += x[d % n];
    for (int p = 1; p < n; p *= 2) s -= x[p];
    for (;;) {
        if (--j < -9) break;
        s += 1.0f;
    }
    for (int k = 0; k < n; ++k) {
        if (k % 3 == t % 3) continue;
        s += x[k];
        if (s > 1e6f) break;
    }
    y[t] = s;
}

// kopt: dims.rows = { samples = [5], min = 1, max = 20 }
// kopt: dims.cols = { samples = [37], min = 1, max = 60 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["rows", "cols"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["rows", "cols"] }
// kopt: launch = { grid = "rows", block = 32, args = ["x", "y", "i32(rows)", "i32(cols)"] }
__global__ void nested(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    const float* row = x + blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;
    int uses = 0;
    for (int c0 = 0; c0 < cols; c0 += 32) {
        const int c = c0 + threadIdx.x;
        float s = 0.0f;
        for (int r = 0; r < rows; ++r) {
            for (int k = c0; k < c0 + 32 && k < cols; ++k) s += x[r * cols + k];
            uses += r;
        }
        if (c < cols) out[c] = row[c] + s * uses;
        const float* p = row;
        for (int k = 0; k < cols; k += 4, p += 4) s += *p;
        if (c < cols) out[c] += s;
    }
}

// kopt: dims.n = { samples = [50], min = 1, max = 99 }
// kopt: args.start = { role = "in", dtype = "i32", shape = "n + 1", legal = [0, 12] }
// kopt: args.y = { role = "out", dtype = "i32", shape = "n" }
// kopt: launch = { grid = "ceil_div(n, 32)", block = 32, args = ["start", "y", "i32(n)"] }
__global__ void ragged(const int* start, int* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int from = start[i], to = start[i + 1];
    int sum = 0, last = -1;
    for (int k = from; k < to; ++k) {
        sum += k;
        last = k;
    }
    for (int k = to; k < from; k += 2) {
        int inner = 0;
        while (inner < k) inner += 3;
        sum += inner - last;
        last = inner;
    }
    y[i] = sum + last;
}

// kopt: dims.n = { samples = [70], min = 1, max = 200 }
// kopt: args.x = { role = "in", dtype = "f32", shape = "n" }
// kopt: args.y = { role = "out", dtype = "f32", shape = "n" }
// kopt: launch = { grid = "ceil_div(n, 32)", block = 32, args = ["y", "x", "i32(n)"] }
__global__ void repeated(float* __restrict__ y, const float* __restrict__ x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    // The same place in every iteration: the last of the stores is what stays.
    for (int k = 0; k < 9; ++k)
        if (i < n) y[i] = x[i];
}
