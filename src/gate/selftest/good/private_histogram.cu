__global__ void histogram(const int* key, unsigned int* count, int n) {
    __shared__ unsigned int own[32];
    if (threadIdx.x < 32) own[threadIdx.x] = 0u;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&own[key[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 32 && own[threadIdx.x] > 0u) atomicAdd(&count[threadIdx.x], own[threadIdx.x]);
}
