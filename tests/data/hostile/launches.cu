// vectorize_access: rewrites
// double argument for an integer
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n, double d) { k<<<1, 32>>>(x, y, n, d); }
// vectorize_access: rewrites
// long argument for an integer
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n, long d) { k<<<1, 32>>>(x, y, n, d); }
// vectorize_access: rewrites
// class with a conversion
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
struct P { operator float*() const; };
void run(P x, float* y, int n) { k<<<1, 32>>>(x, y, n, n); }
// vectorize_access: rewrites
// void pointer cast
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(void* x, float* y, int n) { k<<<1, 32>>>((const float*)x, y, n, n); }
// vectorize_access: rewrites
// members
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
struct P { float* p; int n; };
void run(P* a, P b) { k<<<1, 32>>>(a->p, b.p, a->n, b.n); }
// vectorize_access: rewrites
// null
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(float* y, int n) { k<<<1, 32>>>(nullptr, y, n, 64); }
// vectorize_access: rewrites
// array argument
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
__managed__ float tab[64];
void run(float* y, int n) { k<<<1, 32>>>(tab, y, n, 64); }
// vectorize_access: rewrites
// pointer arithmetic and ternaries
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(float* x, float* y, int n, int a, int b) { k<<<1, 32>>>(x + a, y, n, a ? b : 4); }
// vectorize_access: rewrites
// return with a launch
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
int run(float* x, float* y, int n) { return k<<<1, 32>>>(x, y, n, n), 0; }
// vectorize_access: rewrites
// comma after a launch
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(float* x, float* y, int n) { k<<<1, 32>>>(x, y, n, n), n++; }
// vectorize_access: rewrites
// arms of an #if
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(float* x, float* y, int n) {
#if A
  k<<<1, 32>>>(x, y, n, n);
#else
  k<<<2, 32>>>(x, y, n, n + 1);
#endif
}
// vectorize_access: refuses because flawed
// #if inside the launch
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(float* x, float* y, int n) {
  k<<<1,
#if A
 32
#else
 64
#endif
>>>(x, y, n, n);
}
// vectorize_access: rewrites
// a launch is the statement of do and while
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(float* x, float* y, int n) { do k<<<1, 32>>>(x, y, n, n); while (n-- > 3); while (n++ < 0) k<<<1, 32>>>(x, y, n, n); }
// vectorize_access: rewrites
// range for, try, label
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(float* x, float* y, int n) { for (int j : {1, 2}) k<<<1, 32>>>(x, y, j, j); try { k<<<1, 32>>>(x, y, n, n); } catch (...) {} }
// vectorize_access: rewrites
// if constexpr and an else that hangs
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
template <int A> void run(float* x, float* y, int n) { if constexpr (A > 1) if (n) k<<<1, 32>>>(x, y, n, n); else n = 3; }
// vectorize_access: rewrites
// the clone's name is taken
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void k_vectorized();
void run(float* x, float* y, int n) { k<<<1, 32>>>(x, y, n, n); }
// vectorize_access: rewrites
// a local variable hides an argument's name in an inner block
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(float* x, float* y, int n) { { int n = 3; k<<<1, 32>>>(x, y, n, n); } }
// vectorize_access: rewrites
// unsigned bit operations as arguments
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(float* x, float* y, int n) { k<<<1, 32>>>(x, y, n, n & 12 | 1); }
// vectorize_access: rewrites
// size_t shadowed
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(float* x, float* y, int n) { int size_t = 3; k<<<1, 32>>>(x, y, n, size_t); }
// vectorize_access: rewrites
// volatile argument
// without: k_vectorized
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(float* x, float* y, int n) { volatile int v = 3; k<<<1, 32>>>(x, y, n, v); }
// vectorize_access: rewrites
// stream capture
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(float* x, float* y, int n, cudaStream_t s) { cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal); k<<<1, 32, 0, s>>>(x, y, n, n); cudaGraph_t g; cudaStreamEndCapture(s, &g); }
// vectorize_access: rewrites
// kernel's address in a table
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(float* x, float* y, int n) { void* t[] = {(void*)k}; k<<<1, 32>>>(x, y, n, n); }
// vectorize_access: rewrites
// macro argument launch
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
#define RUN(...) __VA_ARGS__
void run(float* x, float* y, int n) { RUN(k<<<1, 32>>>(x, y, n, n)); }
// vectorize_access: rewrites
// function try and template dispatcher
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[blockIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
template <typename F> void go(F f) { f(); }
void run(float* x, float* y, int n) { go([&] { k<<<1, 32>>>(x, y, n, n); }); }
