// vectorize_access: refuses because no_store_between
// pointer local derived from the stored pointer
__global__ void k(float* y, int n) {
  float* p = y + 1;
  for (int i = 0; i < n; ++i) p[i] = y[i] * 2.0f;
}
// vectorize_access: refuses because no_store_between
// same pointer, reinterpret cast
__global__ void k(float* y, float* z, int n) {
  int* p = reinterpret_cast<int*>(y) + 1;
  for (int i = 0; i < n; ++i) p[i] = (int)y[i];
}
// vectorize_access: refuses because match
// struct member pointer
struct S { float* a; float* b; };
__global__ void k(S s, int n) {
  for (int i = 0; i < n; ++i) s.a[i] = s.b[i] + 1.0f;
}
// vectorize_access: refuses because no_store_between
// global array and pointer parameter
__device__ float g[1024];
__global__ void k(const float* x, int n) {
  for (int i = 0; i < n; ++i) g[i] = x[i] + 1.0f;
}
// vectorize_access: refuses because no_store_between
// store in a helper
__device__ void put(float* p, int i, float v) { p[i + 1] = v; }
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; put(y, i, acc); }
}
// vectorize_access: refuses because no_store_between
// atomics on the same memory
__global__ void k(float* x, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; atomicAdd(&x[i + 1], acc); }
}
// vectorize_access: refuses because no_store_between
// asm volatile with memory clobber
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; asm volatile("st.global.f32 [%0], %1;" :: "l"(y + i), "f"(acc) : "memory"); }
}
// vectorize_access: refuses because aligned
// printf reads only
__global__ void k(const float* __restrict__ x, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; }
  printf("%f\n", acc);
}
// vectorize_access: refuses because aligned
// pitch reassigned before the loop
__global__ void k(const float* x, float* y, int pitch) {
  pitch = pitch + 1;
  float acc = 0.0f;
  for (int i = 0; i < 64; ++i) acc += x[threadIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because aligned
// base pointer reassigned
__global__ void k(const float* x, float* y, int off, int n) {
  x += off;
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because no_guard
// inner variable shadows the parameter of the guard
__global__ void k(const float* x, float* y, int cols, int n) {
  float acc = 0.0f;
  int base = threadIdx.x * cols;
  { int cols = 3; acc += cols;
    for (int i = 0; i < n; ++i) acc += x[base + i];
  }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because no_guard
// inner pointer shadows the parameter of the guard
__global__ void k(const float* x, const float* z, float* y, int n) {
  float acc = 0.0f;
  const float* q = x;
  { const float* x = z; acc += x[0];
    for (int i = 0; i < n; ++i) acc += q[i];
  }
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// n is clamped first
__global__ void k(const float* x, float* y, int n) {
  n = min(n, 64);
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[threadIdx.x * 64 + i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// size_t bound, int counter
__global__ void k(const float* x, float* y, size_t n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// size_t counter
__global__ void k(const float* x, float* y, size_t n) {
  float acc = 0.0f;
  for (size_t i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// unsigned bound, int counter
__global__ void k(const float* x, float* y, unsigned n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// i <= n unsigned, n may be UINT_MAX
__global__ void k(const float* x, float* y, unsigned n) {
  float acc = 0.0f;
  for (unsigned i = 0; i <= n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// negative start
__global__ void k(const float* x, float* y, int lo, int n) {
  float acc = 0.0f;
  for (int i = -4; i < n; ++i) acc += x[i + 4];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// short counter
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (short i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// unsigned char counter
__global__ void k(const float* x, float* y, unsigned char n) {
  float acc = 0.0f;
  for (unsigned char i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// counter used after the loop
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  int i;
  for (i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc + i;
}
// vectorize_access: rewrites
// dangling else
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  if (n > 3)
    for (int i = 0; i < n; ++i) acc += x[i];
  else
    acc = 1.0f;
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// label in the body
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { if (acc > 3.0f) goto next; acc += x[i]; next: acc += 1.0f; }
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// comments between header and body
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) // sum
    // of all
    acc += x[i]; // here
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// line comment at the end of the body
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; // last
  }
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// unroll with argument
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
#pragma unroll 4
  for (int i = 0; i < n; ++i) { acc += x[i]; }
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// _Pragma
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  _Pragma("unroll 4")
  for (int i = 0; i < n; ++i) { acc += x[i]; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// macro that uses the counter
#define AT(p) p[i]
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; acc += AT(x); }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// token pasting makes the counter
#define CAT(a, b) a##b
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int ii = 0; ii < n; ++ii) { acc += x[ii]; acc += CAT(i, i); }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// switch with continue
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; switch (i & 1) { case 0: continue; default: acc += 2.0f; } acc *= 2.0f; }
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// nested loop with continue
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; for (int j = 0; j < 3; ++j) { if (j == i) continue; acc += 2.0f; } acc *= 2.0f; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// static local in the body
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { static int calls = 0; calls += 1; acc += x[i] + calls; }
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// const auto
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { const auto v = x[i]; acc += v; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// const auto reference keeps the address
__global__ void k(const float* x, const float** y, int n) {
  for (int i = 0; i < n; ++i) { const auto& v = x[i]; y[i] = &v; }
}
// vectorize_access: refuses because unconditional
// ternary
__global__ void k(const float* x, float* y, int n, int m) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += i < m ? x[i] : 0.0f; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because unconditional
// short circuit
__global__ void k(const int* x, int* y, int n, int m) {
  int acc = 0;
  for (int i = 0; i < n; ++i) { acc += i < m && x[i]; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because match
// sizeof
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += sizeof(x[i]); }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because match
// decltype
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { decltype(x[i]) v = acc; acc += v; }
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// comma
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f, b = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i], b += acc;
  y[threadIdx.x] = acc + b;
}
// vectorize_access: rewrites
// compound assignment
__global__ void k(float* x, int n) {
  for (int i = 0; i < n; ++i) x[i] += x[i];
}
// vectorize_access: refuses because counted
// x[i++]
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ) acc += x[i++];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because stride
// *p++
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += *x++;
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because stride
// negative stride
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[n - i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because stride
// index through int8
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { signed char j = i; acc += x[j]; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because stride
// unsigned index wraps
__global__ void k(const float* x, float* y, int n, unsigned off) {
  float acc = 0.0f;
  for (unsigned i = 0; i < n; ++i) { acc += x[i - off]; }
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// ldg
// with: __ldg(reinterpret_cast<const float4*>(&x[i]))
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += __ldg(&x[i]); }
  y[threadIdx.x] = acc;
}
