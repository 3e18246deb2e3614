// launch 1 1 0
// buffer out f32 1 none
// int 10000
extern "C" __global__ void harmonic(float* out, int n) {
    float sum = 0;
    for (int k = 1; k <= n; ++k) sum += 1.0f / (float)k;
    out[0] = sum;
}
