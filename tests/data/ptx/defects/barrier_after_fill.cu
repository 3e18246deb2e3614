// A tile is read by other threads than those that filled it.
// launch 2 128 0
// buffer in f32 256 iota
// buffer out f32 256 none
extern "C" __global__ void broken(const float* in, float* out) {
    __shared__ float tile[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    tile[t] = in[i];  //! Race
    out[i] = tile[127 - t];  //! Race //! UninitialisedShared
}
extern "C" __global__ void repaired(const float* in, float* out) {
    __shared__ float tile[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    tile[t] = in[i];
    __syncthreads();
    out[i] = tile[127 - t];
}
