// __threadfence_block() orders nothing for other blocks.
// launch 2 32 0
// buffer data f32 1 zeros
// buffer flag i32 1 zeros
// buffer out f32 1 none
extern "C" __global__ void broken(float* data, int* flag, float* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 5;
        __threadfence_block();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        out[0] = data[0];  //! Race
    }
}
extern "C" __global__ void repaired(float* data, int* flag, float* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 5;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        out[0] = data[0];
    }
}
