// vectorize_access: refuses because aligned
// template value in the guard at the launch
template <int COLS>
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[threadIdx.x * COLS + i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n) { k<64><<<1, 32>>>(x, y, n); k<65><<<1, 32>>>(x, y, n); }
// vectorize_access: refuses because aligned
// explicit instantiation only one
template <int COLS>
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[threadIdx.x * COLS + i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n) { k<64><<<1, 32>>>(x, y, n); }
// vectorize_access: rewrites
// template type, one instance, dispatch
template <typename T>
__global__ void k(const T* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n) { k<float><<<1, 32>>>(x, y, n); }
// vectorize_access: refuses because datatypes
// template type, deduced
template <typename T>
__global__ void k(const T* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n) { k<<<1, 32>>>(x, y, n); }
// vectorize_access: refuses because datatypes
// template type, never launched in view
template <typename T>
__global__ void k(const T* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: refuses because datatypes
// template type launched inside a template
template <typename T>
__global__ void k(const T* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
template <typename T> void run(const T* x, float* y, int n) { k<T><<<1, 32>>>(x, y, n); }
void all(const float* x, float* y) { run<float>(x, y, 1); }
// vectorize_access: rewrites
// overloads, one of them launched with other arguments
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
__global__ void k(const double* x, float* y, int n) { y[0] = x[0] + n; }
void run(const float* x, const double* z, float* y, int n) { k<<<1, 32>>>(x, y, n); k<<<1, 32>>>(z, y, n); }
// vectorize_access: refuses because datatypes
// explicit specialisation
template <typename T>
__global__ void k(const T* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
template <>
__global__ void k<double>(const double* x, float* y, int n) { y[0] = n; }
void run(const float* x, const double* z, float* y, int n) { k<float><<<1, 32>>>(x, y, n); k<double><<<1, 32>>>(z, y, n); }
// vectorize_access: rewrites
// namespaces
namespace a { namespace {
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
} }
void run(const float* x, float* y, int n) { a::k<<<1, 32>>>(x, y, n); }
// vectorize_access: rewrites
// static member
struct A {
  static __global__ void k(const float* x, float* y, int n) {
    float acc = 0.0f;
    for (int i = 0; i < n; ++i) acc += x[i];
    y[threadIdx.x] = acc;
  }
};
void run(const float* x, float* y, int n) { A::k<<<1, 32>>>(x, y, n); }
// vectorize_access: rewrites
// launch in a macro too
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
#define GO(x, y, n) k<<<1, 32>>>(x, y, n)
void run(const float* x, float* y, int n) { k<<<1, 32>>>(x, y, n); GO(x, y, n); }
// vectorize_access: rewrites
// wrapped in a checking macro
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
#define CHECK(x) do { x; } while (0)
void run(const float* x, float* y, int n) { CHECK((k<<<1, 32>>>(x, y, n))); }
// vectorize_access: rewrites
// cudaFuncSetAttribute
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n) { cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536); k<<<1, 32, 65536>>>(x, y, n); }
// vectorize_access: rewrites
// function pointer and cudaLaunchKernel
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n) { void* args[] = {&x, &y, &n}; cudaLaunchKernel((const void*)k, 1, 32, args, 0, 0); }
// vectorize_access: rewrites
// forward declared with a default argument
__global__ void k(const float* x, float* y, int n = 5);
void run(const float* x, float* y, int n) { k<<<1, 32>>>(x, y); }
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// launch before the definition; forward declaration
__global__ void k(const float* x, float* y, int n);
void run(const float* x, float* y, int n) { k<<<1, 32>>>(x, y, n); }
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
// vectorize_access: rewrites
// default argument in the definition
__global__ void k(const float* x, float* y, int n = 64) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n) { k<<<1, 32>>>(x, y); }
// vectorize_access: rewrites
// extern C
extern "C" __global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n) { k<<<1, 32>>>(x, y, n); }
// vectorize_access: rewrites
// else if, for bodies, comments, several lines
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n, int m) {
  if (m == 1) k<<<1, 32>>>(x, y, n);
  else if (m == 2)
    k<<<1,
        32>>>(x,   // in
              y,   // out
              n);
  else k<<<1, 32>>>(x, y, n); // last
  for (int i = 0; i < m; ++i) k<<<1, 32>>>(x, y, i);
  switch (m) { case 1: k<<<1, 32>>>(x, y, m); break; default: k<<<1, 32>>>(x, y, 2); }
}
// vectorize_access: rewrites
// launch inside a lambda
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n) {
  auto go = [&](int m) { k<<<1, 32>>>(x, y, m); };
  go(n);
}
// vectorize_access: rewrites
// pointer argument with side effects
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
const float* next();
void run(float* y, int n) { k<<<1, 32>>>(next(), y, n++); }
// vectorize_access: rewrites
// arguments with precedence, offset pointer
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[threadIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n, int a, int b) { k<<<1, 32>>>(x + a, y, n, a + b); k<<<1, 32>>>(a ? x : y, y, n, a); }
// vectorize_access: rewrites
// long long argument, int parameter
__global__ void k(const float* x, float* y, int n, int pitch) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[threadIdx.x * pitch + i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n, long long a, double d) { k<<<1, 32>>>(x, y, n, a);  }
// vectorize_access: refuses because aligned
// const size from file scope, shadowed at the launch
const int N = 66;
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[threadIdx.x * N + i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n) { const int N = 64; k<<<1, 32>>>(x, y, N); }
// vectorize_access: refuses because aligned
// -D constant of the pitch, in the guard; host variable of that name
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[threadIdx.x * PITCH + i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n) { k<<<1, 32>>>(x, y, n); }
// vectorize_access: rewrites
// launch bounds, attributes, clone keeps them
__global__ void __launch_bounds__(32) k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n) { k<<<1, 32>>>(x, y, n); }
// vectorize_access: rewrites
// recursive use of the name in a comment and string; a doc comment before
/// Sums k. Calls k.
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
const char* name = "k";
void run(const float* x, float* y, int n) { k<<<1, 32>>>(x, y, n); }
// vectorize_access: rewrites
// conditional compilation around the kernel
#ifdef FAST
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
#endif
void run(const float* x, float* y, int n) { 
#ifdef FAST
k<<<1, 32>>>(x, y, n);
#endif
 }
// vectorize_access: rewrites
// declared in the header of an if
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n) { if (n > 0) { label: k<<<1, 32>>>(x, y, n); if (n-- > 3) goto label; } }
// vectorize_access: rewrites
// the argument changes within the launch configuration
__global__ void k(const float* x, float* y, int n, int p) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc += x[threadIdx.x * p + i];
  y[threadIdx.x] = acc;
}
void run(const float* x, float* y, int n, int p) { k<<<p++, 32>>>(x, y, n, p); k<<<1, 32>>>(x, y, n, p--); }
