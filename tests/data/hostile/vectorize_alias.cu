// vectorize_access: rewrites
// same pointer twice at the launch, no restrict
__global__ void k(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] + 1.0f;
}
void run(float* p, int n) { k<<<1, 1>>>(p, p, n); }
// vectorize_access: rewrites
// two allocations, one overwritten by an alias
__global__ void k(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] + 1.0f;
}
void run(int n) { float *a = nullptr, *b = nullptr; cudaMalloc(&a, 64); cudaMalloc(&b, 64); float** q = &b; *q = a; k<<<1, 1>>>(a, b, n); }
// vectorize_access: rewrites
// two allocations, swapped
__global__ void k(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] + 1.0f;
}
void run(int n) { float *a, *b; cudaMalloc(&a, 64); cudaMalloc(&b, 64); for (int j = 0; j < 4; ++j) { k<<<1, 1>>>(a, b, n); b = a; } }
// vectorize_access: rewrites
// two allocations
__global__ void k(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] + 1.0f;
}
void run(int n) { float *a, *b; cudaMalloc(&a, 64); cudaMalloc(&b, 64); k<<<1, 1>>>(a, b, n); }
// vectorize_access: rewrites
// two allocations, freed and allocated again
__global__ void k(const float* x, float* y, float* z, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] + 1.0f;
}
void run(int n) { float *a, *b; cudaMalloc(&a, 64); cudaMalloc(&b, 64); k<<<1, 1>>>(a, b, b, n); k<<<1, 1>>>(a, a, b, n); }
// vectorize_access: refuses because no_store_between
// one symbol of two names through casts
__global__ void k(float* __restrict__ x, int n) {
  float* p = (float*)((char*)x + 4);
  for (int i = 0; i < n; ++i) p[i] = x[i] + 1.0f;
}
// vectorize_access: refuses because no_store_between
// conditional pointer
__global__ void k(const float* x, float* y, float* z, int n) {
  float* p = n > 3 ? y : z;
  for (int i = 0; i < n; ++i) p[i] = x[i] + 1.0f;
}
// vectorize_access: refuses because no_store_between
// the store goes through a const-cast loop-carried pointer
__global__ void k(const float* x, float* y, int n) {
  float* p = y;
  for (int i = 0; i < n; ++i) { *p = x[i]; ++p; }
}
// vectorize_access: refuses because no_store_between
// a loaded pointer
__global__ void k(const float* __restrict__ x, float** y, int n) {
  for (int i = 0; i < n; ++i) { float a = x[i]; *y[i] = a; }
}
// vectorize_access: refuses because no_store_between
// surface write
__global__ void k(const float* x, cudaSurfaceObject_t s, int n) {
  for (int i = 0; i < n; ++i) { surf1Dwrite(x[i], s, i * 4); }
}
// vectorize_access: refuses because no_store_between
// a stored member of a struct with a pointer to the same memory
struct S { float* p; };
__global__ void k(const float* x, S s, int n) {
  for (int i = 0; i < n; ++i) { float a = x[i]; s.p[i] = a; }
}
// vectorize_access: refuses because no_store_between
// memcpy in the body
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; memcpy(y + i, &acc, 4); }
}
// vectorize_access: refuses because no_store_between
// a reference to an element is stored through
__global__ void k(float* x, int n) {
  float& last = x[n - 1];
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; last = acc; }
}
// vectorize_access: refuses because no_store_between
// restrict, but the store goes through a pointer based on the loaded one
__global__ void k(float* __restrict__ x, float* __restrict__ y, int n) {
  float* p = x; int m = 1;
  for (int i = 0; i < n; ++i) { p[i + m] = x[i]; }
}
// vectorize_access: rewrites
// the store goes to shared memory
__global__ void k(const float* x, float* y, int n) {
  __shared__ float s[64];
  for (int i = 0; i < 64; ++i) s[i] = x[i];
  y[0] = s[3];
}
// vectorize_access: refuses because match
// generic pointer to shared memory, device function
__device__ void f(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i];
}
__global__ void k(float* g, int n) {
  __shared__ float s[64];
  f(s, s + 1, n);
}
// vectorize_access: refuses because aligned
// y is aligned by assumption, offset by an odd amount per block
// assume: aligned(x, 16)
__global__ void k(const float* x, float* y, int n) {
  const float* row = x + blockIdx.x * 3;
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += row[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// aligned rows by a product with a constant
// assume: aligned(x, 16)
__global__ void k(const float* x, float* y, int n) {
  const float* row = x + blockIdx.x * 8;
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += row[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because aligned
// start of the loop depends on the thread
// assume: aligned(x, 16)
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = threadIdx.x; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because aligned
// outer loop moves the row by one
// assume: aligned(x, 16)
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int j = 0; j < n; ++j) for (int i = 0; i < n; ++i) acc += x[j + i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because aligned
// triangular: start is the outer counter
// assume: aligned(x, 16)
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int j = 0; j < n; ++j) for (int i = j; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because aligned
// truncating division and shifts
// assume: aligned(x, 16)
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  int base = (n / 4) * 4 + ((n >> 2) << 1);
  for (int i = 0; i < n; ++i) acc += x[base + i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// rounded down by a mask
// assume: aligned(x, 16)
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  int base = n & ~3;
  for (int i = 0; i < n; ++i) acc += x[base + i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because aligned
// a product that wraps in 32 bits before it is widened: times 3
// assume: aligned(x, 16)
__global__ void k(const float* x, float* y, unsigned n) {
  float acc = 0.0f;
  size_t base = (n * 4u) / 3u * 3u;
  for (int i = 0; i < 64; ++i) acc += x[base + i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// the bound is memory that the loop writes
__global__ void k(const float* __restrict__ x, int* n, float* y) {
  float acc = 0.0f;
  for (int i = 0; i < *n; ++i) { acc += x[i]; *n = 3; }
  y[0] = acc;
}
// vectorize_access: refuses because counted
// the bound is memory that others may write
__global__ void k(const float* __restrict__ x, volatile int* n, float* y) {
  float acc = 0.0f;
  for (int i = 0; i < *n; ++i) { acc += x[i]; }
  y[0] = acc;
}
// vectorize_access: refuses because counted
// the bound is a call
__device__ int bound(int i) { return i / 2 + 5; }
__global__ void k(const float* __restrict__ x, float* y) {
  float acc = 0.0f;
  for (int i = 0; i < bound(i); ++i) { acc += x[i]; }
  y[0] = acc;
}
// vectorize_access: refuses because counted
// the bound depends on the counter
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n - i; ++i) { acc += x[i]; }
  y[0] = acc;
}
// vectorize_access: refuses because counted
// and a second condition
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n && acc < 3.0f; ++i) { acc += x[i]; }
  y[0] = acc;
}
// vectorize_access: refuses because counted
// return in a macro
#define STOP if (acc > 3.0f) return
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; STOP; }
  y[0] = acc;
}
// vectorize_access: refuses because counted
// trap in the body
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { if (acc > 3.0f) __trap(); acc += x[i]; }
  y[0] = acc;
}
// vectorize_access: refuses because unconditional
// exit by asm
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { if (acc > 3.0f) asm("exit;"); acc += x[i]; }
  y[0] = acc;
}
// vectorize_access: refuses because counted
// assertion that ends the thread before the access
__global__ void k(const float* __restrict__ x, float* y, int n, int m) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { assert(i < m); acc += x[i]; }
  y[0] = acc;
}
// vectorize_access: rewrites
// an endless loop may come first
__global__ void k(const float* __restrict__ x, float* y, int n, int m) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { while (acc < 0.0f) { acc += y[i]; } acc += x[i]; }
  y[0] = acc;
}
// vectorize_access: rewrites
// macro around the pragma, tabs, braces on their own lines
__global__ void k(const float* __restrict__ x, float* y, int n)
{
	float acc = 0.0f;
	#pragma unroll(2)
	for (int i = 0; i < n; ++i)
	{
		// one
		acc += x[i];	/* two */

		acc *= 2.0f;
	}
	y[0] = acc;
}
// vectorize_access: rewrites
// empty statements, nested blocks
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) {{ ; acc += x[i]; ; }};
  y[0] = acc;
}
// vectorize_access: rewrites
// bit fields of conditions: body ends with else
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  if (n > 2) { acc = 1.0f; } else for (int i = 0; i < n; ++i) { float v = x[i]; if (v > 0) acc += v; else acc -= v; }
  y[0] = acc;
}
// vectorize_access: rewrites
// a name like the vector's
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float x_4 = 0.0f, x_4_2 = 1.0f;
  for (int i = 0; i < n; ++i) x_4 += x[i] * x_4_2;
  y[0] = x_4;
}
// vectorize_access: refuses because broken
// inside another namespace that has its own float4
namespace q { struct float4 { int a; };
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[0] = acc;
} }
// vectorize_access: rewrites
// cached loads
__global__ void k(const __half* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += __half2float(__ldcs(x + i));
  y[0] = acc;
}
// vectorize_access: refuses because is_scalar
// cached store
__global__ void k(float* __restrict__ x, int n) {
  for (int i = 0; i < n; ++i) __stcs(x + i, 1.0f * i);
}
// vectorize_access: refuses because is_scalar
// cached volatile load
__global__ void k(const int* x, int* y, int n) {
  int acc = 0;
  for (int i = 0; i < n; ++i) acc += __ldcv(x + i);
  y[0] = acc;
}
// vectorize_access: refuses because unconditional
// the copies would declare one label several times
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; asm volatile("here: mov.u32 %0, %0;" : "+f"(acc)); }
  y[0] = acc;
}
