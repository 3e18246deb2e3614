// Kernels of the same computation side by side, launched through a function; one that a switch chooses.
__global__ void naive(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}

template <int Unroll>
__global__ void unrolled(const float* x, float* y, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * Unroll;
    for (int k = 0; k < Unroll; k++)
        if (i + k < n) y[i + k] = x[i + k] * x[i + k];
}

void run(int which, const float* x, float* y, int n) {
    switch (which) {
    case 0:
        naive<<<(n + 127) / 128, 128>>>(x, y, n);
        break;
    case 1:
        unrolled<4><<<(n + 511) / 512, 128>>>(x, y, n);
        break;
    }
}

int main(int argc, char** argv) {
    int which = atoi(argv[1]);
    int n = 5000;
    float *x, *y, *host = new float[n];
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyHostToDevice);
    run(which, x, y, n);
    cudaMemcpy(host, y, n * sizeof(float), cudaMemcpyDeviceToHost);
}
