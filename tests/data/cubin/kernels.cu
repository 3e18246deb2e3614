// nvcc -cubin -arch=sm_75 (and sm_90a) of CUDA 13.5: what src/compile/cubin.rs reads of them is known from here.
struct P { int a; double b; char c; };
__device__ int counter;
__constant__ float taps[5];
__device__ __noinline__ float weighted(float x, int n) { return x * taps[n % 5]; }
__global__ void two(const float* a, float* b, int n, P p, char q, short r) {
    __shared__ float t[40];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    t[threadIdx.x % 40] = a[i];
    __syncthreads();
    b[i] = weighted(t[(threadIdx.x + 1) % 40], n) + p.b + q + r;
}
template <class T>
__global__ void __launch_bounds__(128) scale(T* a, T k) {
    a[threadIdx.x] *= k;
}
template __global__ void scale<double>(double*, double);
__global__ void none() { atomicAdd(&counter, 1); }
