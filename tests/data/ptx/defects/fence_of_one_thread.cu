// All threads write, one fences and takes a ticket: its fence says nothing of what the others wrote, without a barrier.
// launch 3 64 0
// buffer part f32 192 zeros
// buffer ticket i32 1 zeros
// buffer out f32 64 none
extern "C" __global__ void broken(float* part, unsigned* ticket, float* out) {
    __shared__ bool last;
    int t = threadIdx.x;
    part[blockIdx.x * 64 + t] = t;
    if (t == 0) {
        __threadfence();
        last = atomicAdd(ticket, 1) == 2;
        __threadfence();
    }
    __syncthreads();
    if (last) out[t] = part[t] + part[64 + t] + part[128 + t];  //! Race
}
extern "C" __global__ void repaired(float* part, unsigned* ticket, float* out) {
    __shared__ bool last;
    int t = threadIdx.x;
    part[blockIdx.x * 64 + t] = t;
    __syncthreads();
    if (t == 0) {
        __threadfence();
        last = atomicAdd(ticket, 1) == 2;
        __threadfence();
    }
    __syncthreads();
    if (last) out[t] = part[t] + part[64 + t] + part[128 + t];
}
