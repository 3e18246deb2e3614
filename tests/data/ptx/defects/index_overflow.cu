// A product of ints wraps before it becomes an address.
// launch 1 4 0
// buffer in f32 64 iota
// buffer out f32 4 none
// int 1431655766
extern "C" __global__ void broken(const float* in, float* out, int stride) {
    int t = threadIdx.x, i = t * stride % 64;
    out[threadIdx.x] = in[i];  //! OutOfBounds
}
extern "C" __global__ void repaired(const float* in, float* out, int stride) {
    long long i = (long long)threadIdx.x * stride % 64;
    out[threadIdx.x] = in[i];
}
