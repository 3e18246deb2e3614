// Lanes may meet at two shuffles, if both name the same mask.
// launch 1 32 0
// buffer in f32 32 iota
// buffer out f32 32 none
extern "C" __global__ void broken(const float* in, float* out) {
    float v = in[threadIdx.x], x;
    if (threadIdx.x % 2) {
        asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xaaaaaaaa;" : "=f"(x) : "f"(v));  //! InactiveLane
        x *= 2;
    } else {
        asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0x55555555;" : "=f"(x) : "f"(v));  //! InactiveLane
        x += 1;
    }
    out[threadIdx.x] = x;
}
extern "C" __global__ void repaired(const float* in, float* out) {
    float v = in[threadIdx.x], x;
    if (threadIdx.x % 2) {
        asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=f"(x) : "f"(v));
        x *= 2;
    } else {
        asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=f"(x) : "f"(v));
        x += 1;
    }
    out[threadIdx.x] = x;
}
