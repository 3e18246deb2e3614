// One block hands a value to the next by a volatile flag; without fences the flag orders nothing but itself.
// launch 2 32 0
// buffer data f32 1 zeros
// buffer flag i32 1 zeros
// buffer out f32 1 none
extern "C" __global__ void broken(float* data, volatile int* flag, float* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 5;
        flag[0] = 1;
    } else {
        while (flag[0] == 0) {}
        out[0] = data[0];  //! Race
    }
}
extern "C" __global__ void repaired(float* data, volatile int* flag, float* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 5;
        __threadfence();
        flag[0] = 1;
    } else {
        while (flag[0] == 0) {}
        __threadfence();
        out[0] = data[0];
    }
}
