// Integer arithmetic at the edges of its types.

// kopt: dims.n = { samples = [130], min = 1, max = 500 }
// kopt: args.x = { role = "in", dtype = "i32", shape = "n" }
// kopt: args.y = { role = "out", dtype = "i32", shape = "n" }
// kopt: launch = { grid = "ceil_div(n, 64)", block = 64, args = ["x", "y", "i32(n)"] }
__global__ void signs(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int below = i - n;
    int q = below / 7, r = below % 7;
    int shifted = below >> 3, masked = below & 15, cleared = below & ~15;
    unsigned wrapped = threadIdx.x - 5u;
    unsigned low = wrapped % 8, high = wrapped / 8;
    short narrow = (short)(i * 321);
    signed char tiny = (signed char)(i * 5);
    unsigned char byte = (unsigned char)(below * 3);
    long long wide = (long long)below * n;
    unsigned long long huge = (unsigned long long)below;
    unsigned flipped = ~(unsigned)i;
    int inverted = ~below;
    bool odd = i & 1;
    int counted = odd + (below < -20) + !odd;
    int picked = below < -64 ? below + 64 : -below;
    int mixed = (int)(0xffffffff - wrapped) ^ (i << 2) | byte;
    int total = q + r + shifted + masked + cleared + narrow + tiny + counted + picked + inverted + mixed;
    y[i] = x[i] + total + (int)(low + high + flipped) + (int)(wide + (long long)(huge >> 60));
}

// kopt: dims.n = { samples = [100], min = 1, max = 300 }
// kopt: args.x = { role = "in", dtype = "u8", shape = "4 * n" }
// kopt: args.y = { role = "out", dtype = "u32", shape = "n" }
// kopt: launch = { grid = "ceil_div(n, 32)", block = [8, 4], args = ["x", "y", "u32(n)"] }
__global__ void words(const unsigned char* x, unsigned* y, unsigned n) {
    const unsigned lane = threadIdx.y * blockDim.x + threadIdx.x;
    unsigned i = lane + blockIdx.x * 32u;
    if (i < n) {
        unsigned sum = 0;
        for (unsigned k = 0; k < 4; ++k) {
            unsigned at = 4 * i + k;
            sum = (sum << 8) | x[at];
            sum ^= (at & 0xfffffffcu) + ((at | 3) - at);
        }
        const unsigned long long offset = (unsigned long long)i * sizeof(unsigned) / 4;
        y[offset] = sum - 0x80000000u + (i > 3 ? i - 3 : 0u);
    }
}

// kopt: dims.n = { samples = [90], min = 1, max = 300 }
// kopt: args.y = { role = "out", dtype = "i64", shape = "n" }
// kopt: launch = { grid = 2, block = 32, args = ["y", "i64(n)"] }
__global__ void far(long long* y, long long n) {
    for (long long i = threadIdx.x + (long long)blockIdx.x * blockDim.x; i < n; i += (long long)gridDim.x * blockDim.x) {
        size_t back = (size_t)(n - 1 - i);
        long long half = (n - 2 * i) / 2;
        long long rest = (n - 2 * i) % 2;
        y[back] = half * 3 + rest + (long long)(back % 5) - (i - n >> 1);
    }
}
