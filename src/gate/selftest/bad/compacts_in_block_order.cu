// kopt: dims.n = { samples = [700], min = 1, max = 5000 }
// kopt: args.x = { role = "in", dtype = "i32", shape = ["n"], legal = [0, 3] }
// kopt: args.y = { role = "out", dtype = "i32", shape = ["n"], init = "zero" }
// kopt: args.count = { role = "inout", dtype = "i32", shape = [1], init = "zero" }
// kopt: launch = { grid = "ceil_div(n, 32)", block = 32, args = ["x", "y", "count", "i32(n)"] }
__global__ void compact(const int* x, int* y, int* count, int n) {
    int i = blockIdx.x * 32 + threadIdx.x;
    unsigned hit = __ballot_sync(0xffffffffu, i < n && x[i]);
    int base = 0;
    if (threadIdx.x == 0) base = atomicAdd(count, __popc(hit));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (hit >> threadIdx.x & 1) y[base + __popc(hit & ((1u << threadIdx.x) - 1))] = i;
}
