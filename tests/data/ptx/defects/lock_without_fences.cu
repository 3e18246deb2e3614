// A spin lock keeps threads apart; what they wrote becomes visible by the fences.
// launch 2 64 0
// buffer lock i32 1 zeros
// buffer sum f32 1 zeros
extern "C" __global__ void broken(int* lock, float* sum) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            sum[0] += 1 + threadIdx.x;  //! Race
            atomicExch(lock, 0);
            done = true;
        }
    }
}
extern "C" __global__ void repaired(int* lock, float* sum) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            sum[0] += 1 + threadIdx.x;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
