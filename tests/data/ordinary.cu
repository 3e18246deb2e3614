#define TILE 16
constexpr int BLOCK = 2 * 128;

__global__ void matmul(const float* __restrict__ a, const float* b, float* c, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        float acc = 0.0f;
        for (int i = 0; i < k; i++) {
            acc += a[row * k + i] * b[i * n + col];
        }
        c[row * n + col] = acc;
    }
}

__global__ void tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n / TILE; ++t) {
        as[threadIdx.y][threadIdx.x] = a[row * n + t * TILE + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t * TILE + threadIdx.y) * n + col];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k) sum = fmaf(as[threadIdx.y][k], bs[k][threadIdx.x], sum);
        __syncthreads();
    }
    c[row * n + col] = sum;
}

template <typename T>
__global__ void block_sum(const T* in, T* out, unsigned int n) {
    extern __shared__ float buf[];
    unsigned int tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    buf[tid] = i < n ? (float)in[i] : 0.f;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) buf[tid] += buf[tid + s];
        __syncthreads();
    }
    if (tid == 0) atomicAdd(&out[blockIdx.x], buf[0]);
}

__global__ void block_max(const float* in, float* out) {
    __shared__ float s[BLOCK];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * BLOCK + t];
    int half = BLOCK / 2;
    __syncthreads();
    while (half > 0) {
        if (t < half) {
            s[t] = s[t] > s[t + half] ? s[t] : s[t + half];
        }
        __syncthreads();
        half /= 2;
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void softmax(float* x, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float* p = x + row * cols;
    float top = -INFINITY, sum = 0.f;
    for (int j = 0; j < cols; j++) top = fmaxf(top, p[j]);
    for (int j = 0; j < cols; j++) {
        p[j] = expf(p[j] - top);
        sum += p[j];
    }
    for (int j = cols - 1; j >= 0; --j) p[j] /= sum;
}

__global__ void saxpy(int n, float a, const float* x, float* y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        if (x[i] < 0.f) continue;
        y[i] = a * __ldg(&x[i]) + y[i];
    }
}

__global__ void transpose(float4* out, const float4* in, int w, int h) {
    __shared__ float4 tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < w && y + j < h) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < h && y + j < w) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

__device__ float warp_sum(float v) {
    for (int mask = warpSize / 2; mask > 0; mask /= 2) v += __shfl_xor_sync(0xffffffff, v, mask);
    return v;
}

__device__ void shift(int& i) { i += 3; }

// Guards and induction variables that do not hold.
__global__ void not_held(float* p, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    p[i] = 1.f;
    i += 5;
    p[i] = 2.f;
    for (int j = 0; j < n; ++j) {
        shift(j);
        p[j] = 3.f;
    }
    for (int j = 0; j < n; ++j) {
        if (j == 3) break;
        float total = 0.f;
        total += p[j];
        p[j] = total;
    }
    switch (n) {
        case 0:
            if (i > 2) break;
            p[0] = 4.f;
        case 1:
            p[1] = 5.f;
    }
    float* q = n > 4 ? p : p + 1;
    q[0] = *p++;
    int k = 0;
    while (k < n) {
        if (p[k] > 0.f) {
            k += 2;
            continue;
        }
        k++;
    }
}

void run(float* a, float* b, float* c, int n, cudaStream_t stream) {
    dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
    tiled<<<grid, block>>>(a, b, c, n);
    block_sum<float><<<n / 256, 256, 256 * sizeof(float), stream>>>(a, c, n);
}
