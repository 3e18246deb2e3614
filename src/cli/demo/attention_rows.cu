// Row-wise pieces of an attention layer, as one finds them in a first working version:
//   softmax of score rows, transpose of a value matrix, RMS norm of rows, bias gradient by columns.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

static void check(cudaError_t status) {
    if (status != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
        std::exit(1);
    }
}

constexpr int TILE = 32;
constexpr int ROW_THREADS = 256;

// One thread per row: rows are short (one per query and head) and there are many of them.
__global__ void softmax_rows(const float* __restrict__ scores, float* __restrict__ probs, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;

    // Largest score of the row, so that no exponential overflows.
    float largest = -3.402823466e+38f;
    for (int c = 0; c < cols; ++c) {
        largest = fmaxf(largest, scores[row * cols + c]);
    }

    float sum = 0.0f;
    for (int c = 0; c < cols; ++c) {
        float e = expf(scores[row * cols + c] - largest);
        probs[row * cols + c] = e;  // normalised below
        sum += e;
    }

    float scale = 1.0f / sum;
    for (int c = 0; c < cols; ++c) {
        probs[row * cols + c] *= scale;
    }
}

// 32 x 32 tiles through shared memory, so that reads and writes are both along rows.
__global__ void transpose(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
    __shared__ float tile[TILE][TILE];

    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < cols && y < rows) {
        tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
    }
    __syncthreads();

    int tx = blockIdx.y * TILE + threadIdx.x;
    int ty = blockIdx.x * TILE + threadIdx.y;
    if (tx < rows && ty < cols) {
        out[ty * rows + tx] = tile[threadIdx.x][threadIdx.y];  // a column of the tile
    }
}

// One block per row: x / sqrt(mean(x^2) + eps) * weight.
__global__ void rms_norm(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y,
                         int cols, float eps) {
    __shared__ float partial[ROW_THREADS];
    int tid = threadIdx.x;
    const float* row = x + blockIdx.x * cols;

    float sum = 0.0f;
    for (int c = tid; c < cols; c += blockDim.x) {
        sum += row[c] * row[c];
    }
    partial[tid] = sum;
    __syncthreads();

    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            partial[tid] += partial[tid + s];
        }
        __syncthreads();
    }

    float inverse = rsqrtf(partial[0] / cols + eps);
    for (int c = tid; c < cols; c += blockDim.x) {
        y[blockIdx.x * cols + c] = row[c] * inverse * weight[c];
    }
}

// Gradient of a bias: the sum of each column.
__global__ void column_sums(const float* __restrict__ grad, float* __restrict__ bias_grad, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols) return;
    float sum = 0.0f;
    for (int r = 0; r < rows; ++r) {
        sum += grad[r * cols + col];  // neighbouring threads read neighbouring elements: leave it alone
    }
    bias_grad[col] = sum;
}

static int blocks_for(int count, int threads) { return (count + threads - 1) / threads; }

void attention_rows(const float* scores, float* probs, const float* values, float* values_t, const float* weight,
                    float* normed, float* bias_grad, int rows, int cols, cudaStream_t stream) {
    softmax_rows<<<blocks_for(rows, 128), 128, 0, stream>>>(scores, probs, rows, cols);
    check(cudaGetLastError());

    dim3 tiles(blocks_for(cols, TILE), blocks_for(rows, TILE));
    dim3 block(TILE, TILE);
    transpose<<<tiles, block, 0, stream>>>(values, values_t, rows, cols);
    check(cudaGetLastError());

    rms_norm<<<rows, ROW_THREADS, 0, stream>>>(values, weight, normed, cols, 1e-6f);
    check(cudaGetLastError());

    column_sums<<<blocks_for(cols, 128), 128, 0, stream>>>(values, bias_grad, rows, cols);
    check(cudaGetLastError());
}

int main() {
    const int rows = 4096, cols = 1024;
    const size_t bytes = size_t(rows) * cols * sizeof(float);
    float *scores, *probs, *values, *values_t, *weight, *normed, *bias_grad;
    check(cudaMalloc(&scores, bytes));
    check(cudaMalloc(&probs, bytes));
    check(cudaMalloc(&values, bytes));
    check(cudaMalloc(&values_t, bytes));
    check(cudaMalloc(&normed, bytes));
    check(cudaMalloc(&weight, cols * sizeof(float)));
    check(cudaMalloc(&bias_grad, cols * sizeof(float)));
    attention_rows(scores, probs, values, values_t, weight, normed, bias_grad, rows, cols, 0);
    check(cudaDeviceSynchronize());
    std::printf("done\n");
    return 0;
}
