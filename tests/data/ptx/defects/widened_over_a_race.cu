// Each thread writes the fourth of its four, and reads those of its neighbour in one load.
// launch 1 32 0
// buffer data f32 128 iota
// buffer out f32 32 none
extern "C" __global__ void broken(float* data, float* out) {
    float* rows = (float*)__builtin_assume_aligned(data, 16);
    rows[4 * threadIdx.x + 3] = 1.0f;
    const float* row = rows + 4 * ((threadIdx.x + 1) % 32);
    out[threadIdx.x] = row[0] + row[1] * row[2] - row[3];  //! Race
}
extern "C" __global__ void repaired(float* data, float* out) {
    float* rows = (float*)__builtin_assume_aligned(data, 16);
    rows[4 * threadIdx.x + 3] = 1.0f;
    const float* row = rows + 4 * ((threadIdx.x + 1) % 32);
    out[threadIdx.x] = row[0] + row[1] * row[2];
}
