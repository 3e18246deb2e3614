// vectorize_access: rewrites
// a template value in the test
// without: k_vectorized
template <int COLS>
__global__ void k(const float* x, float* y, int n) {
  int r = blockIdx.x;
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[r * COLS + i];
  y[threadIdx.x] = acc;
}
template <int COLS>
void go(const float* x, float* y, int n) { k<COLS><<<1, 32>>>(x, y, n); }
// vectorize_access: rewrites
// a template value in the test, launched with numbers
// without: k_vectorized
template <int COLS>
__global__ void k(const float* x, float* y, int n) {
  int r = blockIdx.x;
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[r * COLS + i];
  y[threadIdx.x] = acc;
}
void go(const float* x, float* y, int n) { k<64><<<1, 32>>>(x, y, n); k<65><<<1, 32>>>(x, y, n); }
// vectorize_access: refuses because aligned
// a constant of file scope that the launch hides
__host__ __device__ constexpr int f() { return 12; }
constexpr int P = f();
__global__ void k(const float* x, float* y, int n) {
  int r = blockIdx.x;
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[r * P + i];
  y[threadIdx.x] = acc;
}
void go(const float* x, float* y, int n) { int P = 3; k<<<1, 32>>>(x, y, P); }
// vectorize_access: refuses because aligned
// a constant of a class
struct S { static constexpr int P = sizeof(int) * 3; 
static __device__ int q(); };
__global__ void k(const float* x, float* y, int n) {
  int r = blockIdx.x;
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[r * S::P + i];
  y[threadIdx.x] = acc;
}
void go(const float* x, float* y, int n) { k<<<1, 32>>>(x, y, n); }
// vectorize_access: refuses because aligned
// a device variable
__device__ int P;
__constant__ int Q;
__global__ void k(const float* x, float* y, int n) {
  int r = blockIdx.x;
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[r * P + i];
  for (int i = 0; i < n; ++i) acc += x[r * Q + i];
  y[threadIdx.x] = acc;
}
void go(const float* x, float* y, int n) { k<<<1, 32>>>(x, y, n); }
