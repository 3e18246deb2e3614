__device__ unsigned int served;
__global__ void serve(const float* x, float* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = 3.0f * x[i];
    if (i == 0) atomicAdd(&served, 1u);
}
