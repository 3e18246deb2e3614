// A stencil reads its left neighbour without testing for the border.
// launch 1 64 0
// buffer in f32 64 iota
// buffer out f32 64 none
extern "C" __global__ void broken(const float* in, float* out) {
    int i = threadIdx.x;
    out[i] = in[i] - in[i - 1];  //! OutOfBounds
}
extern "C" __global__ void repaired(const float* in, float* out) {
    int i = threadIdx.x;
    out[i] = i > 0 ? in[i] - in[i - 1] : 0.0f;
}
