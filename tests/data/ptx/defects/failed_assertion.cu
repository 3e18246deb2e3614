// An assertion that does not hold for the last thread.
// launch 1 32 0
// buffer out f32 32 none
#include <assert.h>
extern "C" __global__ void broken(float* out) {
    assert(threadIdx.x < 31);  //! AssertionFailed
    out[threadIdx.x] = 1;
}
extern "C" __global__ void repaired(float* out) {
    assert(threadIdx.x < 32);
    out[threadIdx.x] = 1;
}
