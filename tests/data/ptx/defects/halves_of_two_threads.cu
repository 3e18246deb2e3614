// Two blocks write different values to one half; the neighbours that share its word are fine.
// launch 2 32 0
// buffer out i32 32 zeros
extern "C" __global__ void broken(unsigned short* out) {
    out[threadIdx.x + 31 * blockIdx.x] = 100 * blockIdx.x + threadIdx.x;  //! Race
}
extern "C" __global__ void repaired(unsigned short* out) {
    out[threadIdx.x + 32 * blockIdx.x] = 100 * blockIdx.x + threadIdx.x;
}
