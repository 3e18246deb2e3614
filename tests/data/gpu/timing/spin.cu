// A chain of multiply-adds of a length that is an argument: a kernel of any duration. With SLOWER it does so many thousandths
// more, and answers the same: whether the longer chain is stored depends on an argument that is never negative.
#define SLOWER 0

// kopt: dims.k = { samples = [100], min = 0, max = 10000000 }
// kopt: args.x = { role = "in", dtype = "f32", shape = [67584] }
// kopt: args.y = { role = "out", dtype = "f32", shape = [67584] }
// kopt: launch = { grid = 264, block = 256, args = ["x", "y", "i32(k)"] }
__global__ void spin(const float* x, float* y, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i], w = v;
    for (int j = 0; j < k; ++j) v = fmaf(v, 0.999f, 0.5f);
    int more = static_cast<int>(static_cast<long long>(k) * SLOWER / 1000);
    for (int j = 0; j < more; ++j) w = fmaf(w, 0.999f, 0.5f);
    y[i] = v;
    if (k < 0) y[i] = w;
}
