// The last block sums what the others wrote; without a fence their writes need not be visible.
// launch 4 32 0
// buffer part f32 4 zeros
// buffer ticket i32 1 zeros
// buffer out f32 1 none
extern "C" __global__ void broken(float* part, unsigned* ticket, float* out) {
    if (threadIdx.x != 0) return;
    part[blockIdx.x] = blockIdx.x + 1;
    if (atomicAdd(ticket, 1) != 3) return;
    float sum = 0;
    for (int b = 0; b < 4; ++b) sum += part[b];  //! Race
    out[0] = sum;
}
extern "C" __global__ void repaired(float* part, unsigned* ticket, float* out) {
    if (threadIdx.x != 0) return;
    part[blockIdx.x] = blockIdx.x + 1;
    __threadfence();
    if (atomicAdd(ticket, 1) != 3) return;
    __threadfence();
    float sum = 0;
    for (int b = 0; b < 4; ++b) sum += part[b];
    out[0] = sum;
}
