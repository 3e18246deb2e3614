// Atomics into memory that is cleared before; contents that are used as indices.
__global__ void histogram(const unsigned char* data, unsigned int* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[data[i]], 1u);
}

int main() {
    int n = 100000;
    unsigned char* data;
    unsigned int* bins;
    unsigned char* host = new unsigned char[n];
    unsigned int result[256];
    cudaMalloc(&data, n);
    cudaMalloc(&bins, 256 * sizeof(unsigned int));
    cudaMemcpy(data, host, n, cudaMemcpyHostToDevice);
    cudaMemset(bins, 0, 256 * sizeof(unsigned int));
    histogram<<<(n + 255) / 256, 256>>>(data, bins, n);
    cudaMemcpy(result, bins, sizeof(result), cudaMemcpyDeviceToHost);
}
