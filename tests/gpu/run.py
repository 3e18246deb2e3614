#!/usr/bin/env python3
"""Compiles and runs what `kopt skills harness` wrote, on a machine with nvcc and a GPU, and judges each case.

usage: run.py DIR OUT.json

An example must give equal bits (or stay within its tolerance) in all buffers, guard zones included, on every size. A
refusal that is forced through, and an example without one of its conditions, must fail on some size: by not compiling,
by an error of the device, or by another result.
"""
import json, struct, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

folder, out = Path(sys.argv[1]), Path(sys.argv[2])
index = json.loads((folder / "index.json").read_text())


def sh(args, limit):
    try:
        done = subprocess.run(args, capture_output=True, text=True, timeout=limit)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return 124, "", "time limit"


def build(entry):
    if "unwritten" in entry:
        return
    source = folder / entry["file"]
    # -fmad=false: the two variants must not differ in how products and sums are contracted.
    code, _, err = sh(["nvcc", "-arch=native", "-O3", "-fmad=false", "-o", str(source.with_suffix("")), str(source)], 300)
    if code != 0:
        entry["compile_error"] = next((l for l in err.splitlines() if "error" in l), err[:300])


def floats(hexes):
    data = bytes.fromhex(hexes)
    return struct.unpack(f"<{len(data) // 4}f", data[: len(data) // 4 * 4])


def differs(a, b, tolerance):
    """The first difference between two dumps, or None."""
    for one, other in zip(a, b):
        name, size, digest, shown = one.split(" ")
        other_digest, other_shown = other.split(" ")[2:4]
        if digest == other_digest:
            continue
        if tolerance is None:
            return f"{name} differs"
        worst = max((abs(x - y) / max(1.0, abs(x)) for x, y in zip(floats(shown), floats(other_shown))), default=0.0)
        if not worst <= tolerance:
            return f"{name} differs by {worst:.3g}"
    return None if len(a) == len(b) else "another number of buffers"


def judge(entry):
    if "unwritten" in entry or "compile_error" in entry:
        entry["runs"] = []
        return
    program = str((folder / entry["file"]).with_suffix(""))
    runs = []
    for i, size in enumerate(entry["sizes"]):
        results = [sh([program, variant, str(i)], 60) for variant in ("original", "candidate")]
        (c0, o0, _), (c1, o1, _) = results
        a, b = o0.splitlines(), o1.splitlines()
        if c0 != 0:
            verdict = f"the original fails: {o0.strip()[:80]}"
        elif c1 != 0:
            verdict = f"the candidate fails: {o1.strip()[:80] or c1}"
        else:
            verdict = differs(a, b, entry["tolerance"]) or "equal"
        runs.append({"size": size, "verdict": verdict})
    entry["runs"] = runs


with ThreadPoolExecutor(8) as pool:
    list(pool.map(build, index))
for entry in index:
    judge(entry)
    verdicts = [r["verdict"] for r in entry["runs"]]
    equal = bool(verdicts) and all(v == "equal" for v in verdicts)
    sound = not any(v.startswith("the original fails") for v in verdicts)
    failed = "unwritten" in entry or "compile_error" in entry or any(v != "equal" for v in verdicts)
    entry["as_expected"] = sound and (equal if entry["kind"] == "example" else failed)
    mark = "ok  " if entry["as_expected"] else "over" if entry.get("over_strict") else "FAIL"
    first = next((v for v in verdicts if v != "equal"), "equal" if verdicts else "")
    say = entry.get("unwritten") or entry.get("compile_error") or first
    print(f"{mark} {entry['kind']:8} {entry['skill']:20} {entry['case'][:44]:44} {say[:110]}")

gpu = sh(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], 30)[1].strip()
nvcc = sh(["nvcc", "--version"], 30)[1].strip().splitlines()[-2:]
record = {"gpu": gpu, "nvcc": nvcc, "date": time.strftime("%Y-%m-%d"), "flags": "-O3 -fmad=false", "cases": index}
out.write_text(json.dumps(record, indent=1) + "\n")
print(sum(e["as_expected"] for e in index), "of", len(index), "as expected")
