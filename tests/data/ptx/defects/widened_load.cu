// Three of four neighbours become one load of four: the fourth lies behind the end and nobody looks at it.
// launch 1 32 0
// buffer in f32 127 iota
// buffer out f32 32 none
extern "C" __global__ void broken(const float* in, float* out) {
    const float* row = (const float*)__builtin_assume_aligned(in, 16) + 4 * threadIdx.x;
    out[threadIdx.x] = row[0] + row[1] * row[2] - row[3];  //! OutOfBounds
}
extern "C" __global__ void repaired(const float* in, float* out) {
    const float* row = (const float*)__builtin_assume_aligned(in, 16) + 4 * threadIdx.x;
    out[threadIdx.x] = row[0] + row[1] * row[2];
}
