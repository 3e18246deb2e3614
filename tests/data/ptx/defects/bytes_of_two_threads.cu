// Two threads write different values to one byte.
// launch 1 64 0
// buffer out i32 16 zeros
extern "C" __global__ void broken(unsigned char* out) {
    out[threadIdx.x / 2] = threadIdx.x;  //! Race
}
extern "C" __global__ void repaired(unsigned char* out) {
    out[threadIdx.x] = out[threadIdx.x] + threadIdx.x;
}
