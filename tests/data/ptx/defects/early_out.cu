// A plain read that decides whether to update: its value goes further than into a swap.
// launch 2 32 0
// buffer out i32 1 zeros
extern "C" __global__ void broken(int* out) {
    int value = 100 * blockIdx.x + threadIdx.x;
    if (out[0] < value) atomicMax(out, value);  //! Race
}
extern "C" __global__ void repaired(int* out) {
    int value = 100 * blockIdx.x + threadIdx.x;
    if (*(volatile int*)out < value) atomicMax(out, value);
}
