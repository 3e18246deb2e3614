// 16-byte loads of rows whose pitch is odd.
// launch 3 1 0
// buffer in f32 15 iota
// buffer out f32 3 none
// int 5
extern "C" __global__ void broken(const float* in, float* out, int pitch) {
    float4 v = *reinterpret_cast<const float4*>(in + blockIdx.x * pitch);  //! Misaligned
    out[blockIdx.x] = v.x + v.y + v.z + v.w;
}
extern "C" __global__ void repaired(const float* in, float* out, int pitch) {
    const float* row = in + blockIdx.x * pitch;
    out[blockIdx.x] = row[0] + row[1] + row[2] + row[3];
}
