// use_fast_intrinsic: refuses because resolves_to_builtin
// macro expf
// assume: permit(approximate)
#define expf(x) ((x) * 2.0f)
__global__ void k(const float* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = expf(x[i]); }
// use_fast_intrinsic: refuses because resolves_to_builtin
// user function
// assume: permit(approximate)
__device__ float expf(float x, int k) { return x * k; }
__global__ void k(const float* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = expf(x[i], 2); }
// use_fast_intrinsic: refuses because match
// local variable
// assume: permit(approximate)
__global__ void k(const float* x, float* y, int n) { auto expf = [](float v) { return v * 2.0f; }; for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = expf(x[i]); }
// use_fast_intrinsic: refuses because match
// function pointer parameter
// assume: permit(approximate)
__global__ void k(const float* x, float* y, int n, float (*expf)(float)) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = expf(x[i]); }
// use_fast_intrinsic: refuses because match
// member of a struct
// assume: permit(approximate)
struct M { __device__ float expf(float v) const { return v; } };
__global__ void k(const float* x, float* y, int n, M m) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = m.expf(x[i]); }
// use_fast_intrinsic: refuses because match
// std
// assume: permit(approximate)
__global__ void k(const float* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = std::expf(x[i]); }
// use_fast_intrinsic: rewrites
// global scope
// assume: permit(approximate)
__global__ void k(const float* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = ::expf(x[i]); }
// use_fast_intrinsic: refuses because match
// own namespace
// assume: permit(approximate)
namespace q { __device__ float expf(float); }
__global__ void k(const float* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = q::expf(x[i]); }
// use_fast_intrinsic: rewrites
// double argument
// assume: permit(approximate)
__global__ void k(const double* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = expf(x[i]); }
// use_fast_intrinsic: refuses because match
// host function
// assume: permit(approximate)
void h(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = expf(x[i]); }
// use_fast_intrinsic: refuses because match
// address of
// assume: permit(approximate)
__global__ void k(const float* x, float* y, int n) { float (*f)(float) = &expf; for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = f(x[i]); }
// use_fast_intrinsic: rewrites
// nested, macros and comments in the arguments
// assume: permit(approximate)
#define TWICE(v) ((v) * 2.0f)
__global__ void k(const float* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = logf( /* inner */ 1.0f + expf(TWICE(x[i])) ); }
// use_fast_intrinsic: refuses because match
// lambda
// assume: permit(approximate)
__global__ void k(const float* x, float* y, int n) { auto f = [=](float v) { float s = 0; for (int j = 0; j < 4; ++j) s += expf(v); return s; }; y[0] = f(x[0]); }
// use_fast_intrinsic: refuses because match
// call inside a macro definition
// assume: permit(approximate)
#define E(v) expf(v)
__global__ void k(const float* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = E(x[i]); }
// use_fast_intrinsic: refuses because resolves_to_builtin
// call as argument of a stringising macro
// assume: permit(approximate)
#define S(v) #v
__global__ void k(const float* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) { y[i] = S(expf(x[i]))[0]; } }
// use_fast_intrinsic: refuses because resolves_to_builtin
// functor class with the name by using
// assume: permit(approximate)
namespace t { __device__ float sq(float); using fp = float(*)(float); }
struct expf { float v; __device__ expf(float x) : v(x) {} __device__ operator float() { return v; } };
__global__ void k(const float* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = expf(x[i]); }
// use_fast_intrinsic: refuses because resolves_to_builtin
// declared at file scope only
// assume: permit(approximate)
template <typename T> __device__ T expf(T x);
__global__ void k(const float* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = expf(x[i]); }
// use_fast_intrinsic: refuses because match
// file-scope function pointer
// assume: permit(approximate)
__device__ float (*expf)(float);
__global__ void k(const float* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = expf(x[i]); }
// use_fast_intrinsic: refuses because resolves_to_builtin
// static method of the kernel's class
// assume: permit(approximate)
struct A { static __device__ float expf(float v) { return v; }
  static __global__ void k(const float* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = expf(x[i]); } };
// use_fast_intrinsic: refuses because resolves_to_builtin
// using alias
// assume: permit(approximate)
namespace m { template <typename T> struct expf_t { __device__ T operator()(T v) const { return v; } }; }
constexpr m::expf_t<float> expf{};
__global__ void k(const float* x, float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = expf(x[i]); }
