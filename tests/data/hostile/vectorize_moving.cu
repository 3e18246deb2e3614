// vectorize_access: refuses because same_place_throughout
// the pointer walks inside the body
__global__ void k(const float* __restrict__ x, float* __restrict__ y, int n) {
  float* p = y;
  for (int i = 0; i < n; ++i) {
    *p = x[2 * i];
    ++p;
  }
}
// vectorize_access: refuses because same_place_throughout
// the subscript is raised before the access
__global__ void k(const float* __restrict__ x, float* __restrict__ y, int n) {
  int j = 0;
  for (int i = 0; i < n; ++i) {
    j++;
    y[j] = x[2 * i];
  }
}
// vectorize_access: refuses because same_place_throughout
// the subscript is a local of the body
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) {
    int j = i + 4;
    acc += x[j];
  }
  y[0] = acc;
}
// vectorize_access: refuses because same_place_throughout
// a pointer of the body
__global__ void k(const float* __restrict__ x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) {
    const float* p = x + i;
    acc += *p;
  }
  y[0] = acc;
}
// vectorize_access: refuses because no_store_between
// no restrict, and the store comes before the load
__global__ void k(const float* x, float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) {
    y[i] = acc;
    acc += x[i];
  }
}
// vectorize_access: refuses because no_store_between
// no restrict, and a neighbour is read that cannot be aligned as well
__global__ void k(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] + x[i + 1];
}
// vectorize_access: refuses because no_store_between
// no restrict, and the store goes elsewhere
__global__ void k(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[3 * i] = x[i];
}
// vectorize_access: refuses because no_store_between
// two stores that may meet
__global__ void k(float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) {
    x[i] = 1.0f;
    y[i] = 2.0f;
  }
}
// vectorize_access: refuses because no_store_between
// elements of two widths may overlap
__global__ void k(const short* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = (float)x[i];
}
// vectorize_access: rewrites
// a stencil whose neighbour stays as it is
// with: x[(i + 1) + 1]
__global__ void k(const float* __restrict__ x, float* __restrict__ y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] + x[i + 1];
}
