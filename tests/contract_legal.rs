//! Which buffers an inferred contract asks a legal range for: those whose contents decide a place that the kernel does not
//! keep inside by itself.

use kopt::contract::{Bound, OpenKind, Plan};
use kopt::facts::macros_of;
use kopt::infer::infer;
use kopt::ir::Program;
use kopt::source::mask::MacroTable;
use kopt::source::{FileId, SourceFile, Sources};
use kopt::syntax::cuda::parse_unit;

fn plans(text: &str) -> Vec<Plan> {
    let mut sources = Sources::default();
    let file = sources.add(SourceFile::new("k.cu", text));
    let mut known = MacroTable::default();
    known.learn(text);
    let unit = parse_unit(file, sources.get(file), &known);
    let program = Program { units: vec![unit], complete: false };
    let macros = macros_of(&program, &sources);
    infer(&program, &sources, &macros, &[FileId(0)], None).contract.plans
}

/// `x [0, n - 1]; y ?`: every buffer that is asked about and the range that is proposed.
fn asked(plan: &Plan) -> String {
    let shown = |b: &Bound| match b {
        Bound::Int(e) => e.to_string(),
        Bound::Float(v) => v.to_string(),
    };
    let about = |a: &&kopt::contract::Arg| a.proposed.covers("legal") && !a.proposed.all;
    let one = |a: &kopt::contract::Arg| match &a.legal {
        Some((lo, hi)) => format!("{} [{}, {}]", a.name, shown(lo), shown(hi)),
        None => format!("{} ?", a.name),
    };
    plan.args.iter().filter(about).map(one).collect::<Vec<_>>().join("; ")
}

/// Integers `p` and `q`, unsigned `u`, bytes `b`, floats `x`, all of n elements; `out` of n, `bins` of 256 integers.
fn program(before: &str, body: &str, host: &str) -> String {
    format!(
        "{before}\n__global__ void k(const int* p, const int* q, const unsigned* u, const unsigned char* b, const float* x, float* out, int* bins, int n) {{\n  \
         int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n  {body}\n}}\n\
         int main() {{\n  int n = 1024;\n  int *p, *q, *bins; unsigned *u; unsigned char *b; float *x, *out;\n  \
         int* hp = (int*)malloc(n * 4); int* hq = new int[n]; unsigned* hu = new unsigned[n]; unsigned char* hb = new unsigned char[n]; float* hx = new float[n];\n  \
         cudaMalloc(&p, n * sizeof(int)); cudaMalloc(&q, n * sizeof(int)); cudaMalloc(&u, n * sizeof(unsigned)); cudaMalloc(&b, n);\n  \
         cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&out, n * sizeof(float)); cudaMalloc(&bins, 256 * sizeof(int));\n  {host}\n  \
         cudaMemcpy(p, hp, n * 4, cudaMemcpyHostToDevice); cudaMemcpy(q, hq, n * 4, cudaMemcpyHostToDevice); cudaMemcpy(u, hu, n * 4, cudaMemcpyHostToDevice);\n  \
         cudaMemcpy(b, hb, n, cudaMemcpyHostToDevice); cudaMemcpy(x, hx, n * 4, cudaMemcpyHostToDevice); cudaMemset(bins, 0, 256 * sizeof(int)); cudaMemset(out, 0, n * sizeof(float));\n  \
         k<<<(n + 255) / 256, 256>>>(p, q, u, b, x, out, bins, n);\n  cudaMemcpy(hx, out, n * 4, cudaMemcpyDeviceToHost);\n  cudaMemcpy(hp, bins, 1024, cudaMemcpyDeviceToHost);\n}}\n"
    )
}

#[test]
fn contents_that_decide_a_place_are_asked_about() {
    let cases: &[(&str, &str, &str)] = &[
        // Gather and scatter.
        ("", "out[i] = x[p[i]];", "p [0, n - 1]"),
        ("", "out[p[i]] = x[i];", "p [0, n - 1]"),
        ("", "int j = p[i]; out[i] = x[j];", "p [0, n - 1]"),
        ("", "out[i] = __ldg(&x[__ldg(&p[i])]);", "p [0, n - 1]"),
        ("", "out[i] = x[p[q[i]]];", "p [0, n - 1]; q [0, n - 1]"),
        ("", "out[i] = *(x + p[i]);", "p [0, n - 1]"),
        ("", "const float* r = x + p[i]; out[i] = *r;", "p ?"),
        ("", "out[i] = x[u[i]];", "u [0, n - 1]"),
        ("", "out[i] = x[(int)x[i]];", "x [0, n - 1]"),
        ("", "bins[(int)(x[i] * 255.0f)] = 1;", "x ?"),
        // Where the rest of the index is known.
        ("", "out[i] = x[p[i] + 3];", "p [0, n - 4]"),
        ("", "for (int c = 0; c < 4; ++c) out[i] += x[p[i] * 4 + c];", "p [0, n / 4 - 1]"),
        // Histograms.
        ("", "atomicAdd(&bins[p[i]], 1);", "p [0, 255]"),
        ("", "atomicAdd(bins + q[i], 1);", "q [0, 255]"),
        ("", "__shared__ int h[64]; atomicAdd(&h[p[i]], 1); __syncthreads(); bins[0] = h[0];", "p [0, 63]"),
        ("", "atomicAdd(&bins[b[i]], 1);", ""),
        ("", "__shared__ int h[256]; atomicAdd(&h[b[i]], 1); __syncthreads(); bins[0] = h[0];", ""),
        ("", "__shared__ int h[16]; atomicAdd(&h[b[i]], 1); __syncthreads(); bins[0] = h[0];", "b [0, 15]"),
        ("", "atomicAdd(&bins[u[i] % 256], 1);", ""),
        ("", "atomicAdd(&bins[p[i] & 255], 1);", ""),
        ("", "atomicAdd(&bins[u[i] >> 24], 1);", ""),
        ("", "atomicAdd(&bins[p[i] % 256], 1);", "p ?"),
        ("", "atomicAdd(&bins[(b[i] >> 4) & 15], 1);", ""),
        ("", "atomicAdd(&bins[min(max(p[i], 0), 255)], 1);", ""),
        ("", "atomicAdd(&bins[min(p[i], 255)], 1);", "p ?"),
        ("", "atomicAdd(&bins[min(u[i], 255u)], 1);", ""),
        ("", "atomicAdd(&bins[__popc(p[i])], 1);", ""),
        // Guards of the kernel.
        ("", "int j = p[i]; if (j >= 0 && j < n) out[j] = x[i];", ""),
        ("", "int j = p[i]; if (j < 0 || j >= n) return; out[j] = x[i];", ""),
        ("", "unsigned j = u[i]; if (j < n) out[j] = x[i];", ""),
        ("", "int j = p[i]; if (j < n) out[j] = x[i];", "p [0, n - 1]"),
        ("", "int j = p[i]; if (j >= 0 && j <= n) out[j] = x[i];", "p [0, n - 1]"),
        ("", "if (p[i] > 3) out[i] = x[i];", ""),
        ("", "out[i] = x[p[i] > 3 ? i : 0];", ""),
        ("", "out[i] = x[p[i] > 3];", ""),
        // Rows of a sparse matrix.
        ("", "if (i + 1 < n) for (int j = p[i]; j < p[i + 1]; ++j) out[i] += x[j];", "p [0, n]"),
        ("", "if (i + 1 < n) for (int j = p[i]; j < p[i + 1]; ++j) out[i] += x[q[j]];", "p [0, n]; q [0, n - 1]"),
        ("", "int e = p[i]; for (int j = 0; j < e; ++j) out[i] += x[j];", "p [0, n]"),
        ("", "int j = 0; while (j < p[i]) { out[i] += x[j]; j++; }", "p [0, n]"),
        ("", "int c = 0; for (int j = 0; j < p[i]; ++j) c += 2; out[i] = c;", ""),
        // A list that is followed.
        ("", "int j = i; while (j >= 0) { out[i] += x[j]; j = p[j]; }", "p ?"),
        // Through other memory.
        ("", "__shared__ int t[256]; t[threadIdx.x] = p[i]; __syncthreads(); out[i] = x[t[0]];", "p ?"),
        ("", "int t[2]; t[0] = p[i]; t[1] = 0; out[i] = x[t[1]];", "p ?"),
        ("", "__shared__ float t[256]; t[threadIdx.x] = x[i]; __syncthreads(); out[i] = t[255 - threadIdx.x];", ""),
        ("", "int j = __shfl_sync(0xffffffff, p[i], 0); out[i] = x[j];", "p ?"),
        ("", "int j; j = i; if (i & 1) j = q[i]; out[i] = x[j];", "q ?"),
        ("", "bins[0] = p[i]; out[i] = x[bins[0]];", "p ?"),
        (
            "",
            "__shared__ int t[8]; int& next = t[0]; if (threadIdx.x == 0) next = p[0]; __syncthreads(); out[i] = x[next];",
            "p ?",
        ),
        (
            "",
            "__shared__ int t[8]; int& next = t[0]; if (threadIdx.x == 0) next = p[0]; __syncthreads(); bins[0] = next; out[i] = x[i];",
            "",
        ),
        ("", "int j = i; int& r = j; r = p[i]; out[i] = x[j];", "p ?"),
        // Groups have taken part in an exchange of data and are none.
        (
            "",
            "cg::thread_block w = cg::this_thread_block(); float s = cg::reduce(w, x[i], cg::plus<float>()); __shared__ float t[32]; t[w.thread_rank()] = s; out[i] = t[0];",
            "",
        ),
        (
            "",
            "auto w = cg::tiled_partition<32>(cg::this_thread_block()); float s = cg::reduce(w, x[i], cg::plus<float>()); __shared__ float t[32]; t[w.meta_group_rank()] = s; out[i] = t[w.thread_rank()];",
            "",
        ),
        (
            "__device__ void load(float3& v, const float* t, int i) { v.x = t[i]; v.y = v.x; }",
            "float3 v; load(v, x, i); out[i] = v.x + v.y;",
            "",
        ),
        (
            "__device__ void load(int3& v, const int* t, int i) { v.x = t[i]; v.y = v.x; }",
            "int3 v; load(v, p, i); out[i] = x[v.y];",
            "p ?",
        ),
        // Functions.
        ("__device__ int pick(const int* t, int i) { return t[i]; }", "out[i] = x[pick(p, i)];", "p ?"),
        ("__device__ float get(const float* t, int j) { return t[j]; }", "out[i] = get(x, p[i]);", "p ?"),
        ("__device__ float get(const float* t, int j) { return t[j]; }", "out[i] = get(x, i) + p[i];", ""),
        (
            "__device__ void pick(const int* t, int i, int& j) { j = t[i]; }",
            "int j; pick(p, i, j); out[i] = x[j];",
            "p ?",
        ),
        (
            "__device__ void pick(const int* t, int i, int* j) { *j = t[i]; }",
            "int j; pick(p, i, &j); out[i] = x[j];",
            "p ?",
        ),
        (
            "template <typename T> __device__ T get(const T* t, int j) { return t[j]; }",
            "out[i] = get(x, get(p, i));",
            "p ?",
        ),
        ("", "auto f = [&](int j) { return x[p[j]]; }; out[i] = f(i);", "p ?"),
        ("", "auto f = [&](int j) { return x[j]; }; out[i] = f(p[i]);", "p ?"),
        ("#define PICK(j) p[j]", "out[i] = x[PICK(i)];", "p ?"),
        ("#define HERE p[i]", "out[i] = x[HERE];", "p ?"),
        // Slots that are counted: the counter begins at zero.
        ("", "int at = atomicAdd(&bins[0], 1); if (at < n) out[at] = x[i];", ""),
        ("", "int at = atomicAdd(&bins[0], p[i]); out[at] = x[i];", "p ?"),
        // Nothing of this.
        ("", "out[i] = x[i] * p[i] + u[i];", ""),
        ("", "out[i] = x[n - 1 - i];", ""),
        ("", "float s = 0; while (s * s < x[i]) s += 1; out[i] = s;", ""),
    ];
    let mut wrong = vec![];
    for (before, body, expected) in cases {
        let text = program(before, body, "");
        let plan = plans(&text).remove(0);
        let said = asked(&plan);
        if said != *expected {
            wrong.push(format!("{before} {body}: `{said}`, not `{expected}`"));
        }
        // What is asked says the buffer's lines and what stands there.
        for a in plan.args.iter().filter(|a| a.proposed.covers("legal")) {
            assert!(a.notes.iter().any(|n| n.contains("in line ") && n.contains('`')), "{body}: {:?}", a.notes);
            let kind = if a.legal.is_some() { OpenKind::Proposed } else { OpenKind::Missing };
            let hit = plan.open().iter().any(|o| o.field == "legal" && o.kind == kind && o.table.ends_with(&a.name));
            assert!(hit, "{body}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ranges_that_host_code_shows_are_proposed() {
    let before = "#define BINS 200\nstatic void draw(int* t, int count, int top) { for (int i = 0; i < count; i++) t[i] = rand() % top; }\nstatic void unknown(int* t);";
    let cases: &[(&str, &str)] = &[
        ("", "p [0, 255]"),
        ("for (int i = 0; i < n; i++) hp[i] = rand() % 100;", "p [0, 99]"),
        ("for (int i = 0; i < n; i++) hp[i] = rand() % n;", "p [0, n - 1]"),
        ("for (int i = 0; i < n; i++) hp[i] = rand() % BINS;", "p [0, 199]"),
        ("for (int i = 0; i < n; i++) hp[i] = (int)(rand() % BINS) + 1;", "p [1, 200]"),
        ("for (int i = 0; i < n; i++) hp[i] = i;", "p [0, n - 1]"),
        ("for (int i = 0; i < 256; i++) hp[i] = i;", "p [0, 255]"),
        ("for (int i = 0; i < n; i++) { hp[i] = 7; } hp[3] = 9;", "p [7, 9]"),
        ("for (int i = 0; i < n; i++) hp[i] = i & 63;", "p [0, 63]"),
        ("for (int i = 0; i < n; i++) hp[i] = i % 2 ? 5 : rand() % 4;", "p [0, 5]"),
        ("draw(hp, n, 50);", "p [0, 49]"),
        ("draw(hp, n, BINS);", "p [0, 199]"),
        ("const int top = 33; for (int i = 0; i < n; i++) hp[i] = rand() % top;", "p [0, 32]"),
        ("std::uniform_int_distribution<int> d(2, 40); for (int i = 0; i < n; i++) hp[i] = d(gen);", "p [2, 40]"),
        // What is not understood shows nothing.
        ("for (int i = 0; i < n; i++) hp[i] = rand();", "p [0, 255]"),
        ("for (int i = 0; i < n; i++) hp[i] = rand() % 100; hp[2] = atoi(s);", "p [0, 255]"),
        ("for (int i = 0; i < n; i++) hp[i] = rand() % 100; hp[2] += 4;", "p [0, 255]"),
        ("for (int i = 0; i < n; i++) hp[i] = rand() % 100; unknown(hp);", "p [0, 255]"),
        ("for (int i = 0; i < n; i++) hq[i] = rand() % 100;", "p [0, 255]"),
    ];
    let mut wrong = vec![];
    for (host, expected) in cases {
        let plan = plans(&program(before, "atomicAdd(&bins[p[i]], 1);", host)).remove(0);
        let said = asked(&plan);
        if said != *expected {
            wrong.push(format!("{host}: `{said}`, not `{expected}`"));
        }
        let shown = plan.arg("p").is_some_and(|a| a.notes.iter().any(|n| n.contains("fills it")));
        assert_eq!(shown, *expected != "p [0, 255]" || host.contains("i < 256"), "{host}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Two launches: what the first leaves in a buffer decides places of the second.
#[test]
fn contents_are_followed_from_launch_to_launch() {
    let program = |first: &str, second: &str| {
        format!(
            "__global__ void a(const int* raw, int* keys, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) {{ {first} }} }}\n\
             __global__ void b(const int* keys, int* hist, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) {{ {second} }} }}\n\
             int main() {{ int n = 1024; int *raw, *keys, *hist; int* h = new int[n];\n\
             cudaMalloc(&raw, n * sizeof(int)); cudaMalloc(&keys, n * sizeof(int)); cudaMalloc(&hist, 64 * sizeof(int));\n\
             cudaMemcpy(raw, h, n * 4, cudaMemcpyHostToDevice); cudaMemset(hist, 0, 64 * sizeof(int));\n\
             a<<<n / 256, 256>>>(raw, keys, n); b<<<n / 256, 256>>>(keys, hist, n); cudaMemcpy(h, hist, 256, cudaMemcpyDeviceToHost); }}\n"
        )
    };
    let cases = [
        ("keys[i] = raw[i];", "atomicAdd(&hist[keys[i]], 1);", "raw ?"),
        ("keys[i] = raw[i] & 63;", "atomicAdd(&hist[keys[i]], 1);", ""),
        ("keys[i] = i & 63;", "atomicAdd(&hist[keys[i]], 1);", ""),
        ("keys[i] = raw[i];", "atomicAdd(&hist[keys[i] & 63], 1);", ""),
        ("keys[i] = raw[i];", "atomicAdd(&hist[i & 63], keys[i]);", ""),
    ];
    for (first, second, expected) in cases {
        let plan = plans(&program(first, second)).remove(0);
        assert_eq!(plan.launches().count(), 2);
        assert_eq!(asked(&plan), expected, "{first} {second}");
    }
}
