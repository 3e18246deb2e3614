// launch 1 64 0
// buffer out f32 64 none
#include <stdio.h>
__device__ __noinline__ float factorial(int n) { return n <= 1 ? 1.0f : n * factorial(n - 1); }
extern "C" __global__ void recursion(float* out) {
    float v = factorial(threadIdx.x % 8);
    if (threadIdx.x == 5) printf("thread %d: %5d | %.3e | %x\n", 5, (int)v, 1.5, 42);
    out[threadIdx.x] = v;
}
