// A stencil that overwrites its input while others still read it.
// launch 1 128 0
// buffer data f32 128 iota
extern "C" __global__ void broken(float* data) {
    int i = threadIdx.x;
    float left = data[(i + 127) % 128];  //! Race
    data[i] = 0.5f * (left + i);  //! Race
}
extern "C" __global__ void repaired(float* data) {
    int i = threadIdx.x;
    float left = data[(i + 127) % 128];
    __syncthreads();
    data[i] = 0.5f * (left + i);
}
