// Only half of the tile is filled.
// launch 1 64 0
// buffer in f32 64 iota
// buffer out f32 64 none
extern "C" __global__ void broken(const float* in, float* out) {
    __shared__ float tile[64];
    if (threadIdx.x < 32) tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];  //! UninitialisedShared
}
extern "C" __global__ void repaired(const float* in, float* out) {
    __shared__ float tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
