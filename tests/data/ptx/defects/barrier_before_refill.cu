// The second barrier of a tiled loop is missing: a fast thread fills the next tile while others still read.
// launch 1 64 0
// buffer in f32 256 iota
// buffer out f32 64 none
// int 256
extern "C" __global__ void broken(const float* in, float* out, int n) {
    __shared__ float tile[64];
    float sum = 0;
    for (int k = 0; k < n; k += 64) {
        tile[threadIdx.x] = in[k + threadIdx.x];  //! Race
        __syncthreads();
        for (int j = 0; j < 64; ++j) sum += tile[j] * (j + 1);  //! Race
    }
    out[threadIdx.x] = sum;
}
extern "C" __global__ void repaired(const float* in, float* out, int n) {
    __shared__ float tile[64];
    float sum = 0;
    for (int k = 0; k < n; k += 64) {
        tile[threadIdx.x] = in[k + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 64; ++j) sum += tile[j] * (j + 1);
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
