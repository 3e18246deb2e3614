__global__ void transpose(const float* a, float* b, int rows, int cols) {
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (r < rows && c < cols) b[(c * rows + r) % (rows * cols)] = a[(r * rows + c) % (rows * cols)];
}
