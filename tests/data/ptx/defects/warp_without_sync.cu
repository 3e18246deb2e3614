// Lanes of a warp exchange through shared memory as if they ran in step.
// launch 1 32 0
// buffer in f32 32 iota
// buffer out f32 32 none
extern "C" __global__ void broken(const float* in, float* out) {
    __shared__ float s[32];
    s[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = s[threadIdx.x ^ 1];  //! Race
}
extern "C" __global__ void repaired(const float* in, float* out) {
    __shared__ float s[32];
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}
