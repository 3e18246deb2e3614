// A named barrier waits for more threads than ever come.
// launch 1 64 0
// buffer out f32 64 none
extern "C" __global__ void broken(float* out) {
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, 64;");  //! Deadlock
    }
    out[threadIdx.x] = 1;
}
extern "C" __global__ void repaired(float* out) {
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, 32;");
    }
    out[threadIdx.x] = 1;
}
