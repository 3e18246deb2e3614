// Launches in view: shapes, arguments, allocations, instantiations.
#include <cuda_runtime.h>
#include <utility>

__global__ void shift(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}

template <typename T, int STEP>
__global__ void pick(const T* x, T* y, int n) {
    __shared__ T tile[32 * STEP];
    const T* row = x + blockIdx.x * 32;
    tile[threadIdx.x * STEP] = row[threadIdx.x];
    __syncthreads();
    for (int k = threadIdx.x; k < 32; k += STEP) y[blockIdx.x * 32 + k] = tile[k * STEP] + T(n);
}

__global__ void smooth(const float* __restrict__ from, float* __restrict__ to, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        const float left = i > 0 ? from[i - 1] : 0.0f;
        to[i] = 0.5f * (left + from[i]);
    }
}

__global__ void square(float* x, int pitch) {
    x[(threadIdx.z * blockDim.y + threadIdx.y) * pitch + threadIdx.x] += threadIdx.z;
}

int main() {
    const int n = 256;
    float *a, *b, *c;
    double *d, *e;
    cudaMalloc(&a, (n + 4) * sizeof(float));
    cudaMalloc(&b, (n + 4) * sizeof(float));
    cudaMalloc(&c, n * sizeof(float));
    cudaMalloc(&d, n * sizeof(double));
    cudaMalloc(&e, n * sizeof(double));
    cudaMemset(a, 0, (n + 4) * sizeof(float));
    cudaMemset(b, 0, (n + 4) * sizeof(float));
    cudaMemset(c, 0, n * sizeof(float));
    cudaMemset(d, 0, n * sizeof(double));
    shift<<<n / 64, 64>>>(a + 1, b, n);
    shift<<<n / 64, 64>>>(b + 3, a, n);
    pick<float, 1><<<n / 32, 32>>>(a, c, 3);
    pick<double, 2><<<n / 32, 32>>>(d, e, 5);
    float *from = a, *to = b;
    for (int s = 0; s < 4; ++s) {
        smooth<<<2, 64>>>(from, to, n);
        std::swap(from, to);
    }
    dim3 block(8, 4, 2);
    square<<<1, block>>>(c, 8);
    block.y = 2;
    square<<<1, block>>>(c + 16, 16);
    cudaDeviceSynchronize();
    return 0;
}
