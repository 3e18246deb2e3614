__global__ void flags(const int* x, int* any, int* y, int n) {
    unsigned char i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    int hit = x[i] > 5;
    y[i] = hit;
    if (hit) atomicOr(any, 1);
}
