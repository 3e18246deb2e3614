// A loop bound that is one too large.
// launch 1 1 0
// buffer in f32 100 iota
// buffer out f32 1 none
// int 100
extern "C" __global__ void broken(const float* in, float* out, int n) {
    float sum = 0;
    for (int i = 0; i <= n; ++i) sum += in[i];  //! OutOfBounds
    out[0] = sum;
}
extern "C" __global__ void repaired(const float* in, float* out, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += in[i];
    out[0] = sum;
}
