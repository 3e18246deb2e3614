// Things that are easily taken for more than they are.

// kopt: dims.n = { samples = [100], min = 1, max = 300 }
// kopt: args.x = { role = "inout", dtype = "i32", shape = "n", legal = [0, 63] }
// kopt: args.y = { role = "out", dtype = "i32", shape = "128" }
// kopt: launch = { grid = 2, block = 64, args = ["x", "y", "i32(n)"] }
__global__ void votes(int* x, int* y, int n) {
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    __shared__ int pick;
    if (t == 0) pick = blockIdx.x + n;
    __syncthreads();
    int p = pick;
    int ready = __syncthreads_count(t < 10);
    unsigned mask = __ballot_sync(0xffffffffu, t % 3 == 0);
    int any = __any_sync(0xffffffffu, n > 5), all = __all_sync(0xffffffffu, t < 40);
    int up = __shfl_sync(0xffffffffu, t, 5), fixed = __shfl_sync(0xffffffffu, n, 3);
    int bits = __popc(mask) + __clz(n) + __ffs(n + t);
    int sum = 0;
    if (any) sum += ready;
    if (all) sum += 3;
    if (p > 1) sum += fixed + up;
    for (int k = 0; k < up; ++k) sum += k;
    for (int k = 0; k < p - n; ++k) sum -= k;
    y[i] = sum + bits;
}

// kopt: dims.n = { samples = [40], min = 1, max = 100 }
// kopt: args.x = { role = "inout", dtype = "i32", shape = "500" }
// kopt: launch = { grid = 1, block = 32, args = ["x", "i32(n)"] }
__global__ void names(int* x, int n) {
    int i = threadIdx.x, step = 3;
    int& alias = i;
    auto bump = [&](int by) { step += by; };
    int* where = &step;
    for (int k = 0; k < n; k += step) {
        alias += 1;
        if (k == 6) bump(2);
        if (k > 20) *where = 5;
        { int i = k; x[32 + 7 * threadIdx.x + i % 7] = i; }
    }
    unsigned char small = 250;
    for (int k = 0; k < 10; ++k) small += 1;
    int down = n;
    for (unsigned k = 3; k < 4; --k) down -= k;
    int a[3] = {1, 2, 3};
    int* q = a;
    q[1] = n; q += 1; *q++ += 4;
    int c = (i, n > 3) ? q[0] : -q[-1];
    x[256 + i] = small + down + c + a[1] + (step == 3 ? 1 : 0);
}

// kopt: args.x = { role = "in", dtype = "i32", shape = "160", legal = [0, 3] }
// kopt: args.y = { role = "out", dtype = "i32", shape = "64" }
// kopt: launch = { grid = 2, block = 32, args = ["x", "y", "i32(5)", "i32(-3)"] }
__global__ void paths(const int* x, int* y, int five, int below) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, r = 0;
    if (x[i] > 1 || (five > 3 && below < 0)) r = x[i] * 2; else r = -1;
    if (!(below >= 0 && i < 7)) r += below / 2 + below % 2 + (below >> 1);
    if (x[i] == 2) { r = 7; } else if (x[i] == 3) { r = 8; } else { r += x[i]; }
    int lim = min(five, x[i]), top = max(lim, below);
    for (int k = below; k <= lim; ++k) r += x[k + 3];
    for (int k = top; k > below; k -= 2) r ^= k;
    const int w = r > 5 ? r - 5 : 5 - r;
    int z = w & (five - 1), m = w % (five + 1), u = (w * 4 + 2) / 4;
    do { r -= 9; if (r % 4 == 1) break; } while (r > 0);
    while (true) { if (r > 6) break; r += 4; }
    y[i] = r + z + m + u + top + (x[i] ? w : 0) + (int)(sizeof(y) * 2);
}

// kopt: dims.n = { samples = [8], min = 1, max = 30 }
// kopt: args.x = { role = "inout", dtype = "f32", shape = "n * n + 64" }
// kopt: launch = { grid = ["n"], block = [8, 2], args = ["x", "i32(n)"] }
__global__ void steps(float* x, int n) {
    float* p = x + blockIdx.x;
    float* end = x + n * n;
    size_t off = threadIdx.y;
    for (; p < end; p += n) off += 2;
    for (int r = threadIdx.y; r < n; r += 2)
        for (int c = threadIdx.x; c < n; c += 8)
            if (blockIdx.x == 0) x[r * n + c] += 1.0f;
    int tri = 0;
    for (int a = 0; a < n; ++a)
        for (int b = a; b < n; ++b) tri += b - a;
    if (blockIdx.x == 1 && threadIdx.x + threadIdx.y == 0) x[n * n + tri % 64] = off;
}
