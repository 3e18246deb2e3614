// kopt: dims.n = { samples = [4096], min = 1, max = 8589934592 }
// kopt: args.x = { role = "in", dtype = "u8", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "u8", shape = ["n"] }
// kopt: launch = { grid = "ceil_div(n, 1024)", block = 1024, args = ["x", "y", "i64(n)"] }
__global__ void invert(const unsigned char* x, unsigned char* y, long long n) {
    long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = 255 - x[i];
}
