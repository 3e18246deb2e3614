// kopt: dims.n = { samples = [700], min = 1, max = 5000 }
// kopt: args.x = { role = "in", dtype = "i32", shape = ["n"], legal = [0, 3] }
// kopt: args.y = { role = "out", dtype = "i32", shape = ["n"], init = "zero" }
// kopt: args.count = { role = "inout", dtype = "i32", shape = [1], init = "zero" }
// kopt: launch = { grid = 1, block = 32, args = ["x", "y", "count", "i32(n)"] }
__global__ void compact(const int* x, int* y, int* count, int n) {
    int k = 0;
    for (int from = 0; from < n; from += 32) {
        int i = from + threadIdx.x;
        unsigned hit = __ballot_sync(0xffffffffu, i < n && x[i]);
        if (hit >> threadIdx.x & 1) y[k + __popc(hit & ((1u << threadIdx.x) - 1))] = i;
        k += __popc(hit);
    }
    if (threadIdx.x == 0) *count = k;
}
