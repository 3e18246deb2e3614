// A recursion without an end for negative numbers.
// launch 1 1 0
// buffer out i32 1 none
// int -1
extern "C" __device__ __noinline__ int digits(int n, int* out) {
    out[0] = n;
    return n == 0 ? 0 : n * digits(n / 2 - (n < 0), out) % 7 + out[0];  //! StackOverflow
}
extern "C" __device__ __noinline__ int halves(int n, int* out) {
    out[0] = n;
    return n == 0 ? 0 : n * halves(n / 2, out) % 7 + out[0];
}
extern "C" __global__ void broken(int* out, int n) {
    int d = digits(n, out);
    out[0] = d;
}
extern "C" __global__ void repaired(int* out, int n) {
    int d = halves(n, out);
    out[0] = d;
}
