__global__ void histogram(const int* key, unsigned int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) count[key[i]] += 1u;
}
