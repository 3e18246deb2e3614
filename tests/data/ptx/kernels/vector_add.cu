// launch 40 256 0
// buffer a f32 10000 iota
// buffer b f32 10000 iota
// buffer out f32 10000 none
// int 10000
extern "C" __global__ void vector_add(const float* a, const float* b, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + 2.0f * b[i];
}
