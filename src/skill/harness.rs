//! Generates one CUDA program per case that runs an original and its rewrite side by side on a GPU.
//!
//! A case names an example or a refusal of a skill and says how its kernel is launched: sizes, buffers, which of them
//! overlap or start off an aligned address. The program runs one variant on one size per process (a fault ends only
//! that process) and prints a hash and the bytes of every output, so that a script can compare. Text in, text out.

use serde::Deserialize;

/// All cases of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cases {
    pub case: Vec<Case>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub skill: String,
    /// Title of the `example` or `refuse` clause.
    pub name: String,
    pub kernel: String,
    /// Template arguments, without the angle brackets.
    #[serde(default)]
    pub instance: Option<String>,
    /// A call of a host function of the text instead of a launch; arguments by name, `{V}` for the variant's namespace.
    #[serde(default)]
    pub call: Option<String>,
    #[serde(default)]
    pub grid: Option<String>,
    #[serde(default)]
    pub block: Option<String>,
    #[serde(default)]
    pub shared: Option<String>,
    pub args: Vec<Arg>,
    /// Names with one value per size.
    pub sizes: Vec<std::collections::BTreeMap<String, i64>>,
    /// Largest relative error that still counts as equal; bits must agree when it is absent.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Of an example: the rewrite without the conditions of this name, which must fail.
    #[serde(default)]
    pub without: Option<String>,
    /// Why a refusal may agree all the same: what only a checker of undefined behaviour sees.
    #[serde(default)]
    pub over_strict: Option<String>,
}

/// One argument. Exactly one of `buffer`, `alias` and `value` is given.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arg {
    pub name: String,
    #[serde(rename = "type")]
    pub ty: String,
    /// Number of elements, an expression over the sizes.
    #[serde(default)]
    pub buffer: Option<String>,
    /// `other` or `other + 3`: points into another buffer.
    #[serde(default)]
    pub alias: Option<String>,
    #[serde(default)]
    pub value: Option<String>,
    /// Elements by which the pointer is off its aligned base.
    #[serde(default)]
    pub offset: Option<String>,
    /// `random` (default), `small` integers, `wide` for values of 64 bits.
    #[serde(default)]
    pub fill: Option<String>,
}

/// The program of one case: `original` and `candidate` are the two texts.
pub fn program(case: &Case, original: &str, candidate: &str) -> String {
    let (heads, first) = split_includes(original);
    let (more, second) = split_includes(candidate);
    let mut includes: Vec<&str> = heads.into_iter().chain(more).collect();
    includes.sort_unstable();
    includes.dedup();
    let mut text = String::from(PRELUDE);
    for line in includes {
        text += line;
        text += "\n";
    }
    text += &format!("namespace original {{\n{first}\n}}\nnamespace candidate {{\n{second}\n}}\n");
    text += "int main(int argc, char** argv) {\n  if (argc < 3) return 2;\n";
    text += "  const bool is_original = argv[1][0] == 'o';\n  const int size = atoi(argv[2]);\n";
    let names: Vec<&String> = case.sizes.first().map(|s| s.keys().collect()).unwrap_or_default();
    for name in names {
        let values: Vec<String> = case.sizes.iter().map(|s| s[name].to_string()).collect();
        text += &format!("  const long long {name}_values[] = {{{}}};\n", values.join(", "));
        text += &format!("  const long long {name} = {name}_values[size]; (void){name};\n");
    }
    for arg in &case.args {
        text += &declare(arg);
    }
    text += "  CHECK(cudaDeviceSynchronize());\n";
    text += &launch(case, "original", "is_original");
    text += &launch(case, "candidate", "!is_original");
    text += "  CHECK(cudaGetLastError());\n  CHECK(cudaDeviceSynchronize());\n";
    for arg in case.args.iter().filter(|a| a.buffer.is_some()) {
        text += &format!("  dump(\"{0}\", {0}_base, {0}_bytes);\n", arg.name);
    }
    text + "  return 0;\n}\n"
}

fn declare(arg: &Arg) -> String {
    let Arg { name, ty, .. } = arg;
    if let Some(count) = &arg.buffer {
        let elem = ty.trim_end_matches('*').trim().trim_start_matches("const ").trim_start_matches("volatile ");
        let offset = arg.offset.as_deref().unwrap_or("0");
        let fill = arg.fill.as_deref().unwrap_or("random");
        return format!(
            "  const size_t {name}_bytes = (size_t)(({count}) + ({offset})) * sizeof({elem});\n\
             \x20 unsigned char* {name}_base = make<{elem}>({name}_bytes, \"{name}\", \"{fill}\");\n\
             \x20 {elem}* {name} = reinterpret_cast<{elem}*>({name}_base) + ({offset});\n"
        );
    }
    if let Some(place) = &arg.alias {
        return format!("  auto {name} = {place};\n");
    }
    match arg.value.as_deref() {
        // A size is in scope under its own name and is converted where it is passed.
        None => String::new(),
        Some(value) if value == name => String::new(),
        Some(value) => format!("  const {ty} {name} = ({ty})({value});\n"),
    }
}

fn launch(case: &Case, variant: &str, when: &str) -> String {
    if let Some(call) = &case.call {
        let call = call.replace("{V}", variant);
        return format!("  if ({when}) {{ {variant}::{call}; }}\n");
    }
    let given = |a: &Arg| if a.value.is_some() { format!("({})({})", a.ty, a.name) } else { a.name.clone() };
    let names: Vec<String> = case.args.iter().map(given).collect();
    let instance = case.instance.as_ref().map(|i| format!("<{i}>")).unwrap_or_default();
    format!(
        "  if ({when}) {variant}::{}{instance}<<<{}, {}, {}>>>({});\n",
        case.kernel,
        case.grid.as_deref().unwrap_or("1"),
        case.block.as_deref().unwrap_or("1"),
        case.shared.as_deref().unwrap_or("0"),
        names.join(", "),
    )
}

/// Include lines, and the text without them (their lines stay, empty).
fn split_includes(text: &str) -> (Vec<&str>, String) {
    let mut heads = vec![];
    let mut rest = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("#include") {
            heads.push(line.trim());
        } else {
            rest += line;
        }
        rest += "\n";
    }
    (heads, rest)
}

/// Buffers are filled from a hash of their name and the element's position, so both variants see equal inputs. Every
/// buffer is followed by a guard zone that is dumped with it.
const PRELUDE: &str = r#"#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
  printf("error %s\n", cudaGetErrorName(e)); return 3; } } while (0)
static unsigned long long mix(unsigned long long x) {
  x ^= x >> 33; x *= 0xff51afd7ed558ccdULL; x ^= x >> 33; x *= 0xc4ceb9fe1a85ec53ULL; return x ^ (x >> 33);
}
template <class T> T value_of(unsigned long long h, const char* fill) {
  double unit = (double)(h >> 11) / 9007199254740992.0 * 2.0 - 1.0;
  if (strcmp(fill, "small") == 0) return T((float)(int)(h % 7) - 3.0f);
  if (strcmp(fill, "phase") == 0) return T((float)(unit * 3.0));
  if (strcmp(fill, "large") == 0) return T((float)(unit * 30000.0));
  if (strcmp(fill, "positive") == 0) return T((float)(unit * 0.5 + 0.75));
  if (std::is_integral<T>::value) return (T)(long long)((h >> 20) % 2001) - (T)1000;
  return T((float)unit);
}
template <> int2 value_of<int2>(unsigned long long h, const char* fill) {
  return make_int2(value_of<int>(h, fill), value_of<int>(h * 31 + 7, fill));
}
template <> float2 value_of<float2>(unsigned long long h, const char* fill) {
  return make_float2(value_of<float>(h, fill), value_of<float>(h * 31 + 7, fill));
}
template <> float4 value_of<float4>(unsigned long long h, const char* fill) {
  return make_float4(value_of<float>(h, fill), value_of<float>(h * 31 + 7, fill), 0.5f, 1.0f);
}
template <> __half value_of<__half>(unsigned long long h, const char* fill) {
  return __float2half(value_of<float>(h, fill));
}
template <> __nv_bfloat16 value_of<__nv_bfloat16>(unsigned long long h, const char* fill) {
  return __float2bfloat16(value_of<float>(h, fill));
}
static const size_t ZONE = 256;
template <class T> unsigned char* make(size_t bytes, const char* name, const char* fill) {
  unsigned long long seed = 1469598103934665603ULL;
  for (const char* p = name; *p; ++p) seed = (seed ^ (unsigned char)*p) * 1099511628211ULL;
  std::vector<unsigned char> host(bytes + ZONE, 0xA5);
  for (size_t i = 0; (i + 1) * sizeof(T) <= bytes; ++i) {
    const T v = value_of<T>(mix(seed + i), fill);
    memcpy(host.data() + i * sizeof(T), &v, sizeof(T));
  }
  void* device = nullptr;
  if (cudaMalloc(&device, bytes + ZONE) != cudaSuccess) { printf("error malloc\n"); exit(3); }
  cudaMemcpy(device, host.data(), bytes + ZONE, cudaMemcpyHostToDevice);
  return (unsigned char*)device;
}
static void dump(const char* name, unsigned char* device, size_t bytes) {
  std::vector<unsigned char> host(bytes + ZONE);
  cudaMemcpy(host.data(), device, bytes + ZONE, cudaMemcpyDeviceToHost);
  unsigned long long hash = 1469598103934665603ULL;
  for (unsigned char c : host) hash = (hash ^ c) * 1099511628211ULL;
  printf("%s %zu %016llx ", name, bytes, hash);
  // The first and the last elements: enough to judge a tolerance by.
  for (size_t i = 0; i < bytes; ++i) {
    if (i < 2048 || i + 2048 >= bytes) printf("%02x", host[i]);
  }
  printf("\n");
}
"#;
