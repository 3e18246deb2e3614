// The flag is polled by a volatile read and set by a plain write.
// launch 2 32 0
// buffer data f32 1 zeros
// buffer flag i32 1 zeros
// buffer out f32 1 none
extern "C" __global__ void broken(float* data, int* flag, float* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 1) {
        data[0] = 5;
        __threadfence();
        flag[0] = 1;  //! Race
    } else {
        while (*(volatile int*)flag == 0) {}  //! Race
        __threadfence();
        out[0] = data[0];  //! Race
    }
}
extern "C" __global__ void repaired(float* data, int* flag, float* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 1) {
        data[0] = 5;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (*(volatile int*)flag == 0) {}
        __threadfence();
        out[0] = data[0];
    }
}
