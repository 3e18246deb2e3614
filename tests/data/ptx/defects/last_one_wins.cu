// All threads write different values to one place.
// launch 1 64 0
// buffer out i32 1 zeros
extern "C" __global__ void broken(int* out) {
    out[0] = threadIdx.x;  //! Race
}
extern "C" __global__ void repaired(int* out) {
    atomicMax(out, (int)threadIdx.x);
}
