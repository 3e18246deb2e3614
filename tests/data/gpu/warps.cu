// What lanes and blocks do together.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "i32", shape = ["n"], legal = [0, 9] }
// kopt: args.y = { role = "out", dtype = "u32", shape = ["n"] }
// kopt: launch = { grid = "(n + 127) / 128", block = 128, args = ["a", "y", "i32(n)"] }
__global__ void lanes(const int* a, unsigned* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = i < n ? a[i] : 0;
    unsigned all = 0xffffffffu;
    unsigned found = __ballot_sync(all, v > 4) ^ __match_any_sync(all, v);
    found += __shfl_up_sync(all, v, 3) * 5 + __shfl_down_sync(all, v, 7) * 11 + __shfl_xor_sync(all, v, 13);
    found += __shfl_sync(all, v, v, 8) + __any_sync(all, v == 9) + 2 * __all_sync(all, v < 9);
    found ^= __reduce_add_sync(all, (unsigned)v) + (__reduce_max_sync(all, v) << 8);
    int same = 0;
    __match_all_sync(all, v & 8, &same);
    if (i < n) y[i] = found + same;
}

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "(n + 255) / 256", block = 256, args = ["a", "y", "i32(n)"] }
__global__ void block_scan(const float* a, float* y, int n) {
    __shared__ float sums[8];
    int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float v = i < n ? a[i] : 0.0f;
    for (int d = 1; d < 32; d *= 2) {
        float left = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d) v += left;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    float before = 0.0f;
    for (int w = 0; w < warp; ++w) before += sums[w];
    if (i < n) y[i] = v + before;
}

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "i32", shape = ["n"], legal = [-50, 50] }
// kopt: args.sums = { role = "inout", dtype = "i32", shape = [16] }
// kopt: args.extremes = { role = "inout", dtype = "i32", shape = [2] }
// kopt: launch = { grid = "(n + 127) / 128", block = 128, args = ["a", "sums", "extremes", "i32(n)"] }
__global__ void atomics(const int* a, int* sums, int* extremes, int n) {
    __shared__ int local[16];
    if (threadIdx.x < 16) local[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&local[a[i] & 15], a[i]);
        atomicMin(&extremes[0], a[i]);
        atomicMax(&extremes[1], a[i]);
    }
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&sums[threadIdx.x], local[threadIdx.x]);
}

// kopt: dims.n = { samples = [1000], max = 100000 }
// kopt: args.a = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["(n + 127) / 128"] }
// kopt: launch = { grid = "(n + 127) / 128", block = 128, args = ["a", "y", "i32(n)"] }
__global__ void groups(const float* a, float* y, int n) {
    __shared__ float parts[4];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int i = blockIdx.x * 128 + threadIdx.x;
    float v = i < n ? a[i] : 0.0f;
    for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
    if (tile.thread_rank() == 0) parts[tile.meta_group_rank()] = v;
    block.sync();
    if (block.thread_rank() == 0) y[blockIdx.x] = parts[0] + parts[1] + parts[2] + parts[3];
}
