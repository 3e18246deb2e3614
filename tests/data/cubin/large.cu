// nvcc -cubin -arch=sm_90 of CUDA 13.5: a parameter of more than 4 KiB.
struct Large { char x[6000]; };
__global__ void large(Large b, int* o, int n) { o[threadIdx.x] = b.x[n]; }
