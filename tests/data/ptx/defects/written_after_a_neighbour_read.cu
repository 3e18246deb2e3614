// Each block reads its right neighbour's first element and then writes its own.
// launch 3 32 0
// buffer a f32 128 iota
extern "C" __global__ void broken(float* a) {
    int i = blockIdx.x * 32 + threadIdx.x;
    float x = a[i] + a[i + 1];
    __syncthreads();
    a[i] = x;  //! Race
}
extern "C" __global__ void repaired(float* a) {
    int i = blockIdx.x * 32 + threadIdx.x;
    float x = a[i] + a[blockIdx.x * 32 + (threadIdx.x + 1) % 32];
    __syncthreads();
    a[i] = x;
}
