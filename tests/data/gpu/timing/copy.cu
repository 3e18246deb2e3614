// Copies a vector, sixteen bytes at a time.

// kopt: dims.n = { samples = [4096], min = 4, max = 1073741824, divisible_by = 4 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["n"], align = 16 }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n"], align = 16 }
// kopt: launch = { grid = "ceil_div(n / 4, 256)", block = 256, args = ["x", "y", "i32(n)"] }
__global__ void copy(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];
}
