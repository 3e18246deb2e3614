#!/usr/bin/env python3
"""Verifies machine code on the GPU of this machine: CUBINs of nvcc and of Triton against CUDA.

usage: machine_code.py KOPT OUT    (from the root of the repository; needs NVRTC, nvcc, PyTorch, Triton and a GPU)
"""
import subprocess, sys
from pathlib import Path

KOPT, OUT = sys.argv[1], Path(sys.argv[2])
OUT.mkdir(parents=True, exist_ok=True)

ORIGINAL = """\
// kopt: dims.n = { samples = [1000], min = 1, max = 268435456 }
// kopt: args.x = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.y = { role = "in", dtype = "f32", shape = ["n"] }
// kopt: args.z = { role = "out", dtype = "f32", shape = ["n"] }
// kopt: launch = { grid = "ceil_div(n, 256)", block = 256, args = ["x", "y", "z", "i32(n)"] }
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
"""

TRITON = """
import sys, torch, triton, triton.language as tl

@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < LIMIT
    tl.store(z + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)

# Neither alignment nor divisibility is promised, so that the program is right for all sizes.
t = torch.empty(1001, device="cuda")[1:]
made = add[(1,)](t, t, t, 999, BLOCK=1024, num_warps=4)
open(sys.argv[1], "wb").write(made.asm["cubin"])
print(made.metadata.name, made.metadata.shared, made.metadata.num_warps)
"""

CONTRACT = """
[[step]]
kernel = "{kernel}"
grid = ["ceil_div(n, 1024)"]
block = [{threads}]
shared = "{shared}"
args = ["x", "y", "z", "i32(n)"{scratch}]
"""


def verify(name, candidate, *more):
    command = [KOPT, "verify", str(OUT / "add.cu"), str(OUT / candidate), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    (OUT / f"{name}.txt").write_text(done.stdout + done.stderr)
    lines = [l for l in done.stdout.splitlines() if l.startswith(("verdict", "timing")) or "ratio" in l]
    print(name, done.returncode, *(lines or [(done.stdout + done.stderr)[:600]]), sep="\n  ", flush=True)


def triton(name, limit):
    script = OUT / f"{name}.py"
    script.write_text(TRITON.replace("LIMIT", limit))
    done = subprocess.run([sys.executable, str(script), str(OUT / f"{name}.cubin")], capture_output=True, text=True, timeout=200)
    if done.returncode:
        return print(name, done.stderr[-800:])
    kernel, shared, warps = done.stdout.split()
    # Versions of Triton differ in how many pointers to scratch memory they append.
    for count in (2, 1, 0):
        text = CONTRACT.format(kernel=kernel, threads=32 * int(warps), shared=shared, scratch=', "null"' * count)
        (OUT / f"{name}.toml").write_text("contract = 1\n" + text)
        more = ["--on", "gpu", "--time", "--dim", "n=67108864", "--candidate-contract", str(OUT / f"{name}.toml")]
        verify(f"{name}_{count}", f"{name}.cubin", *more)


(OUT / "add.cu").write_text(ORIGINAL)
(OUT / "wrong.cu").write_text(ORIGINAL.replace("if (i < n)", "if (i < n - 1)"))
for name in ("add", "wrong"):
    subprocess.run(["nvcc", "-cubin", "-arch=native", "-o", str(OUT / f"{name}.cubin"), str(OUT / f"{name}.cu")], check=True)
    verify(f"nvcc_{name}", f"{name}.cubin", "--on", "both", "--time", "--dim", "n=67108864")
triton("triton_add", "n")
triton("triton_wrong", "n - 1")
