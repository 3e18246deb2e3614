// Pixels of three bytes side by side: words are shared by threads, bytes are not.
// launch 2 32 0
// buffer image i32 48 zeros
extern "C" __global__ void broken(unsigned char* image) {
    int i = blockIdx.x * 32 + threadIdx.x;
    for (int c = 0; c < 3; ++c) image[3 * i + c] = i + c + image[(3 * i + c + 3) % 192];  //! Race
}
extern "C" __global__ void repaired(unsigned char* image) {
    int i = blockIdx.x * 32 + threadIdx.x;
    for (int c = 0; c < 3; ++c) image[3 * i + c] = i + c + image[3 * i + c];
}
