//! What an observed kernel calls.

use crate::ptx::NOTE;

/// Set in what a value's note says of its type, beside the size in bytes.
pub const SIGNED: u32 = 256;

/// Integer types by their names in C++, and whether they are signed.
const INTEGERS: [(&str, bool); 12] = [
    ("bool", false),
    ("char", true),
    ("signed char", true),
    ("unsigned char", false),
    ("short", true),
    ("unsigned short", false),
    ("int", true),
    ("unsigned int", false),
    ("long", true),
    ("unsigned long", false),
    ("long long", true),
    ("unsigned long long", false),
];

/// Functions that note a value, an address or a pointer and give back what they got. They come first in the text.
pub fn text() -> String {
    let mut out =
        format!("extern \"C\" __device__ void {NOTE}(unsigned id, unsigned long long value, unsigned what);\n");
    for (name, signed) in INTEGERS {
        let what = if signed { format!("sizeof(x) | {SIGNED}u") } else { "sizeof(x)".to_owned() };
        let wide = if signed { "(unsigned long long)(long long)x" } else { "(unsigned long long)x" };
        out += &format!(
            "__device__ __forceinline__ {name} __kopt_value(unsigned id, {name} x) {{ {NOTE}(id, {wide}, {what}); return x; }}\n"
        );
    }
    // Whatever else there is passes unseen.
    out += "template <class T> __device__ __forceinline__ T&& __kopt_value(unsigned, T&& x) { return static_cast<T&&>(x); }\n";
    out += &format!(
        "template <class T> __device__ __forceinline__ T& __kopt_at(unsigned id, T& x) {{ {NOTE}(id, \
         (unsigned long long)&reinterpret_cast<const volatile char&>(x), sizeof(T)); return x; }}\n"
    );
    out += &format!(
        "template <class T> __device__ __forceinline__ T* __kopt_through(unsigned id, T* p) {{ {NOTE}(id, \
         (unsigned long long)p, sizeof(T)); return p; }}\n"
    );
    out
}
