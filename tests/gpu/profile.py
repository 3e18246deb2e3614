#!/usr/bin/env python3
"""Counters of the interpreter beside those of ncu, over kernels of this repository, for docs/measurements.md.

usage: profile.py KOPT OUT [NAME ...]   (from the root of the repository; needs NVRTC, ncu and a GPU)

OUT/NAME.json are whole reports of `kopt profile --on gpu`; a markdown table goes to standard output, with one row for each kernel
and in each cell measured / estimated and the difference in percent.
"""
import json, re, subprocess, sys
from pathlib import Path

KOPT, OUT, *NAMES = sys.argv[1:]
OUT = Path(OUT)
TIMING, TOOLS, OWN = Path("tests/data/gpu/timing"), Path("tests/data/gpu/tools/kernels"), Path("src/gate/selftest/originals")
# A file and the sizes at which it is run; without sizes the contract's first sample.
KERNELS = [(TIMING / "add.cu", ["n=1048576"]), (TIMING / "copy.cu", ["n=1048576"]), (TOOLS / "transpose.cu", ["n=1024"]),
           (TIMING / "spin.cu", [])]
KERNELS += [(path, []) for path in sorted(OWN.glob("*.cu"))]
SHOWN = ["warp instructions", "global requests", "global sectors", "sectors per request", "shared wavefronts",
         "DRAM bytes read (unique bytes)", "DRAM bytes written (unique bytes)", "occupancy, % (estimate: at most)"]


def profile(path, dims):
    command = [KOPT, "--format", "json", "profile", str(path), "--on", "gpu"]
    for dim in dims:
        command += ["--dim", dim]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    name = re.sub(r"[^a-z0-9_]+", "-", f"{path.stem} {' '.join(dims)}".strip())
    (OUT / f"{name}.json").write_text(done.stdout)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"problem": (done.stdout[-300:] + done.stderr[-600:]).strip()}


def cell(row):
    if row is None:
        return ""
    show = lambda v: f"{v:,.2f}".rstrip("0").rstrip(".")
    if row["estimated"] is None:
        return f"{show(row['measured'])} / -"
    off = row["difference_percent"]
    return f"{show(row['measured'])} / {show(row['estimated'])}" + ("" if off is None else f" ({off:+.1f} %)")


OUT.mkdir(parents=True, exist_ok=True)
print("| kernel | cell | us | binds | " + " | ".join(SHOWN) + " |")
print("|---" * (4 + len(SHOWN)) + "|")
for path, dims in KERNELS:
    if NAMES and path.stem not in NAMES:
        continue
    found = profile(path, dims)
    measured = found.get("measured")
    if not measured or not measured["launches"]:
        why = found.get("problem") or (measured or {}).get("no_counters") or json.dumps(found)[:300]
        print(f"<!-- {path}: {why} -->", flush=True)
        continue
    rows = {r["what"]: r for r in measured["rows"]}
    binds = ", ".join(sorted({l["bottleneck"] or "?" for l in measured["launches"]}))
    sizes = " ".join(f"{n}={v}" for n, v in found["run"]["cell"]["dims"].items())
    print(f"| {path.stem} | {sizes} | {rows['duration, us']['measured']:.2f} | {binds} | "
          + " | ".join(cell(rows.get(w)) for w in SHOWN) + " |", flush=True)
