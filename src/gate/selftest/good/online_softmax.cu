__global__ void softmax(const float* x, float* y, int cols) {
    __shared__ float most[64], sum[64];
    int t = threadIdx.x;
    const float* in = x + (long long)blockIdx.x * cols;
    float* out = y + (long long)blockIdx.x * cols;
    float m = -INFINITY, s = 0.0f;
    for (int c = t; c < cols; c += 64) {
        float v = in[c], now = fmaxf(m, v);
        s = s * expf(m - now) + expf(v - now);
        m = now;
    }
    most[t] = m;
    sum[t] = s;
    __syncthreads();
    for (int h = 32; h > 0; h /= 2) {
        if (t < h && sum[t + h] > 0.0f) {
            float now = fmaxf(most[t], most[t + h]);
            sum[t] = sum[t] * expf(most[t] - now) + sum[t + h] * expf(most[t + h] - now);
            most[t] = now;
        }
        __syncthreads();
    }
    float inverse = 1.0f / sum[0];
    for (int c = t; c < cols; c += 64) out[c] = expf(in[c] - most[0]) * inverse;
}
