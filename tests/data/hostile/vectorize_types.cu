// vectorize_access: rewrites
// bound macro of low precedence
#define N 1 << 6
__global__ void k(const float* x, float* y, int m) {
  float acc = 0.0f;
  for (int i = threadIdx.x; i < N; ++i) acc += x[i - threadIdx.x];
  for (int i = 3; i < N; ++i) acc += x[i + 1];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// float bound
__global__ void k(const float* x, float* y, float n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// float counter
__global__ void k(const float* x, float* y, float n) {
  float acc = 0.0f;
  for (float i = 0; i < n; ++i) acc += x[(int)i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// long long bound, int counter
__global__ void k(const float* x, float* y, long long n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// short bound
__global__ void k(const float* x, float* y, short n, int lo) {
  float acc = 0.0f;
  for (int i = lo; i < n; ++i) acc += x[i - lo];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// local struct in the body
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { struct P { float v; }; P p; p.v = x[i]; acc += p.v; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// using in the body without declarations
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { using F = float; acc += (F)x[i]; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// shared memory declared in the body
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { __shared__ float s; if (i == 0) s = 0.0f; s += x[i]; acc += s; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because is_scalar
// structured binding
struct P { float a, b; };
__global__ void k(const P* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { auto [a, b] = x[i]; acc += a * b; }
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// bool elements in pairs
__global__ void k(const bool* x, int* y, int n) {
  int acc = 0;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// long long
// with: longlong2
__global__ void k(const long long* x, long long* y, int n) {
  long long acc = 0;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// unsigned long
// with: unsigned long x_
__global__ void k(const unsigned long* x, unsigned long* y, int n) {
  unsigned long acc = 0;
  for (int i = 0; i < n; ++i) acc = max(acc, x[i]);
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// size_t elements
// with: size_t x_
__global__ void k(const size_t* x, size_t* y, int n) {
  size_t acc = 0;
  for (int i = 0; i < n; ++i) acc ^= x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because is_scalar
// enum elements
enum E { A, B };
__global__ void k(const E* x, int* y, int n) {
  int acc = 0;
  for (int i = 0; i < n; ++i) acc += x[i] == A;
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// int8 types
#include <cstdint>
__global__ void k(const uint8_t* x, int* y, int n) {
  int acc = 0;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// 16 char elements
__global__ void k(const short* x, int* y, int n) {
  int acc = 0;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because stride
// pointer elements: const pointers
__global__ void k(float** x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[0][i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because features
// array pointer
__global__ void k(const float (*a)[64], float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < 64; ++i) acc += a[threadIdx.x][i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because aligned
// array pointer of odd rows
__global__ void k(const float (*a)[65], float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < 64; ++i) acc += a[threadIdx.x][i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because match
// file-scope aligned table, constant memory
__constant__ float c[1024];
__global__ void k(float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += c[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because no_store_between
// another thread's flag is polled
__global__ void k(const float* x, float* y, volatile int* flag, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { while (*flag < i) {} acc += x[i]; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because no_store_between
// fence in the loop
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; __threadfence(); }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because no_store_between
// shuffle between threads
__global__ void k(float* __restrict__ x, float* y, int n) {
  for (int i = 0; i < n; ++i) { float v = x[i]; __syncwarp(); x[i] = v + 1.0f; }
}
// vectorize_access: rewrites
// an inner variable shadows the counter
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; { int i = 3; acc += i; } acc += i; }
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// member of the same name
struct Q { int i; };
__global__ void k(const float* x, float* y, int n, Q q) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i] + q.i; }
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// the counter after unary minus, in casts and calls
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i] * -i + (float)i + abs(i) + sizeof i + ~i; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// address of the counter
__device__ void bump(int* p);
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; const int* p = &i; acc += *p; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// reference to the counter
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; const int& p = i; acc += p; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// reference to the counter from before
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  int i = 0; const int& j = i;
  for (i = 0; i < n; ++i) { acc += x[i]; acc += j; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// pointer to the counter from before
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  int i = 0; const int* j = &i;
  for (i = 0; i < n; ++i) { acc += x[i]; acc += *j; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// __LINE__ in the body
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += x[i]; acc += __LINE__; }
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// line continuation in the body
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += \
    x[i]; // done \
    acc = 0.0f;
    acc *= 2.0f; }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// #if in the body
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) {
    acc += x[i];
#if defined(Q)
    acc += 1.0f;
#endif
  }
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// raw string and printf of the counter
__global__ void k(const float* __restrict__ x, float* __restrict__ y, int n) {
  for (int i = 0; i < n; ++i) { y[i] = x[i]; /* i of x[i] */ }
}
// vectorize_access: rewrites
// pragma in between
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int j = 0; j < 3; ++j)
    #pragma unroll
    for (int i = 0; i < n; ++i)
      acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// pragma after an else
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  if (n == 3) acc = 2.0f;
  else
#pragma unroll 1
    for (int i = 0; i < n; ++i)
      acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because counted
// goto into the loop body from outside, case label in a loop
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  switch (n & 1) { case 0: for (int i = 0; i < n; ++i) { acc += x[i]; case 1: acc += 1.0f; } }
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because unconditional
// the body's last statement is an if without else
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) if (i & 1) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// ends in an if
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) if (x[i] > 0.0f) acc += 1.0f;
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// nested in another counted loop whose counter is used
__global__ void k(const float* __restrict__ x, float* __restrict__ y, int n) {
  for (int j = 0; j < n; ++j) for (int i = 0; i < 8; ++i) y[j * 8 + i] = x[j * 8 + i] + j;
}
// vectorize_access: rewrites
// several streams with different offsets
__global__ void k(const float* __restrict__ x, float* __restrict__ y, int n) {
  for (int i = 0; i < 64; ++i) y[threadIdx.x * 64 + i] = x[i] + x[i + 64] + x[i + 1];
}
// vectorize_access: refuses because aligned
// aligned memory of shorter type
// assume: aligned(x, 8)
__global__ void k(const float* x, float* y, int n) {
  x = x + 2;
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because no_store_between
// stored value read back from the same element
__global__ void k(float* __restrict__ x, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { x[i] = acc; acc += x[i] + 1.0f; }
}
// vectorize_access: rewrites
// double use of one load around its store
__global__ void k(float* __restrict__ x, float* z, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { float a = x[i]; x[i] = a + 1.0f; acc += x[i]; }
  z[threadIdx.x] = acc;
}
// vectorize_access: refuses because no_store_between
// two stores to the same element
__global__ void k(float* __restrict__ x, float* z, int n) {
  for (int i = 0; i < n; ++i) { x[i] = 1.0f; x[i] = 2.0f * i; }
}
// vectorize_access: rewrites
// store as a value
__global__ void k(float* __restrict__ x, float* z, int n) {
  float a;
  for (int i = 0; i < n; ++i) a = x[i] = 2.0f * i;
  z[0] = a;
}
// vectorize_access: rewrites
// store is narrower: half of a double converted
// with: char x_
// without: signed char
__global__ void k(char* __restrict__ x, float* z, int n) {
  for (int i = 0; i < n; ++i) x[i] = 300 * i;
}
// vectorize_access: rewrites
// conversion on store, unsigned char from int: the value of the assignment
__global__ void k(float* __restrict__ x, double* z, int n) {
  double a = 0;
  for (int i = 0; i < n; ++i) a += (x[i] = 1.0 / (i + 3));
  z[0] = a;
}
