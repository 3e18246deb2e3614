// shuffle_reduce: refuses because only_first_read
// file-scope tile read by a helper
__shared__ float sm[256];
__device__ float get(int i) { return sm[i]; }
__global__ void k(const float* x, float* y) {
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0] + get(5);
}
// shuffle_reduce: refuses because match
// macro update
#define ADD(a, b) a = a + b
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) ADD(sm[t], sm[t + s]); __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: rewrites
// cooperative groups
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  cg::thread_block block = cg::this_thread_block();
  int t = threadIdx.x;
  sm[t] = x[t];
  block.sync();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; block.sync(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because match
// barrier only for large distances
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; if (s > 32) __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because match
// warp barrier
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncwarp(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: rewrites
// NaN order of the ternary is kept
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] = sm[t] > sm[t + s] ? sm[t] : sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because match
// min and index: two tiles
__global__ void k(const float* x, int* y) {
  __shared__ float sm[256]; __shared__ int id[256];
  int t = threadIdx.x;
  sm[t] = x[t]; id[t] = t;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) if (sm[t + s] > sm[t]) { sm[t] = sm[t + s]; id[t] = id[t + s]; } __syncthreads(); }
  if (t == 0) y[blockIdx.x] = id[0];
}
// shuffle_reduce: refuses because lane_is_thread
// offset lanes of a second warp group
__global__ void k(const float* x, float* y) {
  __shared__ float sm[512];
  int t = threadIdx.x + 32;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because lane_is_thread
// flattened index of a 2-D block
// assume: blockDim.x == 16
// assume: blockDim.y == 16
// assume: blockDim.z == 1
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  int t = threadIdx.y * blockDim.x + threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because nothing_else
// counts the steps
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  int t = threadIdx.x, n = 0;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; n++; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0] / n;
}
// shuffle_reduce: refuses because match
// writes a second place in the same statement
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) y[t] = sm[t] += sm[t + s]; __syncthreads(); }
}
// shuffle_reduce: refuses because match
// the other element is t + 2s
__global__ void k(const float* x, float* y) {
  __shared__ float sm[1024];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + 2 * s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because match
// else branch does something
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; else sm[t] = 0.0f; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because spans_warp
// distance starts at a parameter
__global__ void k(const float* x, float* y, int half) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = half; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because only_first_read
// a loop around, tile declared inside
__global__ void k(const float* x, float* y, int n) {
  int t = threadIdx.x;
  while (n-- > 0) {
    __shared__ float sm[256];
    sm[t] += x[t];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
    if (t == 0) y[blockIdx.x] += sm[0];
  }
}
// shuffle_reduce: rewrites
// the tile is reused afterwards after a full write
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  float total = sm[0];
  __syncthreads();
  y[t] = x[t] / total;
}
// shuffle_reduce: rewrites
// two trees over one tile in a row
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  float total = sm[0];
  __syncthreads();
  sm[t] = x[t] * total;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] = fmaxf(sm[t], sm[t + s]); __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0] + total;
}
// shuffle_reduce: rewrites
// function of the program named fmaxf with a trap
__device__ int mymax(int a, int b) { return a > b ? a : b; }
__global__ void k(const int* x, int* y, int n) {
  __shared__ int sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] = max(sm[t], sm[t + s]); __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: rewrites
// subtraction is no reduction
__global__ void k(const int* x, int* y, int n) {
  __shared__ int sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] = sm[t] - sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: rewrites
// short distance in a for with an outer declaration, CHECK at the end
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[512];
  unsigned int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  #pragma unroll
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1)
  {
    // halves
    if (t < s)
    {
      sm[t] += sm[t + s]; // sum
    }
    __syncthreads(); // wait
  }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because uniform
// return of some threads after the tree starts
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[512];
  unsigned int t = threadIdx.x;
  if (t >= 128) { return; }
  sm[t] = x[t];
  __syncthreads();
  for (unsigned int s = 64; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because only_first_read
// read at an index that happens to be zero in one thread
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[512];
  unsigned int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t < n) y[blockIdx.x] = sm[t];
}
// shuffle_reduce: rewrites
// read at t under t == 0
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[512];
  unsigned int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[t];
}
// shuffle_reduce: refuses because lane_is_thread
// the lane changes in between
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[512];
  unsigned int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  t = t ^ n;
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because only_first_read
// an alias of the tile's first element is read at an offset
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[512];
  unsigned int t = threadIdx.x;
  sm[t] = x[t];
  float& first = sm[0];
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = (&first)[1];
}
// shuffle_reduce: rewrites
// inner variables that hide the names in the guard
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[512];
  unsigned int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  { int v = 3, distance = 4, lane_value = 5; sm[t] += v + distance + lane_value; __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); } }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because no_guard
// a variable called blockDim
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[512];
  unsigned int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (unsigned int s = 256; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  int blockDim = 3;
  if (t == 0) y[blockIdx.x] = sm[0] + blockDim;
}
// shuffle_reduce: refuses because only_first_read
// each row of threads reduces a part of its own, and warps straddle rows
__global__ void rows(const float* x, float* y) {
  extern __shared__ float smem[];
  float* row = smem + threadIdx.y * blockDim.x;
  row[threadIdx.x] = x[threadIdx.y * blockDim.x + threadIdx.x];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) row[threadIdx.x] += row[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[threadIdx.y] = row[0];
}
// shuffle_reduce: refuses because spans_warp
// the distance is divided in the header of another loop first
__global__ void early(const float* x, float* y) {
  extern __shared__ float sm[];
  sm[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  int s = blockDim.x / 2;
  for (int k = 0; k < 3; k++, s /= 2) y[k] = 0.f;
  while (s > 0) {
    if (threadIdx.x < s) sm[threadIdx.x] += sm[threadIdx.x + s];
    __syncthreads();
    s >>= 1;
  }
  if (threadIdx.x == 0) y[threadIdx.y] = sm[0];
}
