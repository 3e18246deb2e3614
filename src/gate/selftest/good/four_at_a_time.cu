// kopt: dims.n = { samples = [1000], max = 1000000 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.z = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "ceil_div(n, 256)", block = 64, args = ["x", "y", "z", "i32(n)"] }
__global__ void add(float* x, const float* y, float* z, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        float4 a = *reinterpret_cast<const float4*>(x + i), b = *reinterpret_cast<const float4*>(y + i);
        *reinterpret_cast<float4*>(z + i) = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    } else {
        for (; i < n; ++i) z[i] = x[i] + y[i];
    }
}
