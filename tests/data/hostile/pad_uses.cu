// pad_shared: refuses because full_subscripts
// file-scope tile, another function runs over the row
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__shared__ float tile[32][32];
__device__ float flat(int i) { return tile[0][i]; }
__global__ void k(const float* in, float* out) {
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + flat(40);
}
// pad_shared: refuses because full_subscripts
// passed to a template by reference
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
template <int N, int M> __device__ int size(float (&)[N][M]) { return N * M; }
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + size(tile);
}
// pad_shared: refuses because full_subscripts
// assembly names the tile
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned)__cvta_generic_to_shared(tile)), "l"(in));
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// pad_shared: refuses because full_subscripts
// a negative column reaches the row before
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
  if (threadIdx.y > 0) out[threadIdx.x] = tile[threadIdx.y][(int)threadIdx.x - 1];
}
// pad_shared: refuses because full_subscripts
// block shape unknown
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// pad_shared: refuses because full_subscripts
// structures
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
struct S { float a, b, c; };
__global__ void k(const float* in, float* out) {
  __shared__ S tile[32][32];
  tile[threadIdx.y][threadIdx.x].a = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y].a;
}
// pad_shared: rewrites
// alignment attribute, line ends inside the declaration
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ __align__(16) float
    tile[32] // rows
        [32  // columns
        ];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// pad_shared: refuses because full_subscripts
// vectorised store through a pointer to an element
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float4* in, float* out) {
  __shared__ float tile[32][32];
  if (threadIdx.x < 8) reinterpret_cast<float4*>(tile[threadIdx.y])[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// pad_shared: refuses because budget
// a device function has shared memory of its own
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__device__ float other(int i) { __shared__ float big[11000]; big[i] = i; return big[i]; }
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + other(threadIdx.x);
}
// pad_shared: refuses because budget
// several instances of one kernel with more memory
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
template <int N>
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  __shared__ float more[N];
  more[threadIdx.x] = 0;
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + more[threadIdx.x];
}
void run(float* a, float* b) { k<32><<<1, 32>>>(a, b); k<11264><<<1, 32>>>(a, b); }
// pad_shared: refuses because full_subscripts
// the shape is that of the launch, and the launch does not fit
__global__ void k(const float* in, float* out) {
  __shared__ float tile[16][16];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 16 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
void run(float* a, float* b) { dim3 block(16, 16); k<<<1, block>>>(a, b); block.x = 32; k<<<1, block>>>(a, b); }
// pad_shared: rewrites
// the shape is that of the launch
__global__ void k(const float* in, float* out) {
  __shared__ float tile[16][16];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 16 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
void run(float* a, float* b) { dim3 block(16, 16); k<<<1, block>>>(a, b); }
