// Sizes from the command line, checked calls.
#include <cstdio>
#include <cstdlib>
#define CHECK(call)                                                  \
    do {                                                             \
        cudaError_t status = (call);                                 \
        if (status != cudaSuccess) {                                 \
            fprintf(stderr, "%s\n", cudaGetErrorString(status));     \
            exit(1);                                                 \
        }                                                            \
    } while (0)

__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
    int n = 1 << 20;
    if (argc > 1) n = atoi(argv[1]);
    if (n <= 0) return 1;
    size_t bytes = n * sizeof(float);
    float* a = (float*)malloc(bytes);
    float* b = (float*)malloc(bytes);
    float* c = (float*)malloc(bytes);
    for (int i = 0; i < n; i++) {
        a[i] = i;
        b[i] = 2 * i;
    }
    float *d_a, *d_b, *d_c;
    CHECK(cudaMalloc(&d_a, bytes));
    CHECK(cudaMalloc(&d_b, bytes));
    CHECK(cudaMalloc(&d_c, bytes));
    CHECK(cudaMemcpy(d_a, a, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b, bytes, cudaMemcpyHostToDevice));
    int block = 256;
    int grid = (n + block - 1) / block;
    add<<<grid, block>>>(d_a, d_b, d_c, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c, d_c, bytes, cudaMemcpyDeviceToHost));
    printf("%f\n", c[n - 1]);
    return 0;
}
