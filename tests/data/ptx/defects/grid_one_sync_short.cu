// Phases that hand the data to and fro: the second one needs the whole grid to have read before it writes again.
// launch 2,3 16,4 0
// buffer data f32 384 iota
// buffer other f32 384 none
// int 384
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void broken(float* data, float* other, int n) {
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    for (int phase = 0; phase < 3; ++phase) {
        other[i] = data[(i + 97) % n];  //! Race
        grid.sync();
        data[i] = other[(i + 211) % n] + 1.0f;  //! Race
    }
}
extern "C" __global__ void repaired(float* data, float* other, int n) {
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    for (int phase = 0; phase < 3; ++phase) {
        other[i] = data[(i + 97) % n];
        grid.sync();
        data[i] = other[(i + 211) % n] + 1.0f;
        grid.sync();
    }
}
