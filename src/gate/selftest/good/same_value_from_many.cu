__global__ void flags(const int* x, int* any, int* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    int hit = x[i] > 7 ? 1 : 0;
    y[i] = hit;
    if (hit) any[i / 16] = 1;
}
