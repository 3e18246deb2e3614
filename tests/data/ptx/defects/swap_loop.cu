// The first read of a compare-and-swap loop: plain, it races with the swaps of others, which does no harm there.
// launch 2 32 0
// buffer out f32 1 zeros
__device__ void grow(float* address, float value, int old) {
    int* bits = (int*)address;
    int expected;
    do {
        expected = old;
        old = atomicCAS(bits, expected, __float_as_int(value + __int_as_float(expected)));
    } while (expected != old);
}
extern "C" __global__ void broken(float* out) {
    grow(out, threadIdx.x, *(int*)out);  //! BenignPattern
}
extern "C" __global__ void repaired(float* out) {
    grow(out, threadIdx.x, *(volatile int*)out);
}
