// No guards: sizes must be multiples of the tile.
#define TILE 16

__global__ void sgemm(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        as[threadIdx.y][threadIdx.x] = A[row * K + k0 + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = B[(k0 + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++) acc += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    C[row * N + col] = acc;
}

int main() {
    int M = 512, N = 256, K = 1024;
    float *A, *B, *C;
    float *hA = new float[M * K], *hB = new float[K * N], *hC = new float[M * N];
    cudaMalloc((void**)&A, sizeof(float) * M * K);
    cudaMalloc((void**)&B, sizeof(float) * K * N);
    cudaMalloc((void**)&C, sizeof(float) * M * N);
    cudaMemcpy(A, hA, sizeof(float) * M * K, cudaMemcpyHostToDevice);
    cudaMemcpy(B, hB, sizeof(float) * K * N, cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE);
    dim3 grid(N / TILE, M / TILE);
    for (int i = 0; i < 100; i++) sgemm<<<grid, block>>>(M, N, K, A, B, C);
    cudaMemcpy(hC, C, sizeof(float) * M * N, cudaMemcpyDeviceToHost);
}
