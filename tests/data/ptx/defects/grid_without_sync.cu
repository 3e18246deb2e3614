// Two phases over the whole grid: the second reads what other blocks wrote in the first.
// launch 7 64 0
// buffer data f32 448 iota
// buffer out f32 448 none
// int 448
#include <cooperative_groups.h>
extern "C" __global__ void broken(float* data, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = 2.0f * data[i];  //! Race
    __syncthreads();
    out[i] = data[n - 1 - i];  //! Race
}
extern "C" __global__ void repaired(float* data, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = 2.0f * data[i];
    cooperative_groups::this_grid().sync();
    out[i] = data[n - 1 - i];
}
