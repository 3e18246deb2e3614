// vectorize_access: refuses because counted
// macro argument use of the counter
#define SQ(a) a * a
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i] * SQ(i);
  y[0] = acc;
}
// vectorize_access: refuses because counted
// macro argument is pasted
#define V(a) v##a
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f, vi = 2.0f;
  for (int i = 0; i < n; ++i) acc += x[i] * V(i);
  y[0] = acc;
}
// vectorize_access: refuses because counted
// macro that shadows the counter
#define TWICE(e) ({ int i = 3; (e) + i; })
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i] + TWICE(n);
  y[0] = acc;
}
// vectorize_access: refuses because stride
// the pointer type is a macro
#define PTR const float* __restrict__
__global__ void k(const float x[], float* y, int n) {
  float acc = 0.0f;
  for (int i = n; i--; ) acc += x[i];
  y[0] = acc;
}
// vectorize_access: rewrites
// array parameter
__global__ void k(const float x[], float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; i += 1) acc += x[i];
  y[0] = acc;
}
// vectorize_access: rewrites
// i = i + 1 and n > i
__global__ void k(const float x[], float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; n > i; i = i + 1) acc += x[i];
  y[0] = acc;
}
// vectorize_access: rewrites
// the bound is a subscript or a call of the library
__global__ void k(const float* __restrict__ x, const int* __restrict__ ends, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < min(n, 77) - 3; ++i) acc += x[i];
  y[0] = acc;
}
// vectorize_access: rewrites
// the bound has an operator of lower precedence than minus
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < (n & 127); ++i) acc += x[i];
  for (int i = 0; i < n << 1; ++i) acc += x[i];
  y[0] = acc;
}
// vectorize_access: rewrites
// row start from a table
__global__ void k(const float* __restrict__ x, const int* __restrict__ starts, float* y, int n) {
  float acc = 0.0f;
  const float* row = x + 4 * starts[blockIdx.x];
  for (int i = 0; i < n; ++i) acc += row[i];
  y[0] = acc;
}
// vectorize_access: refuses because counted
// bound read from memory that a store may change
__global__ void k(const float* __restrict__ x, int* ends, int* y, int n) {
  for (int i = 0; i < ends[0]; ++i) y[i] = (int)x[i];
}
// vectorize_access: rewrites
// const size_t counter started by a macro
#define ZERO 0
__global__ void k(const float* __restrict__ x, float* y, size_t n) {
  float acc = 0.0f;
  for (size_t i = ZERO; i < n; i++) acc += x[i];
  y[0] = acc;
}
// vectorize_access: rewrites
// unsigned counter and start above the bound
__global__ void k(const float* __restrict__ x, float* y, unsigned n, unsigned m) {
  float acc = 0.0f;
  for (unsigned i = m; i < n; i++) acc += x[i - m];
  y[0] = acc;
}
// vectorize_access: rewrites
// inner declaration of the access's own name in the body
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { float x_ = x[i]; { float acc = x_; x_ += acc; } acc += x_; }
  y[0] = acc;
}
// vectorize_access: refuses because match
// the base is shadowed in the body: a table of one thread
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { float x[64]; x[i] = 1.0f; acc += x[i]; }
  y[0] = acc;
}
// vectorize_access: rewrites
// a local array indexed by the counter
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float r[64];
  for (int i = 0; i < 64; ++i) r[i] = x[threadIdx.x * 64 + i];
  for (int i = 0; i < 64; ++i) y[threadIdx.x * 64 + i] = r[63 - i];
}
// vectorize_access: rewrites
// two declarators in one statement of the body
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { float a = x[i], b = a * a; acc += b; }
  y[0] = acc;
}
// vectorize_access: refuses because counted
// the header declares two
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0, j = 0; i < n; ++i, ++j) { acc += x[i] + j; }
  y[0] = acc;
}
// vectorize_access: rewrites
// if with initialiser and else if chain
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { if (float v = x[i]; v > 0) acc += v; else if (v < -1) acc -= 1; }
  y[0] = acc;
}
// vectorize_access: rewrites
// subscript through an expression with casts and parentheses
__global__ void k(const float* __restrict__ x, float* y, int n, int r) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += (x)[(size_t)r * 16 + (size_t)i]; }
  y[0] = acc;
}
// vectorize_access: rewrites
// pointer plus counter
__global__ void k(const float* __restrict__ x, float* y, int n, int r) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += *(x + i) * *(i + x); }
  y[0] = acc;
}
// vectorize_access: refuses because match
// reversed subscript
__global__ void k(const float* __restrict__ x, float* y, int n, int r) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { acc += i[x]; }
  y[0] = acc;
}
// vectorize_access: rewrites
// comment with the counter and a string
__global__ void k(const float* __restrict__ x, float* y, int n, int r) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) { const char* s = "i"; acc += x[i] + s[0]; /* i */ }
  y[0] = acc;
}
// vectorize_access: rewrites
// several lines of a raw string keep their bytes
// without: "     three"
__global__ void k(const float* __restrict__ x, float* y, int n, int r) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) {
    const char* s = R"(one
two
   three)";
    acc += x[i] + s[4];
  }
  y[0] = acc;
}
// vectorize_access: rewrites
// a string with a line continuation keeps its bytes
__global__ void k(const float* __restrict__ x, float* y, int n, int r) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) {
    const char* s = "one\
      two";
    acc += x[i] + s[4];
  }
  y[0] = acc;
}
