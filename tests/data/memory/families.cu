// One kernel of each family that the other test files lack, and near misses of the patterns.

__global__ void scan_block(float* y, const float* x, int n) {
    __shared__ float tile[256];
    int t = threadIdx.x;
    tile[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        float v = t >= d ? tile[t - d] : 0.0f;
        __syncthreads();
        tile[t] += v;
        __syncthreads();
    }
    y[blockIdx.x * 256 + t] = tile[t];
}

__global__ void scan_rows(float* y, const float* x, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0.0f;
    for (int c = 0; c < cols; ++c) {
        sum += x[r * cols + c];
        y[r * cols + c] = sum;
    }
}

__global__ void scan_warp(int* y, const int* x) {
    int lane = threadIdx.x & 31;
    int v = x[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        int u = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d) v += u;
    }
    y[threadIdx.x] = v;
}

__global__ void attend(float* o, const float* q, const float* k, const float* v, int n, int d) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    float total = 0.0f;
    for (int j = 0; j < n; ++j) {
        float s = 0.0f;
        for (int c = 0; c < d; ++c) s += q[row * d + c] * k[(j + threadIdx.y) * d + c];
        total += expf(s);
    }
    for (int c = threadIdx.y; c < d; ++c) {
        float acc = 0.0f;
        for (int j = 0; j < n; ++j) acc += q[row * n + j] * v[j * d + c];
        o[row * d + c] = acc / total;
    }
}

__global__ void lookup(float* y, const float* table, const int* index, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = table[index[i]];
}

__global__ void spread(float* y, const float* x, const int* index, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int at = index[i];
        y[at] = x[i];
    }
}

__global__ void blur(float* y, const float* x, int w, int h) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 1 || r < 1 || c >= w - 1 || r >= h - 1) return;
    int i = r * w + c;
    y[i] = 0.25f * (x[i - 1] + x[i + 1] + x[i - w] + x[i + w]);
}

// A sum of products of the same places is a reduction, not a product of matrices.
__global__ void dot(float* out, const float* a, const float* b, int n) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += a[i] * b[i];
    atomicAdd(out, sum);
}

__global__ void product(float* c, const float* a, const float* b, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum = fmaf(a[row * n + k], b[k * n + col], sum);
    c[row * n + col] = sum;
}

__global__ void unit_rows(float* y, const float* x, int cols) {
    const float* row = x + blockIdx.x * cols;
    float sum = 0.0f;
    for (int c = 0; c < cols; ++c) sum += row[c] * row[c];
    float scale = rsqrtf(sum);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = row[c] * scale;
}

__global__ void sigmoid(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f / (1.0f + expf(-x[i]));
}

__global__ void grid_stride(float* y, const float* x, float a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

__global__ void nothing(const float* x) {}
