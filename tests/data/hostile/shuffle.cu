// shuffle_reduce: refuses because halving
// warp-synchronous tail, loop stops at 32
__device__ void warpReduce(volatile float* sm, int t) { sm[t] += sm[t + 32]; sm[t] += sm[t + 16]; }
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 32; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t < 32) warpReduce(sm, t);
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because uniform
// tree in a divergent branch
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  if (t < n) {
    for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because only_first_read
// reads sm[1] later
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0] + sm[1];
}
// shuffle_reduce: refuses because only_first_read
// surrounding loop
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  for (int j = 0; j < n; ++j) {
    sm[t] = x[j * 256 + t];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
    if (t == 0) y[j] = sm[0];
    __syncthreads();
  }
}
// shuffle_reduce: rewrites
// volatile tile
__global__ void k(const float* x, float* y) {
  volatile __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because only_first_read
// distance used after the loop
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  int t = threadIdx.x, s;
  sm[t] = x[t];
  __syncthreads();
  for (s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[s];
}
// shuffle_reduce: refuses because uniform
// unsigned distance, s >= 1
__global__ void k(const unsigned* x, unsigned* y) {
  __shared__ unsigned sm[256];
  unsigned t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (unsigned s = blockDim.x >> 1; s >= 1; s = s / 2) { if (t < s) sm[t] = sm[t] + sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: rewrites
// eight bytes
__global__ void k(const unsigned long long* x, unsigned long long* y) {
  __shared__ unsigned long long sm[256];
  unsigned t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (unsigned s = blockDim.x >> 1; s; s >>= 1) { if (t < s) sm[t] ^= sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: rewrites
// min of double with ternary
__global__ void k(const double* x, double* y) {
  __shared__ double sm[256];
  unsigned t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (unsigned s = blockDim.x >> 1; s > 0; s >>= 1) { if (t < s) sm[t] = sm[t + s] < sm[t] ? sm[t + s] : sm[t]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: rewrites
// conditional store
__global__ void k(const double* x, double* y) {
  __shared__ double sm[256];
  unsigned t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (unsigned s = blockDim.x >> 1; s > 0; s >>= 1) { if (t < s) if (sm[t + s] > sm[t]) sm[t] = sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because halving
// s > 1
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 1; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0] + sm[1];
}
// shuffle_reduce: refuses because match
// interleaved addressing
__global__ void k(const float* x, float* y) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = 1; s < blockDim.x; s *= 2) { if (t % (2 * s) == 0) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because nothing_else
// guard with a bound on the elements
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  if (t < n) sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s && t + s < n) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because lane_is_thread
// t is the global index
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  sm[threadIdx.x] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because match
// guard t <= s
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[512];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) { if (t <= s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: rewrites
// the tile is longer than the block starts at 512 in a block of 256
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[1024];
  int t = threadIdx.x;
  for (int i = t; i < 1024; i += blockDim.x) sm[i] = x[i];
  __syncthreads();
  for (int s = 512; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: rewrites
// distance starts at 48, not a power of two: 48 24 12 6 3 1
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[96];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because lane_is_thread
// integer narrower lane variable of half block
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  unsigned char t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because only_first_read
// pointer to the tile is read after
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  float* p = sm;
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = p[3];
}
// shuffle_reduce: refuses because only_first_read
// a pointer to dynamic shared memory and offset tiles
__global__ void k(const float* x, float* y, int n) {
  extern __shared__ float mem[];
  float* sm = mem + blockDim.x;
  int t = threadIdx.x;
  mem[t] = x[t];
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0] + mem[3];
}
// shuffle_reduce: refuses because match
// half the block: if (tid < s) else branch
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  int s = blockDim.x / 2;
  while (s) {
    if (t < s)
      sm[t] += sm[s + t];   // add
    s >>= 1;
    __syncthreads();
  }
  if (!t) y[blockIdx.x] = *sm;
}
// shuffle_reduce: rewrites
// step before the barrier with for header distance
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  if (n > 0)
    for (int s = blockDim.x / 2; s != 0; s /= 2) {
      if (t < s) { sm[t] = max(sm[t], sm[t + s]); }
      __syncthreads();
    }
  else
    y[3] = 0;
  if (!t) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because match
// s changes before the update
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  int s = blockDim.x;
  while (s > 1) {
    s >>= 1;
    if (t < s) sm[t] += sm[t + s];
    __syncthreads();
  }
  if (!t) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because match
// step before the update, s > 0
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[512];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  int s = blockDim.x / 2;
  while (s > 0) {
    s /= 2;
    if (t < s) sm[t] += sm[t + s];
    __syncthreads();
  }
  if (!t) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because uniform
// early exit of whole warps before
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  if (t < 32 && n == 0) return;
  sm[t] = x[t];
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (!t) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: rewrites
// short
__global__ void k(const short* x, short* y, int n) {
  __shared__ short sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (!t) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because match
// float2
__global__ void k(const float2* x, float2* y, int n) {
  __shared__ float2 sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) { if (t < s) sm[t].x += sm[t + s].x; __syncthreads(); }
  if (!t) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: refuses because match
// the update uses a member of both and stores to another element
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s] * x[t]; __syncthreads(); }
  if (!t) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: rewrites
// stays in the first warp: distance 16 with a block of 16 active
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[32];
  int t = threadIdx.x;
  if (t < 32) sm[t] = x[t];
  __syncthreads();
  for (int s = 16; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (!t) y[blockIdx.x] = sm[0];
}
// shuffle_reduce: rewrites
// template block size
template <int B>
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[B];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = B / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (!t) y[blockIdx.x] = sm[0];
}
void run(const float* x, float* y) { k<256><<<1, 256>>>(x, y, 1); }
// shuffle_reduce: refuses because spans_warp
// template block size, one too small
template <int B>
__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[B];
  int t = threadIdx.x;
  if (t < B) sm[t] = x[t];
  __syncthreads();
  for (int s = B / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (!t) y[blockIdx.x] = sm[0];
}
void run(const float* x, float* y) { k<256><<<1, 256>>>(x, y, 1); k<16><<<1, 32>>>(x, y, 1); }
