// kopt: dims.n = { samples = [500], max = 100000 }
// kopt: args.x = { role = "in", dtype = "i32", shape = ["n"] }
// kopt: args.any = { role = "inout", dtype = "i32", shape = [1], init = "zero" }
// kopt: args.y = { role = "out", dtype = "i32", shape = ["n"] }
// kopt: launch = { grid = "ceil_div(n, 128)", block = 128, args = ["x", "any", "y", "i32(n)"] }
__global__ void flags(const int* x, int* any, int* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    int hit = x[i] > 5;
    y[i] = hit;
    if (hit) atomicOr(any, 1);
}
