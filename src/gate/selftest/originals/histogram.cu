// kopt: dims.n = { samples = [900], max = 100000 }
// kopt: args.key = { role = "in", dtype = "i32", shape = ["n"], legal = [0, 31] }
// kopt: args.count = { role = "inout", dtype = "u32", shape = [32], init = "zero" }
// kopt: launch = { grid = "ceil_div(n, 128)", block = 128, args = ["key", "count", "i32(n)"] }
__global__ void histogram(const int* key, unsigned int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&count[key[i]], 1u);
}
