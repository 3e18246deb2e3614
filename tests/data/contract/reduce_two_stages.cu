// A sum in two launches, with a temporary between them.
__global__ void partial_sums(const float* in, float* partial, int n) {
    __shared__ float tile[256];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    tile[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) tile[threadIdx.x] += tile[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = tile[0];
}

__global__ void last_sum(const float* partial, float* out, int count) {
    float sum = 0.0f;
    for (int i = 0; i < count; i++) sum += partial[i];
    out[0] = sum;
}

int main() {
    const int n = 1000000;
    const int blocks = 64;
    float *in, *partial, *out, result;
    float* host = new float[n];
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&partial, blocks * sizeof(float));
    cudaMalloc(&out, sizeof(float));
    cudaMemcpy(in, host, n * sizeof(float), cudaMemcpyHostToDevice);
    partial_sums<<<blocks, 256>>>(in, partial, n);
    last_sum<<<1, 1>>>(partial, out, blocks);
    cudaMemcpy(&result, out, sizeof(float), cudaMemcpyDeviceToHost);
}
