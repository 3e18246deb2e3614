// One block for each row, dynamic shared memory, a vector on the host.
#include <vector>

__global__ void softmax(const float* x, float* y, int rows, int cols) {
    extern __shared__ float part[];
    int row = blockIdx.x;
    if (row >= rows) return;
    float top = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) top = fmaxf(top, x[row * cols + c]);
    part[threadIdx.x] = top;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
        __syncthreads();
    }
    top = part[0];
    __syncthreads();
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += expf(x[row * cols + c] - top);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    sum = part[0];
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[row * cols + c] = expf(x[row * cols + c] - top) / sum;
}

int main() {
    const int rows = 1024, cols = 1000, threads = 128;
    std::vector<float> in(rows * cols), out(rows * cols);
    float *x, *y;
    cudaMalloc(&x, in.size() * sizeof(float));
    cudaMalloc(&y, out.size() * sizeof(float));
    cudaMemcpy(x, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
    softmax<<<rows, threads, threads * sizeof(float)>>>(x, y, rows, cols);
    cudaMemcpy(out.data(), y, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
}
