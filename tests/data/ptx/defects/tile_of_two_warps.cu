// Halves of a block of four warps work apart; the warps of one half meet before they read each other's values.
// launch 3 128 0
// buffer in f32 384 iota
// buffer out f32 384 none
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void broken(const float* in, float* out) {
    __shared__ float values[128];
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * 128 + threadIdx.x;
    for (int round = 0; round < 2; ++round) {
        values[threadIdx.x] = in[i] + round;  //! Race
        tile.sync();
        out[i] = values[threadIdx.x ^ 63];  //! Race //! UninitialisedShared
        tile.sync();
    }
}
extern "C" __global__ void repaired(const float* in, float* out) {
    __shared__ float values[128];
    auto tile = cg::tiled_partition<64>(cg::this_thread_block());
    int i = blockIdx.x * 128 + threadIdx.x;
    for (int round = 0; round < 2; ++round) {
        values[threadIdx.x] = in[i] + round;
        tile.sync();
        out[i] = values[threadIdx.x ^ 63];
        tile.sync();
    }
}
