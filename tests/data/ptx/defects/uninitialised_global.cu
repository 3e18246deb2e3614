// An accumulator that nobody set.
// launch 1 64 0
// buffer in f32 64 iota
// buffer sum f32 64 none
extern "C" __global__ void broken(const float* in, float* sum) {
    sum[threadIdx.x] += in[threadIdx.x];  //! UninitialisedGlobal
}
extern "C" __global__ void repaired(const float* in, float* sum) {
    sum[threadIdx.x] = in[threadIdx.x];
}
