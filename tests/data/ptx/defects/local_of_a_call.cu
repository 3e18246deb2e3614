// A function leaves part of a struct unset; copying it is harmless, using it is not.
// launch 1 32 0
// buffer in i32 32 ints
// buffer out f32 32 none
struct Pair { char tag; float values[6]; };
__device__ __noinline__ Pair make(const int* in, int n) {
    Pair p;
    p.tag = 1;
    for (int k = 0; k < n; ++k) p.values[k] = in[k];
    return p;
}
extern "C" __global__ void broken(const int* in, float* out) {
    Pair p = make(in, in[5]);
    out[threadIdx.x] = p.values[in[threadIdx.x] % 6];  //! UninitialisedLocal
}
extern "C" __global__ void repaired(const int* in, float* out) {
    Pair p = make(in, in[5]);
    Pair q = p;
    out[threadIdx.x] = q.values[in[threadIdx.x] % 5] + q.tag;
}
