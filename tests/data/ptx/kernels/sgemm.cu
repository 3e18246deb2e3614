// launch 4,4 16,16 0
// buffer a f32 4096 mod13
// buffer b f32 4096 mod13+1
// buffer out f32 4096 none
// int 64
extern "C" __global__ void sgemm(const float* a, const float* b, float* out, int n) {
    __shared__ float as[16][16], bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        as[ty][tx] = a[row * n + k + tx];
        bs[ty][tx] = b[(k + ty) * n + col];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; ++i) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    out[row * n + col] = sum;
}
