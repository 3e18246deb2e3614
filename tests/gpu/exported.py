#!/usr/bin/env python3
"""Calls kernels that `kopt export torch` wrote, from PyTorch: right answers, and every broken promise refused.

usage: exported.py KOPT OUT    (from the root of the repository; needs PyTorch, nvcc, a C++ compiler and a GPU)
"""
import subprocess, sys
from pathlib import Path

KOPT, OUT = sys.argv[1], Path(sys.argv[2])
KERNEL = """\
#include <cstdio>
#include <cuda_fp16.h>

// kopt: dims.rows = { samples = [8], min = 1, max = 65535 }
// kopt: dims.cols = { samples = [96], divisible_by = 4 }
// kopt: require = ["rows * cols <= 1000000"]
// kopt: args.x = { role = "in", dtype = "f32", shape = ["rows", "cols"], align = 16 }
// kopt: args.weight = { role = "in", dtype = "f16", shape = ["cols"] }
// kopt: args.total = { role = "inout", dtype = "f32", shape = [1] }
// kopt: args.scale = { role = "scalar", dtype = "f32", value = 0.5 }
// kopt: args.y = { role = "out", dtype = "f32", shape = ["rows", "cols"] }
// kopt: launch = { grid = ["ceil_div(cols, 64)", "rows"], block = 64, args = ["x", "weight", "total", "y", "scale", "i32(cols)"] }
__global__ void weigh(const float4* x, const __half* weight, float* total, float* y, float scale, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cols) return;
    float value = scale * reinterpret_cast<const float*>(x)[blockIdx.y * cols + i] * __half2float(weight[i] + __half(0));
    y[blockIdx.y * cols + i] = value;
    atomicAdd(total, 1.0f);
}

int main() { printf("not called\\n"); }
"""

OUT.mkdir(parents=True, exist_ok=True)
(OUT / "weigh.cu").write_text(KERNEL)
subprocess.run([KOPT, "export", "torch", str(OUT / "weigh.cu"), "-o", str(OUT / "weigh")], check=True)
sys.path.insert(0, str(OUT))
import torch
from weigh import weigh

x = torch.randn(8, 96, device="cuda")
weight = torch.randn(96, device="cuda", dtype=torch.float16)
total = torch.zeros(1, device="cuda")
y = weigh(x, weight, total, 0.5)
torch.testing.assert_close(y, 0.5 * x * weight.float(), rtol=0, atol=0)
assert total.item() == 8 * 96, total
with torch.cuda.stream(torch.cuda.Stream()):
    torch.testing.assert_close(weigh(x, weight, total, 2.0), 2.0 * x * weight.float(), rtol=0, atol=0)
print("right answers")
wide = torch.randn(8, 97, device="cuda")
refused = {
    "on the host": (x.cpu(), weight, total, 0.5),
    "another type": (x.double(), weight, total, 0.5),
    "another rank": (x.flatten(), weight, total, 0.5),
    "another extent": (x, weight[:92].clone(), total, 0.5),
    "not contiguous": (wide[:, :96], weight, total, 0.5),
    "no multiple of 4": (wide, torch.randn(97, device="cuda", dtype=torch.float16), total, 0.5),
    "not aligned": (torch.randn(8 * 96 + 1, device="cuda")[1:].view(8, 96), weight, total, 0.5),
    "larger than required": (torch.randn(20000, 96, device="cuda"), weight, total, 0.5),
    "overlapping": (x, weight, x.flatten()[:1], 0.5),
    "empty": (torch.randn(0, 96, device="cuda"), weight, total, 0.5),
}
for what, arguments in refused.items():
    before = total.item()
    try:
        weigh(*arguments)
    except RuntimeError as error:
        print(f"refused, {what}: {str(error).splitlines()[0]}")
    else:
        sys.exit(f"not refused: {what}")
    assert total.item() == before, what
