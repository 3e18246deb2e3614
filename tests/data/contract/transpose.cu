// Two axes, guards, a macro that rounds up, managed memory.
#define CEIL(a, b) (((a) + (b) - 1) / (b))

__global__ void transpose(const double* in, double* out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) out[x * h + y] = in[y * w + x];
}

int main() {
    const int w = 1000, h = 700;
    double *in, *out;
    cudaMallocManaged(&in, sizeof(double) * w * h);
    cudaMallocManaged(&out, sizeof(double) * w * h);
    for (int i = 0; i < w * h; i++) in[i] = i;
    dim3 block(32, 8);
    dim3 grid(CEIL(w, block.x), CEIL(h, block.y));
    transpose<<<grid, block>>>(in, out, w, h);
    cudaDeviceSynchronize();
}
