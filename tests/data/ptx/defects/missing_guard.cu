// A grid that covers more threads than elements, without a test.
// launch 5 256 0
// buffer in f32 1000 iota
// buffer out f32 1000 none
// int 1000
extern "C" __global__ void broken(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];  //! OutOfBounds
    out[i] = 2.0f * v;  //! OutOfBounds
}
extern "C" __global__ void repaired(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = in[i];
    out[i] = 2.0f * v;
}
