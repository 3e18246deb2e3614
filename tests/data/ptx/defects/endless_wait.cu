// A flag that nobody sets.
// launch 1 32 0
// buffer flag i32 1 zeros
// buffer out f32 32 none
// steps 100000
extern "C" __global__ void broken(volatile int* flag, float* out) {
    while (flag[0] == 0) {}  //! EndlessLoop
    out[threadIdx.x] = 1;
}
extern "C" __global__ void repaired(volatile int* flag, float* out) {
    if (threadIdx.x == 0) flag[0] = 1;
    while (flag[0] == 0) {}
    out[threadIdx.x] = 1;
}
