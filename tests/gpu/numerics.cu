// Runs the PTX instructions listed in tests/data/ptx/numerics/*.ops on a GPU and records hashes of their results.
//   nvcc -O2 -std=c++17 -o numerics tests/gpu/numerics.cu
//   ./numerics ptx   tests/data/ptx/numerics > k.ptx && nvcc -cubin -arch=sm_90 -o k.cubin k.ptx
//   ./numerics run   tests/data/ptx/numerics k.cubin OUT     (writes OUT/results.txt and raw results OUT/raw_*.bin)
// tests/ptx_numerics.rs holds the same expansion of braces, the same inputs and the same hash.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

using std::string;
using std::vector;

// ---- inputs: a counter-based generator, equal in Rust ----
static uint64_t mix(uint64_t x) {
    uint64_t z = x + 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

struct Float { int e, m; };
static uint64_t join(Float f, uint64_t sign, int64_t field, uint64_t mantissa) {
    return (sign & 1) << (f.e + f.m) | uint64_t(field) << f.m | (mantissa & ((1ull << f.m) - 1));
}

static uint64_t edge_float(Float f, uint64_t r) {
    const int64_t bias = (1ll << (f.e - 1)) - 1, top = (1ll << f.e) - 1;
    const uint64_t all = (1ull << f.m) - 1, sign = r >> 63;
    switch (r % 20) {
        case 0: return join(f, sign, 0, 0);
        case 1: return join(f, sign, 0, 1);
        case 2: return join(f, sign, 0, all);
        case 3: return join(f, sign, 1, 0);
        case 4: return join(f, sign, bias, 0);
        case 5: return join(f, sign, bias, 1);
        case 6: return join(f, sign, bias - 1, all);
        case 7: return join(f, sign, bias + 1, 0);
        case 8: return join(f, sign, bias - 1, 0);
        case 9: return join(f, sign, bias, 1ull << (f.m - 1));
        case 10: return join(f, sign, top - 1, all);
        case 11: return join(f, sign, top, 0);
        case 12: return join(f, sign, top, 1ull << (f.m - 1));
        case 13: return join(f, sign, top, 1);
        case 14: return join(f, sign, bias + 1, 1ull << (f.m - 1));
        case 15: return join(f, sign, bias - 4, 0x999999999999aull >> (52 - f.m));
        case 16: return join(f, sign, 1, 1);
        case 17: return join(f, sign, 0, 1ull << (f.m - 1));
        case 18: return join(f, sign, top - 1, 0);
        default: return join(f, sign, bias - f.m - 1, 0);
    }
}

// Element i, operand k; g is a hash shared by the operands of one element, so that sums can cancel.
static uint64_t float_input(Float f, uint64_t i, uint64_t k) {
    const uint64_t h = mix(i * 8 + k), r = mix(h), g = mix(i * 8 + 7);
    const int64_t bias = (1ll << (f.e - 1)) - 1, top = (1ll << f.e) - 1;
    const uint64_t sign = r >> 63, mantissa = mix(r);
    switch (h & 15) {
        case 0: case 1: case 2: case 3: case 4: case 5: return edge_float(f, r);
        case 6: case 7: case 8: return r & ((2ull << (f.e + f.m)) - 1);
        case 9: case 10: case 11: return join(f, sign, bias + int64_t(r % 16) - 8, mantissa);
        case 12: case 13: return join(f, sign, bias + int64_t(g % 4), (g >> 8) ^ (r & 7));
        case 14: return join(f, sign, r & 1 ? 1 + int64_t(r >> 1) % 3 : top - 1 - int64_t((r >> 1) % 3), mantissa);
        default: {
            uint64_t n = r % 128;
            if (n == 0) return join(f, sign, 0, 0);
            int p = 63 - __builtin_clzll(n);
            return join(f, sign, bias + p - 1, p <= f.m ? n << (f.m - p) : n >> (p - f.m));
        }
    }
}

static uint64_t integer_input(int width, uint64_t i, uint64_t k) {
    static const uint64_t edges[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000,
        0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffffull, 0x8000000000000000ull, ~0ull,
        0x5555555555555555ull, 0xaaaaaaaaaaaaaaaaull};
    const uint64_t h = mix(i * 8 + k), r = mix(h), mask = width == 64 ? ~0ull : (1ull << width) - 1;
    switch (h & 15) {
        case 0: case 1: case 2: case 3: case 4: case 5: return edges[r % 28] & mask;
        case 6: case 7: case 8: case 9: return r & mask;
        case 10: case 11: case 12: return r % 40 & mask;
        case 13: return (0 - r % 40) & mask;
        default: return (mix(r) & mask) >> (r % width);
    }
}

static uint64_t input(const string& c, uint64_t i, uint64_t k) {
    if (c == "f32") return float_input({8, 23}, i, k);
    if (c == "f64") return float_input({11, 52}, i, k);
    if (c == "f16") return float_input({5, 10}, i, k);
    if (c == "bf16") return float_input({8, 7}, i, k);
    if (c == "f16x2") return float_input({5, 10}, i + (1 << 20), k) << 16 | float_input({5, 10}, i, k);
    if (c == "bf16x2") return float_input({8, 7}, i + (1 << 20), k) << 16 | float_input({8, 7}, i, k);
    if (c == "g32") { uint64_t r = mix(i * 8 + k + (1 << 22)); return join({8, 23}, r >> 63, 127 + int64_t(r % 48) - 24, mix(r)); }
    if (c == "u16" || c == "b16") return integer_input(16, i, k);
    if (c == "u32" || c == "b32") return integer_input(32, i, k);
    if (c == "u64") return integer_input(64, i, k);
    if (c == "n5") return integer_input(32, i, k) & 31;
    fprintf(stderr, "class %s\n", c.c_str()); exit(1);
}

static int width(const string& c) {
    if (c == "f64" || c == "u64" || c == "approx64") return 64;
    if (c == "f16" || c == "bf16" || c == "u16" || c == "b16" || c == "approx16" || c == "approxb16") return 16;
    return 32;
}

// One element of a matrix: test t, operand k, position p in that operand. The test number selects a distribution.
static uint64_t matrix_float(Float f, uint64_t t, uint64_t k, uint64_t p) {
    const uint64_t r = mix((t * 4 + k) * 65536 + p + (1ull << 40)), s = mix(r);
    const int64_t bias = (1ll << (f.e - 1)) - 1, top = (1ll << f.e) - 1;
    const uint64_t sign = r >> 63;
    switch (t % 8) {
        case 0: { uint64_t n = r % 5; return n ? join(f, sign, bias + (n > 2) - (n == 1), n == 3 ? 1ull << (f.m - 1) : 0) : join(f, sign, 0, 0); }
        case 1: return join(f, sign, bias + int64_t(r % 3) - 1, s);
        case 2: return join(f, sign, bias + int64_t(r % 9) - 4, s);
        case 3: return join(f, sign, int64_t(r % uint64_t(top)), s);
        // Products of zeros are minus zero here.
        case 4: return r % 8 ? join(f, k == 2 ? s : k == 0, 0, 0) : join(f, sign, bias + int64_t(s % 5) - 2, mix(s));
        case 5: return k == 2 && s >> 60 & 1 ? join(f, s, 0, 0) : join(f, sign, int64_t(r % 4), s);
        case 6: if (r % 61 == 0) return edge_float(f, s); return join(f, sign, bias + int64_t(r % 3) - 1, s);
        default: return join(f, sign, bias + (k == 2 ? int64_t(r % 30) - 14 : int64_t(r % 3) - 1), s);
    }
}

static uint32_t matrix_register(const string& c, uint64_t t, uint64_t k, uint64_t reg, uint64_t lane) {
    const uint64_t p = reg * 32 + lane, address = lane * 8 + reg;
    auto halves = [&](Float f) { return uint32_t(matrix_float(f, t, k, 2 * p + 1) << 16 | matrix_float(f, t, k, 2 * p)); };
    if (c == "f16") return halves({5, 10});
    if (c == "bf16") return halves({8, 7});
    if (c == "f32") return uint32_t(matrix_float({8, 23}, t, k, p));
    if (c == "f64") { uint64_t v = matrix_float({11, 52}, t, k, (reg / 2) * 32 + lane); return uint32_t(reg & 1 ? v >> 32 : v); }
    if (c == "fp8" || c == "i8") {
        uint64_t r = mix((t * 4 + k) * 65536 + p + (1ull << 41));
        // FP8: no NaN in most tests; moderate exponents in half of them.
        if (c == "fp8" && t % 8 != 6) r &= t % 2 ? 0xbbbbbbbbull : 0xf7f7f7f7ull;
        if (c == "i8" && t % 4 == 3) r |= 0x7f7f7f7full;
        return uint32_t(r);
    }
    if (c == "i32") { uint64_t r = mix((t * 4 + k) * 65536 + p + (1ull << 42)); return uint32_t(t % 2 ? r : r % 2001 - 1000); }
    if (c == "idx16") return uint32_t((2 * address + 1) << 16 | 2 * address);
    if (c == "idx32") return uint32_t(address);
    if (c == "idx8") { uint32_t v = 0; for (int b = 0; b < 4; b++) v |= ((4 * address + b) & 255) << (8 * b); return v; }
    if (c == "idx64") return reg & 1 ? 0x3ff00000u : uint32_t(address / 2);
    fprintf(stderr, "class %s\n", c.c_str()); exit(1);
}

// ---- the lists ----
static void expand(const string& text, vector<string>& out) {
    size_t open = text.find('{');
    // Braces that hold register lists never stand in the lists.
    if (open == string::npos) { out.push_back(text); return; }
    size_t close = text.find('}', open);
    std::stringstream parts(text.substr(open + 1, close - open - 1) + ",\x01");
    for (string part; std::getline(parts, part, ',') && part != "\x01";) expand(text.substr(0, open) + part + text.substr(close + 1), out);
}

static vector<string> words(const string& s) {
    std::istringstream in(s);
    vector<string> out;
    for (string w; in >> w;) out.push_back(w);
    return out;
}

struct Line { string op; vector<string> in; string out; };
static vector<Line> read_lines(const string& path) {
    std::ifstream file(path);
    vector<Line> out;
    for (string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        size_t a = line.find(" | "), b = line.find(" | ", a + 3);
        vector<string> ops;
        expand(line.substr(0, a), ops);
        for (auto& op : ops) out.push_back({op, words(line.substr(a + 3, b - a - 3)), words(line.substr(b + 3))[0]});
    }
    return out;
}

// ---- PTX text ----
static string replace(string s, const string& from, const string& to) {
    for (size_t at = 0; (at = s.find(from, at)) != string::npos; at += to.size()) s.replace(at, from.size(), to);
    return s;
}

// The type of a register: cvt wants integers as such.
static string type(const string& c) {
    return (c[0] == 'u' || c == "n5" || c == "p" ? ".u" : ".b") + std::to_string(width(c));
}

static string scalar_kernel(const Line& l, int number) {
    std::ostringstream o;
    o << ".visible .entry s" << number << "(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 pd)\n{\n"
      << ".reg .b64 %p<8>; .reg .b32 %i<4>; .reg .pred %q; .reg " << type(l.out) << " %v, %t; .reg .b64 %off;\n"
      << "mov.u32 %i0, %ctaid.x; mov.u32 %i1, %ntid.x; mov.u32 %i2, %tid.x; mad.lo.u32 %i0, %i0, %i1, %i2;\n";
    string list = ""; const char* names[] = {"%xa", "%xb", "%xc", "%xe"};
    for (size_t k = 0; k < l.in.size(); k++) {
        int w = width(l.in[k]);
        o << ".reg " << type(l.in[k]) << " " << names[k] << "; ld.param.u64 %p" << k << ", [p" << k << "]; mul.wide.u32 %off, %i0, " << w / 8
          << "; add.u64 %p" << k << ", %p" << k << ", %off; ld.global.b" << w << " " << names[k] << ", [%p" << k << "];\n";
        list += string(", ") + names[k];
    }
    const int w = width(l.out);
    o << ".shared .align 8 .b64 cells" << number << "[256]; .reg .b32 %cell; mov.u32 %i3, cells" << number << "; mad.lo.u32 %cell, %i2, 8, %i3;\n"
      << "ld.param.u64 %p4, [pd]; mul.wide.u32 %off, %i0, " << w / 8 << "; add.u64 %p4, %p4, %off;\n";
    const string result = l.out == "p" ? "%q" : "%v";
    string body = l.op + " " + result + list + ";";
    if (l.op.find('%') != string::npos) {
        body = replace(replace(l.op, "%m", "%p4"), "%s", "%cell");
        body = replace(replace(replace(replace(body, "%a", "%xa"), "%b", "%xb"), "%e", "%xe"), "%d", "%v");
        // Not the address of the cell.
        body = replace(replace(body, "%c,", "%xc,"), "%c;", "%xc;");
    }
    o << body << "\n";
    if (l.out == "p") o << "selp.u32 %v, 1, 0, %q;\n";
    o << "st.global.b" << w << " [%p4], %v;\nret;\n}\n";
    return o.str();
}

static string registers(const char* name, int n, bool pairs) {
    string s = "{";
    for (int r = 0; r < (pairs ? n / 2 : n); r++) s += (r ? ", %" : "%") + string(name) + std::to_string(r);
    return s + "}";
}

static vector<string> split(const string& s, char c) {
    std::stringstream in(s);
    vector<string> out;
    for (string w; std::getline(in, w, c);) out.push_back(w);
    return out;
}

// Leading dimension of one operand of wmma in elements.
static int leading(const string& shape, char operand, const string& layout) {
    int m = 0, n = 0, k = 0;
    sscanf(shape.c_str(), "m%dn%dk%d", &m, &n, &k);
    bool row = layout == "row";
    return operand == 'a' ? (row ? k : m) : operand == 'b' ? (row ? n : k) : (row ? n : m);
}

// 32-bit registers of a wmma fragment.
static int fragment(const string& shape, char operand, const string& type) {
    int m = 0, n = 0, k = 0;
    sscanf(shape.c_str(), "m%dn%dk%d", &m, &n, &k);
    int elements = operand == 'a' ? m * k : operand == 'b' ? k * n : m * n;
    if (type == "f64") return 2 * (elements / 32);
    if (operand == 'c') return type == "f16" ? elements / 64 : elements / 32;
    if (type == "f16") return 8;
    if (type == "bf16") return elements / 64;
    if (type == "tf32") return elements / 32;
    return elements / 128;
}

static string matrix_kernel(const Line& l, int number) {
    std::ostringstream o;
    auto part = split(l.op, '.');
    int n_out = atoi(l.out.c_str());
    bool f64 = false;
    o << ".visible .entry m" << number << "(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 pd)\n{\n"
      << ".shared .align 128 .b8 tile" << number << "[4096];\n"
      << ".reg .b64 %p<8>; .reg .b32 %i<6>; .reg .b64 %off; .reg .b32 %s<8>; .reg .b32 %d<16>; .reg .b64 %w<8>;\n"
      << "mov.u32 %i0, %ctaid.x; mov.u32 %i2, %tid.x; mov.u32 %s0, tile" << number << ";\n";
    const char* names[] = {"a", "b", "c"};
    for (size_t k = 0; k * 2 < l.in.size(); k++) {
        int n = atoi(l.in[2 * k].c_str());
        f64 |= l.in[2 * k + 1] == "f64" || l.in[2 * k + 1] == "idx64";
        o << ".reg .b32 %" << names[k] << "<16>; .reg .b64 %" << names[k] << names[k] << "<8>; ld.param.u64 %p" << k << ", [p" << k << "];\n"
          << "mul.lo.u32 %i3, %i0, " << n * 32 << "; add.u32 %i3, %i3, %i2; mul.wide.u32 %off, %i3, 4; add.u64 %p" << k << ", %p" << k << ", %off;\n";
        for (int r = 0; r < n; r++) o << "ld.global.b32 %" << names[k] << r << ", [%p" << k << "+" << r * 128 << "];\n";
        if (l.in[2 * k + 1] == "f64")
            for (int r = 0; r < n / 2; r++) o << "mov.b64 %" << names[k] << names[k] << r << ", {%" << names[k] << 2 * r << ", %" << names[k] << 2 * r + 1 << "};\n";
    }
    auto to_memory = [&](const char* name, int n, int base) {
        o << "mad.lo.u32 %i4, %i2, " << n * 4 << ", %s0;\n";
        for (int r = 0; r < n; r++) o << "st.shared.b32 [%i4+" << base + 4 * r << "], %" << name << r << ";\n";
    };
    auto from_memory = [&](int n, int base) {
        o << "bar.warp.sync 0xffffffff; mad.lo.u32 %i4, %i2, " << n * 4 << ", %s0;\n";
        for (int r = 0; r < n; r++) o << "ld.shared.b32 %d" << r << ", [%i4+" << base + 4 * r << "];\n";
    };
    auto zero_output = [&] { for (int r = 0; r < n_out; r++) o << "mov.b32 %d" << r << ", 0;\n"; };
    auto unpack = [&](int n) { for (int r = 0; r < n / 2; r++) o << "mov.b64 {%d" << 2 * r << ", %d" << 2 * r + 1 << "}, %w" << r << ";\n"; };
    auto list = [&](const char* name, int n) { return registers(f64 ? (string(name) + name).c_str() : name, n, f64); };
    if (part[0] == "mma") {
        o << l.op << " " << (f64 ? registers("w", n_out, true) : registers("d", n_out, false)) << ", " << list("a", atoi(l.in[0].c_str())) << ", "
          << list("b", atoi(l.in[2].c_str())) << ", " << list("c", atoi(l.in[4].c_str())) << ";\n";
        if (f64) unpack(n_out);
    } else if (part[0] == "movmatrix") {
        o << l.op << " %d0, %a0;\n";
    } else if (part[0] == "ldmatrix" || part[0] == "stmatrix") {
        int count = atoi(part[4].c_str() + 1);
        if (part[0] == "ldmatrix") {
            to_memory("a", 4, 0); zero_output();
            o << "bar.warp.sync 0xffffffff; mad.lo.u32 %i4, %i2, 16, %s0; " << l.op << " " << registers("d", count, false) << ", [%i4];\n";
        } else {
            o << "mad.lo.u32 %i4, %i2, 16, %s0;\n";
            for (int r = 0; r < 4; r++) o << "st.shared.b32 [%i4+" << 4 * r << "], 0;\n";
            o << "bar.warp.sync 0xffffffff; " << l.op << " [%i4], " << registers("a", count, false) << ";\n";
            from_memory(4, 0);
        }
    } else if (part[1] == "load") {
        // wmma.load.<operand>.<layout>.<shape>.<type>
        char operand = part[2][0];
        to_memory("a", 8, 0); zero_output();
        int n = fragment(part[4], operand, part[5]);
        o << "bar.warp.sync 0xffffffff; mov.u32 %i5, " << leading(part[4], operand, part[3]) << ";\nwmma.load." << operand << ".sync.aligned." << part[3] << "." << part[4]
          << ".shared." << part[5] << " " << (f64 ? registers("w", n, true) : registers("d", n, false)) << ", [%s0], %i5;\n";
        if (f64) unpack(n);
    } else {
        // wmma.mma.<layout a>.<layout b>.<shape>{.rn,.satfinite}.<d>.<a>.<b>.<c>
        size_t at = 5;
        string modifier;
        if (part[at] == "rn" || part[at] == "satfinite") modifier = "." + part[at++];
        string shape = part[4], td = part[at], ta = part[at + 1], tb = part[at + 2], tc = part[at + 3];
        to_memory("a", 8, 0); to_memory("b", 8, 1024); to_memory("c", 8, 2048);
        o << "bar.warp.sync 0xffffffff;\n.reg .b32 %fa<16>; .reg .b32 %fb<16>; .reg .b32 %fc<16>; .reg .b32 %fd<16>; .reg .b64 %ga<8>; .reg .b64 %gb<8>; .reg .b64 %gc<8>; .reg .b64 %gd<8>;\n";
        auto frag = [&](const char* name, char operand, const string& type) { return registers(((f64 ? "g" : "f") + string(name)).c_str(), fragment(shape, operand, type), f64); };
        o << "wmma.load.a.sync.aligned." << part[2] << "." << shape << ".shared." << ta << " " << frag("a", 'a', ta) << ", [%s0], " << leading(shape, 'a', part[2]) << ";\n";
        o << "wmma.load.b.sync.aligned." << part[3] << "." << shape << ".shared." << tb << " " << frag("b", 'b', tb) << ", [%s0+1024], " << leading(shape, 'b', part[3]) << ";\n";
        o << "wmma.load.c.sync.aligned.row." << shape << ".shared." << tc << " " << frag("c", 'c', tc) << ", [%s0+2048], " << leading(shape, 'c', "row") << ";\n";
        const string types = ta == "f16" ? td + "." + tc : td + "." + ta + "." + tb + "." + tc;
        const string tail = ta == "f16" ? "" : modifier == ".rn" ? "" : modifier;
        o << "wmma.mma.sync.aligned." << part[2] << "." << part[3] << "." << shape << (modifier == ".rn" ? ".rn." : ".") << types << tail << " "
          << frag("d", 'c', td) << ", " << frag("a", 'a', ta) << ", " << frag("b", 'b', tb) << ", " << frag("c", 'c', tc) << ";\n";
        for (int r = 0; r < 8; r++) o << "mad.lo.u32 %i4, %i2, 32, %s0; st.shared.b32 [%i4+" << 3072 + 4 * r << "], 0;\n";
        o << "bar.warp.sync 0xffffffff; wmma.store.d.sync.aligned.row." << shape << ".shared." << td << " [%s0+3072], " << frag("d", 'c', td) << ", " << leading(shape, 'c', "row") << ";\n";
        from_memory(8, 3072);
    }
    o << "ld.param.u64 %p4, [pd]; mul.lo.u32 %i3, %i0, " << n_out * 32 << "; add.u32 %i3, %i3, %i2; mul.wide.u32 %off, %i3, 4; add.u64 %p4, %p4, %off;\n";
    for (int r = 0; r < n_out; r++) o << "st.global.b32 [%p4+" << r * 128 << "], %d" << r << ";\n";
    o << "ret;\n}\n";
    return o.str();
}

// ---- running ----
static const int COUNT = 16384, BLOCK = 4096, TESTS = 256;
static void check(cudaError_t e, const char* what) {
    if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e)); exit(1); }
}
static uint64_t fold(uint64_t h, uint64_t word) { return (h ^ word) * 0x100000001b3ull; }

int main(int argc, char** argv) {
    if (argc < 3) { fprintf(stderr, "numerics ptx FOLDER | run FOLDER CUBIN OUT\n"); return 2; }
    const string folder = argv[2];
    auto scalar = read_lines(folder + "/scalar.ops"), matrix = read_lines(folder + "/matrix.ops");
    if (string(argv[1]) == "ptx") {
        printf(".version 9.0\n.target sm_90\n.address_size 64\n");
        for (size_t i = 0; i < scalar.size(); i++) printf("// %s\n%s", scalar[i].op.c_str(), scalar_kernel(scalar[i], int(i)).c_str());
        for (size_t i = 0; i < matrix.size(); i++) printf("// %s\n%s", matrix[i].op.c_str(), matrix_kernel(matrix[i], int(i)).c_str());
        return 0;
    }
    if (argc < 5) return 2;
    const string out = argv[4];
    cudaLibrary_t library;
    check(cudaLibraryLoadFromFile(&library, argv[3], nullptr, nullptr, 0, nullptr, nullptr, 0), "load");
    void* buffer[5];
    for (auto& b : buffer) check(cudaMalloc(&b, 1 << 22), "malloc");
    std::ofstream results(out + "/results.txt"), raw(out + "/raw_scalar.bin", std::ios::binary), dense(out + "/raw_approx.bin", std::ios::binary), warp(out + "/raw_matrix.bin", std::ios::binary);
    auto launch = [&](const string& name, int grid, int block) {
        cudaKernel_t kernel;
        check(cudaLibraryGetKernel(&kernel, library, name.c_str()), name.c_str());
        void* args[] = {&buffer[0], &buffer[1], &buffer[2], &buffer[3], &buffer[4]};
        check(cudaLaunchKernel((const void*)kernel, dim3(grid), dim3(block), args, 0, nullptr), name.c_str());
        check(cudaDeviceSynchronize(), name.c_str());
    };
    vector<uint8_t> bytes(1 << 22);
    char text[32];
    for (size_t i = 0; i < scalar.size(); i++) {
        const Line& l = scalar[i];
        for (size_t k = 0; k < l.in.size(); k++) {
            int w = width(l.in[k]) / 8;
            for (uint64_t e = 0; e < COUNT; e++) { uint64_t v = input(l.in[k], e, k); memcpy(&bytes[e * w], &v, w); }
            check(cudaMemcpy(buffer[k], bytes.data(), size_t(COUNT) * w, cudaMemcpyHostToDevice), "copy");
        }
        launch("s" + std::to_string(i), COUNT / 256, 256);
        int w = width(l.out) / 8;
        check(cudaMemcpy(bytes.data(), buffer[4], size_t(COUNT) * w, cudaMemcpyDeviceToHost), "copy back");
        bool approx = l.out.rfind("approx", 0) == 0;
        if (approx) dense.write((char*)bytes.data(), size_t(COUNT) * w);
        else raw.write((char*)bytes.data(), size_t(2048) * w);
        results << l.op << " |";
        for (auto& c : l.in) results << " " << c;
        results << " |";
        for (int b = 0; b < COUNT / BLOCK && !approx; b++) {
            uint64_t h = 0xcbf29ce484222325ull;
            for (int e = b * BLOCK; e < (b + 1) * BLOCK; e++) { uint64_t v = 0; memcpy(&v, &bytes[size_t(e) * w], w); h = fold(h, v); }
            snprintf(text, sizeof text, " %016llx", (unsigned long long)h);
            results << text;
        }
        // Of approximate instructions, raw results of the first 256 inputs.
        for (int e = 0; e < 256 && approx; e++) {
            uint64_t v = 0;
            memcpy(&v, &bytes[size_t(e) * w], w);
            snprintf(text, sizeof text, " %llx", (unsigned long long)v);
            results << text;
        }
        results << "\n";
    }
    for (size_t i = 0; i < matrix.size(); i++) {
        const Line& l = matrix[i];
        int tests = l.in[1].rfind("idx", 0) == 0 ? 1 : TESTS, n_out = atoi(l.out.c_str());
        for (size_t k = 0; 2 * k < l.in.size(); k++) {
            int n = atoi(l.in[2 * k].c_str());
            vector<uint32_t> values;
            for (int t = 0; t < tests; t++) for (int r = 0; r < n; r++) for (int lane = 0; lane < 32; lane++)
                values.push_back(matrix_register(l.in[2 * k + 1], t, k, r, lane));
            check(cudaMemcpy(buffer[k], values.data(), values.size() * 4, cudaMemcpyHostToDevice), "copy");
        }
        launch("m" + std::to_string(i), tests, 32);
        size_t words = size_t(tests) * n_out * 32;
        check(cudaMemcpy(bytes.data(), buffer[4], words * 4, cudaMemcpyDeviceToHost), "copy back");
        warp.write((char*)bytes.data(), words * 4);
        results << l.op << " |";
        for (auto& c : l.in) results << " " << c;
        results << " |";
        // One hash for each of the eight distributions.
        for (int d = 0; d < (tests == 1 ? 1 : 8); d++) {
            uint64_t h = 0xcbf29ce484222325ull;
            for (int t = d; t < tests; t += 8) for (int e = 0; e < n_out * 32; e++) {
                uint32_t v; memcpy(&v, &bytes[(size_t(t) * n_out * 32 + e) * 4], 4); h = fold(h, v);
            }
            snprintf(text, sizeof text, " %016llx", (unsigned long long)h);
            results << text;
        }
        results << "\n";
    }
    return 0;
}
