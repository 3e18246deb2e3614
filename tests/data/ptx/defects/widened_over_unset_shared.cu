// Seven of eight bytes are written; a load of eight takes the last along.
// launch 1 32 0
// buffer in f32 64 ones
// buffer out f32 32 none
extern "C" __global__ void broken(const unsigned char* in, int* out) {
    __shared__ __align__(16) unsigned char tile[256];
    for (int k = 0; k < 7; ++k) tile[8 * threadIdx.x + k] = in[8 * threadIdx.x + k];
    int sum = 0;
    for (int k = 0; k < 8; ++k) sum = 3 * sum + tile[8 * threadIdx.x + k];  //! UninitialisedShared
    out[threadIdx.x] = sum;
}
extern "C" __global__ void repaired(const unsigned char* in, int* out) {
    __shared__ __align__(16) unsigned char tile[256];
    for (int k = 0; k < 7; ++k) tile[8 * threadIdx.x + k] = in[8 * threadIdx.x + k];
    int sum = 0;
    for (int k = 0; k < 7; ++k) sum = 3 * sum + tile[8 * threadIdx.x + k];
    out[threadIdx.x] = sum;
}
