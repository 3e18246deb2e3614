// An element of a local array is used that no path wrote.
// launch 1 32 0
// buffer in i32 32 ints
// buffer out f32 32 none
extern "C" __global__ void broken(const int* in, float* out) {
    float a[16];
    for (int k = 0; k < in[15]; ++k) a[k] = k;
    out[threadIdx.x] = a[in[threadIdx.x] % 16];  //! UninitialisedLocal
}
extern "C" __global__ void repaired(const int* in, float* out) {
    float a[16];
    for (int k = 0; k < in[16]; ++k) a[k] = k;
    out[threadIdx.x] = a[in[threadIdx.x] % 16];
}
