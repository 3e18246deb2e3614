//! Strides, alignment, trip counts and dependences of ordinary kernels.

use super::*;

fn stride(text: &str, what: &str, assume: &[&str]) -> String {
    with(text, assume, |f| {
        let s = f.stride(access(f, text, what), LoopId(0)).ok()?;
        Some(format!("{} {}", f.render(&s.value), grade(&s.because)))
    })
    .unwrap_or_else(|| "unknown".into())
}

fn aligned(text: &str, what: &str, bytes: i128, assume: &[&str]) -> String {
    with(text, assume, |f| {
        let id = access(f, text, what);
        let loops = f.function.accesses[id.0 as usize].loops.clone();
        let (p, known) = f.address(id, &loops).ok()?;
        f.aligned(&p, &known, bytes).map(|(v, b)| format!("{v} {}", grade(&b)))
    })
    .unwrap_or_else(|| "unknown".into())
}

fn movable(text: &str, what: &str, assume: &[&str]) -> String {
    with(text, assume, |f| match f.movable(access(f, text, what), LoopId(0), &[]) {
        Ok(Ok(b)) => Some(grade(&b)),
        Ok(Err(o)) => Some(format!("no: {}", o.text)),
        Err(_) => None,
    })
    .unwrap_or_else(|| "unknown".into())
}

fn trip(text: &str, assume: &[&str]) -> String {
    with(text, assume, |f| {
        let t = f.trip(LoopId(0)).ok()?;
        Some(format!("{}{} {}", f.render(&t.value.count), if t.value.clamped { "?" } else { "" }, grade(&t.because)))
    })
    .unwrap_or_else(|| "unknown".into())
}

const ROW: &str = "__global__ void k(const float* __restrict__ x, float* __restrict__ y, int cols) {
  int row = blockIdx.x;
  const float* xr = x + (size_t)row * cols;
  float acc = 0;
  for (int c = 0; c < cols; ++c) { acc += xr[c]; y[row * cols + c] = acc; }
}";

#[test]
fn strides() {
    assert_eq!(stride(ROW, "xr[c]", &[]), "1 proved");
    assert_eq!(stride(ROW, "y[row * cols + c]", &[]), "1 proved");
    let text = |body: &str| format!("__global__ void k(const float* x, float* y, int n, unsigned u) {{ {body} }}");
    for (body, what, want) in [
        ("for (int i = 0; i < n; i += 2) y[0] = x[i];", "x[i]", "2 proved"),
        ("for (int i = n - 1; i >= 0; --i) y[0] = x[i];", "x[i]", "-1 proved"),
        ("for (int i = threadIdx.x; i < n; i += blockDim.x) y[0] = x[i];", "x[i]", "blockDim.x proved"),
        ("for (int i = 0; i < n; ++i) y[0] = x[4 * i + 3];", "x[4 * i + 3]", "4 proved"),
        ("const float* p = x; for (int i = 0; i < n; ++i) { y[0] = *p; p += 3; }", "*p", "3 proved"),
        ("const float* p = x; for (int i = 0; i < n; ++i) { y[0] = *p; p += i; }", "*p", "unknown"),
        ("int j = 0; for (int i = 0; i < n; ++i) { y[0] = x[j]; j = j + 1; }", "x[j]", "1 proved"),
        ("int j = 0; while (j < n) { y[0] = x[j]; ++j; }", "x[j]", "1 proved"),
        ("for (int i = 0; i < n; ++i) y[0] = x[i / 2];", "x[i / 2]", "unknown"),
        ("for (int i = 0; i < n; ++i) y[0] = x[i % 4];", "x[i % 4]", "unknown"),
        ("for (int i = 0; i < n; ++i) y[0] = x[i ^ 1];", "x[i ^ 1]", "unknown"),
        ("for (int i = 0; i < n; ++i) y[0] = x[i << 2];", "x[i << 2]", "4 assumed implicit:no-wrap"),
        ("for (int i = 1; i < n; i *= 2) y[0] = x[i];", "x[i]", "unknown"),
        ("for (unsigned i = 0; i < u; ++i) y[0] = x[i];", "x[i]", "1 proved"),
        ("for (unsigned i = 0; i < u; i += 3) y[0] = x[i];", "x[i]", "3 assumed implicit:no-wrap"),
        ("for (unsigned i = 0; i < 4096; i += 3) y[0] = x[i];", "x[i]", "3 proved"),
        (
            "for (int i = 0; i < n; ++i) y[0] = x[blockIdx.x * n + i];",
            "x[blockIdx.x * n + i]",
            "1 assumed implicit:no-wrap",
        ),
        (
            "for (int i = 0; i < 8; ++i) y[0] = x[blockIdx.x * n + i];",
            "x[blockIdx.x * n + i]",
            "1 assumed implicit:no-wrap",
        ),
        ("for (int i = 0; i < 8; ++i) y[0] = x[u - 8 + i];", "x[u - 8 + i]", "1 assumed implicit:no-wrap"),
        ("for (int i = 0; i < 8; ++i) y[0] = x[u - i];", "x[u - i]", "unknown"),
    ] {
        assert_eq!(stride(&text(body), what, &[]), want, "{body}");
    }
}

#[test]
fn alignment_of_base_and_of_every_row() {
    let both = ["aligned(x, 16)", "cols % 4 == 0"];
    assert_eq!(aligned(ROW, "xr[c]", 16, &[]), "unknown");
    assert_eq!(aligned(ROW, "xr[c]", 16, &["aligned(x, 16)"]), "unknown", "an odd pitch misaligns every second row");
    assert_eq!(aligned(ROW, "xr[c]", 16, &["cols % 4 == 0"]), "unknown");
    assert_eq!(aligned(ROW, "xr[c]", 16, &both), "true assumed aligned(x,16) cols%4==0");
    assert_eq!(aligned(ROW, "xr[c]", 16, &["aligned(x, 16)", "cols % 2 == 0"]), "unknown");
    assert_eq!(aligned(ROW, "xr[c]", 4, &[]), "true proved");
    let guarded = ROW.replace("float acc = 0;", "float acc = 0; if (cols % 4 != 0 || ((size_t)x & 15) != 0) return;");
    assert_eq!(aligned(&guarded, "xr[c]", 16, &[]), "true proved");
    let shifted = ROW.replace("int c = 0", "int c = 1");
    assert_eq!(aligned(&shifted, "xr[c]", 16, &both), "false assumed aligned(x,16) cols%4==0");
    let tile = "__global__ void k(float* y) { __shared__ float t[256]; alignas(16) __shared__ float s[256];
      for (int i = 0; i < 4; ++i) { y[i] = t[threadIdx.x * 4 + i]; y[i] += s[threadIdx.x * 4 + i]; } }";
    assert_eq!(aligned(tile, "t[threadIdx.x * 4 + i]", 16, &[]), "unknown");
    assert_eq!(aligned(tile, "s[threadIdx.x * 4 + i]", 16, &[]), "true proved");
}

#[test]
fn launches_give_alignment_and_distinct_buffers() {
    let kernel = "__global__ void k(const float* x, float* y, int cols) {
      int row = blockIdx.x;
      for (int c = 0; c < cols; ++c) y[row * cols + c] = 2 * x[row * cols + c]; }\n";
    let main =
        "int main() { float *a, *b; cudaMalloc(&a, 4096); cudaMalloc(&b, 4096); k<<<8, 32>>>(a, b, 128); return 0; }";
    let x = "x[row * cols + c]";
    let complete = format!("{kernel}{main}");
    assert_eq!(aligned(&complete, x, 16, &[]), "true proved");
    assert_eq!(movable(&complete, x, &[]), "proved");
    assert_eq!(trip(&complete, &[]), "cols? proved");
    let partial = complete.replace("main(", "run(");
    assert_eq!(aligned(&partial, x, 16, &[]), "true assumed implicit:visible-launches");
    assert_eq!(movable(&partial, x, &[]), "assumed implicit:visible-launches");
    let internal = partial.replace("__global__ void k", "static __global__ void k");
    assert_eq!(aligned(&internal, x, 16, &[]), "true proved");
    let in_place = complete.replace("(a, b, 128)", "(a, a, 128)");
    assert_eq!(movable(&in_place, x, &[]), "unknown");
    for odd in ["(a + 1, b, 128)", "(a, b, 127)", "(a, b, n)"] {
        assert_eq!(aligned(&complete.replace("(a, b, 128)", odd), x, 16, &[]), "unknown", "{odd}");
    }
    let two = complete.replace("return 0;", "k<<<8, 32>>>(a, b, 126); return 0;");
    assert_eq!(aligned(&two, x, 16, &[]), "unknown", "an answer must hold at every launch");
    let pointer = complete.replace("return 0;", "auto f = k; f<<<1, 1>>>(a + 1, b, 3); return 0;");
    assert_ne!(aligned(&pointer, x, 16, &[]), "true proved");
    let reset = complete.replace("cudaMalloc(&b, 4096);", "cudaMalloc(&b, 4096); b = a;");
    assert_eq!(movable(&reset, x, &[]), "unknown");
}

#[test]
fn trip_counts() {
    let text = |body: &str| format!("__global__ void k(const float* x, float* y, int n, unsigned u) {{ {body} }}");
    for (body, assume, want) in [
        ("for (int i = 0; i < n; ++i) y[0] += x[i];", &[][..], "n? proved"),
        ("for (int i = 0; i < n; ++i) y[0] += x[i];", &["n >= 0"], "n assumed n>=0"),
        ("for (int i = 0; i < 64; ++i) y[0] += x[i];", &[], "64 proved"),
        ("for (int i = 0; i <= 64; i += 4) y[0] += x[i];", &[], "17 proved"),
        ("for (int i = 63; i >= 0; i -= 2) y[0] += x[i];", &[], "32 proved"),
        ("for (int i = 0; i < n; ++i) { if (x[i] > 0) break; }", &[], "unknown"),
        ("for (int i = 0; i < n; ++i) { if (x[i] > 0) n = 3; }", &[], "unknown"),
        ("for (int i = 0; i < n; ++i) { if (x[i] > 0) ++i; }", &[], "unknown"),
        ("for (int i = 0; i != 7; ++i) y[0] += x[i];", &[], "unknown"),
        ("int i = 0; do { y[0] += x[i]; ++i; } while (i < n);", &[], "unknown"),
        ("for (unsigned i = 0; i < u; ++i) y[0] += x[i];", &[], "u proved"),
    ] {
        assert_eq!(trip(&text(body), assume), want, "{body}");
    }
}

#[test]
fn stores_between() {
    let text = |body: &str| {
        format!("__global__ void k(float* x, float* y, int n) {{ for (int i = 0; i < n; ++i) {{ {body} }} }}")
    };
    for (body, what, assume, want) in [
        ("y[i] = x[i];", "x[i]", &[][..], "unknown"),
        ("y[i] = x[i];", "x[i]", &["noalias(x, y)"], "assumed noalias(x,y)"),
        ("x[i] = x[i] * 2;", "x[i]#1", &[], "proved"),
        ("x[i] = x[i] * 2;", "x[i]#0", &[], "proved"),
        ("x[i] = x[i + 1];", "x[i + 1]", &[], "no: iteration i and iteration i+1 touch the same memory"),
        ("x[i + 1] = x[i];", "x[i]", &[], "no: iteration i and iteration i-1 touch the same memory"),
        ("x[i] = 1; y[0] = x[i];", "x[i]#1", &[], "no: within one iteration the order of the two matters"),
        (
            "float a = x[i]; __syncthreads(); y[0] = a;",
            "x[i]",
            &["noalias(x, y)"],
            "no: what other threads write becomes visible in between",
        ),
        ("float a = x[i]; atomicAdd(y, a);", "x[i]", &[], "unknown"),
        ("float a = x[i]; atomicAdd(y, a);", "x[i]", &["noalias(x, y)"], "assumed noalias(x,y)"),
        ("float a = x[i]; work(a);", "x[i]", &[], "unknown"),
        ("float a = x[i]; asm volatile(\"membar.gl;\" ::: \"memory\");", "x[i]", &[], "unknown"),
    ] {
        assert_eq!(movable(&text(body), what, assume), want, "{body}");
    }
    assert_eq!(movable(ROW, "xr[c]", &[]), "proved");
}

/// What is known of the index of `x` in a case: its ends.
fn ends(body: &str) -> String {
    let text = format!("__global__ void k(float* x, int n, unsigned u, unsigned char c, bool b) {{ {body} }}");
    with(&text, &[], |f| {
        let at = text.find("x[")?;
        let what = text.get(at..=at + text[at..].find(']')?)?;
        let state = f.walked.accesses.get(&access(f, &text, what))?;
        let (range, because) = state.place.known.range(&state.pointer.as_ref()?.offset);
        let end = |e: Option<i128>| e.map_or("?".to_owned(), |v| (v / 4).to_string());
        Some(format!("{}..{} {}", end(range.lo), end(range.hi), grade(&because)))
    })
    .unwrap_or_else(|| "unknown".into())
}

#[test]
fn labels_of_a_switch() {
    const ANY: &str = "-2147483648..2147483647 proved";
    let mut wrong = vec![];
    for (body, want) in [
        ("switch (n) { case 4: x[n] = 0; }", "4..4 proved"),
        ("switch (n + 1) { case 4: x[n] = 0; }", "3..3 proved"),
        ("switch (n) { case 4: case 9: x[n] = 0; }", "4..9 proved"),
        ("switch (n) { case 4: break; case 9: x[n] = 0; }", "9..9 proved"),
        ("switch (n) { case 4: u = 1; case 9: x[n] = 0; }", "4..9 proved"),
        ("switch (n) { case 4: u = 1; return; case 9: x[n] = 0; }", "9..9 proved"),
        ("switch (n) { case 4: if (u) break; case 9: x[n] = 0; }", "4..9 proved"),
        ("switch (n) { case 4: { u = 1; break; } case 9: x[n] = 0; }", "9..9 proved"),
        ("switch (n) { case 4: if (u) return; else break; case 9: x[n] = 0; }", "9..9 proved"),
        // In the middle of a case, and after a test in it.
        ("switch (n) { case 4: u = 1; x[n] = 0; }", "4..4 proved"),
        ("switch (c) { case 4: if (u > 3) break; x[u] = 0; }", "0..3 proved"),
        ("switch (c) { case 4: int j = c; x[j + 1] = 0; }", "5..5 proved"),
        // `default` is everything else; a hole at the end of a range is known, and not shown by its ends.
        ("switch (c) { case 0: break; default: x[c] = 0; }", "0..255 proved"),
        ("switch (c) { case 0: break; case 255: break; default: x[c] = 0; }", "0..255 proved"),
        ("switch (c) { default: u = 1; case 3: x[c] = 0; }", "0..255 proved"),
        ("switch (c) { default: x[c] = 0; break; case 0: u = 2; }", "0..255 proved"),
        // What is written in one case is not known in the one that it falls into.
        ("switch (n) { case 4: n = 70; case 9: x[n] = 0; }", ANY),
        ("int j = 3; switch (n) { case 4: j = 70; case 9: x[j] = 0; }", ANY),
        ("int j = 3; switch (n) { case 4: j = 70; break; case 9: x[j] = 0; }", "3..3 proved"),
        ("switch (n) { case 4: ++n; x[n] = 0; }", "5..5 proved"),
        // A jump into a statement, past what it tests.
        ("switch (c) { case 0: if (u < 5) { case 1: x[u] = 0; } }", "unknown"),
        ("int j = 1; switch (c) { case 0: { j = 5; case 1: x[j] = 0; } }", "unknown"),
        ("int j = 1; switch (c) { case 0: for (j = 0; j < 3; ++j) { case 1: x[j] = 0; } }", "unknown"),
        ("switch (c) { case 0: u = 1;\n#if A\ncase 1: u = 2;\n#endif\nx[u] = 0; }", "unknown"),
        // Constants are converted to the type of the value.
        ("switch (u) { case -1: x[u] = 0; }", "0..4294967295 proved"),
        ("switch (u) { case 7u: x[u] = 0; }", "7..7 proved"),
        ("switch (n) { case 'a': x[n] = 0; }", "97..97 proved"),
        ("switch (n) { case LATER: x[n] = 0; }", ANY),
        // Behind it nothing is known that a case may have changed.
        ("switch (n) { case 4: u = 1; break; } x[n] = 0;", ANY),
        // A declaration in the head is evaluated once for a switch, and anew for every iteration of a loop.
        ("switch (int q = n) { case 4: x[q] = 0; }", "4..4 proved"),
        ("while (int q = n--) { if (q > 9 || q < 2) break; x[q] = 0; }", "2..9 proved"),
    ] {
        if ends(body) != want {
            wrong.push(format!("{body}: {}, not {want}", ends(body)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The declared value is not that of the first iteration.
    let text = "__global__ void k(float* x, int n) { int j = 0; while (int q = 5 - j) { x[q] = 0; ++j; } }";
    assert_eq!(stride(text, "x[q]", &[]), "unknown");
}
