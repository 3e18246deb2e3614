__global__ void stage(const float* x, float* y, int n) {
    __shared__ float tile[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
    if (i < n) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + i) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    __syncthreads();
    int j = blockIdx.x * 128 + 127 - threadIdx.x;
    if (j < n) y[j] = 3.0f * tile[127 - threadIdx.x];
}
