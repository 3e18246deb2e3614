// A float4 is read of which the last one lies behind the end: the source asks for all four, whatever becomes of them.
// launch 1 32 0
// buffer in f32 127 iota
// buffer out f32 32 none
// float 0.5
extern "C" __global__ void broken(const float* in, float* out, float factor) {
    float4 row = reinterpret_cast<const float4*>(in)[threadIdx.x];  //! OutOfBounds
    float all = row.x + row.y + row.z + row.w;
    out[threadIdx.x] = factor > 1.0f ? all : row.x * factor;
}
extern "C" __global__ void repaired(const float* in, float* out, float factor) {
    float2 row = reinterpret_cast<const float2*>(in)[2 * threadIdx.x];
    float all = row.x + row.y;
    out[threadIdx.x] = factor > 1.0f ? all : row.x * factor;
}
