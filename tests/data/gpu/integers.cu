// Integer arithmetic, bits and conversions, all of it exact.

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "i32", shape = ["n"], legal = [-2000000000, 2000000000] }
// kopt: args.b = { role = "in", dtype = "i32", shape = ["n"], legal = [1, 40000] }
// kopt: args.y = { role = "out", dtype = "i64", shape = ["n"] }
// kopt: launch = { grid = "(n + 127) / 128", block = 128, args = ["a", "b", "y", "i32(n)"] }
__global__ void products(const int* a, const int* b, long long* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long wide = (long long)a[i] * b[i];
    int high = __mulhi(a[i], b[i] << 12);
    unsigned quotient = (unsigned)a[i] / (unsigned)b[i];
    int rest = a[i] % b[i];
    y[i] = wide ^ ((long long)high << 20) ^ ((long long)quotient << 7) ^ rest;
}

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "u32", shape = ["n"], legal = [0, 4294967295] }
// kopt: args.y = { role = "out", dtype = "u32", shape = ["n"] }
// kopt: launch = { grid = "(n + 127) / 128", block = 128, args = ["a", "y", "i32(n)"] }
__global__ void bits(const unsigned* a, unsigned* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = a[i];
    unsigned found = __popc(v) + (__clz(v) << 6) + (__ffs(v) << 12);
    found ^= __brev(v) ^ __byte_perm(v, ~v, 0x5140) ^ __funnelshift_l(v, v * 2654435761u, v & 31);
    found += __sad((int)v, (int)(v >> 3), 5u) + __usad(v, v >> 7, 9u);
    y[i] = found ^ (v << (v & 15)) ^ (unsigned)((int)v >> (v >> 27));
}

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "i32", shape = ["n"], legal = [-2000000000, 2000000000] }
// kopt: args.y = { role = "out", dtype = "i32", shape = ["n"] }
// kopt: launch = { grid = "(n + 127) / 128", block = 128, args = ["a", "y", "i32(n)"] }
__global__ void bytes(const int* a, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = a[i], w = a[(i + 1) % n];
    int sum = __dp4a(v, w, i) + __dp4a((unsigned)v, (unsigned)w, (unsigned)i) + __dp2a_lo(v, w, 3);
    sum ^= __vadd4(v, w) + __vmaxs4(v, w) + __vabsdiffu4(v, w);
    y[i] = sum + (signed char)v + (short)w + min(v, w) - max(v >> 4, w);
}

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "i64", shape = ["n"] }
// kopt: launch = { grid = "(n + 127) / 128", block = 128, args = ["a", "y", "i32(n)"] }
__global__ void conversions(const float* a, long long* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = a[i] * 1000.0f;
    long long found = __float2int_rn(v) + __float2int_rz(v * 7.0f) * 3LL + __float2int_ru(v) + __float2int_rd(v);
    found ^= (long long)__float2uint_rz(fabsf(v)) << 11;
    found += (long long)(double)v + (long long)llrintf(v * 65536.0f) + __float_as_int(v) + (unsigned char)(int)v;
    y[i] = found ^ __double_as_longlong((double)v * 1e-3) ^ (long long)__int2float_rn((int)found);
}
