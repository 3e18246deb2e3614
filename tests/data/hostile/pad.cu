// pad_shared: refuses because full_subscripts
// row pitch in arithmetic
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = *(tile[0] + 32 * threadIdx.x + threadIdx.y);
}
// pad_shared: refuses because full_subscripts
// sizeof
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + sizeof(tile);
}
// pad_shared: refuses because full_subscripts
// sizeof a row in a loop bound
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
  for (int i = 0; i < sizeof tile[0] / sizeof(float); ++i) out[i] = tile[threadIdx.x][i];
}
// pad_shared: refuses because full_subscripts
// range for over a row
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  float a = 0.0f;
  for (float v : tile[threadIdx.x]) a += v;
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + a;
}
// pad_shared: refuses because full_subscripts
// by reference to a device function
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__device__ float get(float (&t)[32][32], int x, int y) { return t[x][y]; }
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = get(tile, threadIdx.x, threadIdx.y);
  out[threadIdx.y * 32 + threadIdx.x] += tile[threadIdx.x][threadIdx.y];
}
// pad_shared: refuses because full_subscripts
// pointer to rows
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  float (*p)[32] = tile;
  p[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// pad_shared: refuses because full_subscripts
// runs over the row on purpose
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  for (int i = 0; i < 32; ++i) tile[threadIdx.x][i] = in[i];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[0][threadIdx.y * 32 + threadIdx.x];
}
// pad_shared: rewrites
// macro extent used elsewhere as the row length of global memory
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
#define T 32
__global__ void k(const float* in, float* out) {
  __shared__ float tile[T][T];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * T + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * T + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// pad_shared: rewrites
// macro extent that is an expression
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
#define T 16 << 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[T][T];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// pad_shared: refuses because full_subscripts
// union of two tiles
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ union { float a[32][32]; float b[1024]; } u;
  u.a[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = u.a[threadIdx.x][threadIdx.y] + u.b[3];
}
// pad_shared: refuses because full_subscripts
// typedef'd row
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
typedef float Row[32];
__global__ void k(const float* in, float* out) {
  __shared__ Row tile[32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// pad_shared: refuses because budget
// two tiles that fill shared memory
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const double* in, double* out) {
  __shared__ double tile[32][32];
  __shared__ double more[5120];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  more[threadIdx.x] = 0;
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + more[threadIdx.x];
}
// pad_shared: refuses because full_subscripts
// static_assert on the size
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  static_assert(sizeof(tile) == 4096, "size");
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// pad_shared: refuses because full_subscripts
// decltype of the tile
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + sizeof(decltype(tile));
}
// pad_shared: refuses because full_subscripts
// asm on the address of an element
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  asm volatile("bar.sync 0;" ::: "memory");
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + __cvta_generic_to_shared(&tile[1][0]);
}
// pad_shared: refuses because full_subscripts
// reference to an element, walked
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  float& first = tile[0][0];
  auto& other = tile[1][0];
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + (&other - &first);
}
// pad_shared: refuses because full_subscripts
// lambda captures the tile
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  auto f = [&](int i) { return tile[0][i]; };
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + f(40);
}
// pad_shared: rewrites
// several declarators
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float other[4], tile[32][32];
  other[threadIdx.x & 3] = 1;
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + other[0];
}
// pad_shared: refuses because full_subscripts
// the tile declared at file scope and used by two kernels
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__shared__ float tile[32][32];
__device__ float flat(int i) { return (&tile[0][0])[i]; }
__global__ void k(const float* in, float* out) {
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + flat(threadIdx.x);
}
// pad_shared: refuses because full_subscripts
// reversed subscript
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = threadIdx.y[threadIdx.x[tile]];
  out[0] = tile[threadIdx.x][threadIdx.y];
}
// pad_shared: refuses because full_subscripts
// atomics on elements
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const int* in, int* out) {
  __shared__ int tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  atomicAdd(&tile[threadIdx.x][threadIdx.y], 1);
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// pad_shared: refuses because full_subscripts
// memcpy of a row
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  memcpy(tile[threadIdx.y], in, 128);
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// pad_shared: refuses because full_subscripts
// wmma loads with the row pitch
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
#include <mma.h>
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c;
  nvcuda::wmma::load_matrix_sync(c, &tile[0][0], 32, nvcuda::wmma::mem_row_major);
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// pad_shared: refuses because match
// the tile in a macro
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
#define TILE(n) __shared__ float n[32][32]
#define AT(t, i) (&t[0][0])[i]
__global__ void k(const float* in, float* out) {
  TILE(tile);
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + AT(tile, 3);
}
// pad_shared: refuses because full_subscripts
// macro that flattens its argument
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
#define AT(t, i) (&t[0][0])[i]
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + AT(tile, 3);
}
// pad_shared: refuses because full_subscripts
// macro that takes the element's address
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
#define NEXT(e) (*(&(e) + 1))
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + NEXT(tile[0][31]);
}
// pad_shared: rewrites
// sum of macro constants
// assume: blockDim.x == 32
// assume: blockDim.y == 32
// assume: blockDim.z == 1
constexpr int W = 32;
__global__ void k(const float* in, float* out) {
  __shared__ float tile[W] [ W /* row */ ];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * W + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * W + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
