// A tile is transposed through shared memory without a barrier.
// launch 1 16,16 0
// buffer in f32 256 iota
// buffer out f32 256 none
extern "C" __global__ void broken(const float* in, float* out) {
    __shared__ float tile[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[16 * y + x];  //! Race
    out[16 * y + x] = tile[x][y];  //! Race //! UninitialisedShared
}
extern "C" __global__ void repaired(const float* in, float* out) {
    __shared__ float tile[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[16 * y + x];
    __syncthreads();
    out[16 * y + x] = tile[x][y];
}
