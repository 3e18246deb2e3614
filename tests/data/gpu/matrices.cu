// Tensor-core instructions; the order of their sums is the device's own.
#include <cuda_fp16.h>
#include <mma.h>

// kopt: args.a = { role = "in", dtype = "f16", shape = [16, 16] }
// kopt: args.b = { role = "in", dtype = "f16", shape = [16, 16] }
// kopt: args.y = { role = "out", dtype = "f32", shape = [16, 16] }
// kopt: launch = { grid = 1, block = 32, args = ["a", "b", "y"] }
__global__ void wmma_half(const __half* a, const __half* b, float* y) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.5f);
    load_matrix_sync(fa, a, 16);
    load_matrix_sync(fb, b, 16);
    mma_sync(sum, fa, fb, sum);
    store_matrix_sync(y, sum, 16, mem_row_major);
}

// kopt: args.a = { role = "in", dtype = "i8", shape = [16, 32], legal = [-128, 127] }
// kopt: args.b = { role = "in", dtype = "i8", shape = [8, 32], legal = [-128, 127] }
// kopt: args.y = { role = "out", dtype = "i32", shape = [16, 8] }
// kopt: launch = { grid = 1, block = 32, args = ["a", "b", "y"] }
__global__ void mma_bytes(const signed char* a, const signed char* b, int* y) {
    int lane = threadIdx.x, row = lane / 4, quad = lane % 4;
    const int* wa = reinterpret_cast<const int*>(a);
    const int* wb = reinterpret_cast<const int*>(b);
    int a0 = wa[row * 8 + quad], a1 = wa[(row + 8) * 8 + quad];
    int a2 = wa[row * 8 + quad + 4], a3 = wa[(row + 8) * 8 + quad + 4];
    int b0 = wb[row * 8 + quad], b1 = wb[row * 8 + quad + 4];
    int d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d0), "+r"(d1), "+r"(d2), "+r"(d3)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    y[row * 8 + 2 * quad] = d0;
    y[row * 8 + 2 * quad + 1] = d1;
    y[(row + 8) * 8 + 2 * quad] = d2;
    y[(row + 8) * 8 + 2 * quad + 1] = d3;
}
