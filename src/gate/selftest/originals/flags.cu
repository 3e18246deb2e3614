// kopt: dims.n = { samples = [500], max = 100000 }
// kopt: args.x = { role = "in", dtype = "i32", shape = ["n"], legal = [-8, 8] }
// kopt: args.any = { role = "inout", dtype = "i32", shape = ["ceil_div(n, 16)"], init = "zero" }
// kopt: args.y = { role = "out", dtype = "i32", shape = ["n"] }
// kopt: launch = { grid = "ceil_div(n, 128)", block = 128, args = ["x", "any", "y", "i32(n)"] }
__global__ void flags(const int* x, int* any, int* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    int hit = x[i] > 7;
    y[i] = hit;
    if (hit) atomicOr(any + i / 16, 1);
}
