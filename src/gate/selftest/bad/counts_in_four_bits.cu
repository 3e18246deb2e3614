__global__ void histogram(const int* key, unsigned int* count, int n) {
    __shared__ unsigned int packed[4];
    if (threadIdx.x < 4) packed[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&packed[key[i] / 8], 1u << key[i] % 8 * 4);
    __syncthreads();
    if (threadIdx.x < 32) atomicAdd(&count[threadIdx.x], packed[threadIdx.x / 8] >> threadIdx.x % 8 * 4 & 15u);
}
