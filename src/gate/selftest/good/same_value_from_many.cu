__global__ void flags(const int* x, int* any, int* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    int hit = x[i] > 5 ? 1 : 0;
    y[i] = hit;
    if (hit) *any = 1;
}
