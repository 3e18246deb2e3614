// In bounds for the one size that the program uses, and for no other that can be shown.
__global__ void shift(const float* x, float* y, int n, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[(i * by) % n];
}

int main() {
    int n = 1024, by = 7;
    float *x, *y;
    float host[1024];
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyHostToDevice);
    shift<<<8, 128>>>(x, y, n, by);
    cudaMemcpy(host, y, n * sizeof(float), cudaMemcpyDeviceToHost);
}
