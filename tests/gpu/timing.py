#!/usr/bin/env python3
"""Times kernels of tests/data/gpu/timing on the GPU of this machine, for docs/measurements.md.

usage: timing.py KOPT OUT [aa|curve|ncu|record ...]   (from the root of the repository; needs NVRTC and a GPU)

OUT/NAME.json are whole reports with raw samples, of long runs; `cargo bench --bench timing -- OUT/*.json` cuts them into
disjoint comparisons of three rounds and counts verdicts.
  aa     a kernel with itself, from 5 us to 10 ms
  curve  a kernel with one that does so many thousandths more
  ncu    the durations that ncu reports for the same launches
  record short runs whose reports stand in tests/data/gpu/timing
"""
import csv, io, json, subprocess, sys
from pathlib import Path

KOPT, OUT, *PARTS = sys.argv[1:]
PARTS = PARTS or ["aa", "curve", "ncu"]
DATA = Path("tests/data/gpu/timing")
OUT = Path(OUT)
# Sizes and about how long they take on an H200; the second number is how many rounds.
ADDS = [(1 << 20, 30), (1 << 22, 30), (1 << 24, 30), (1 << 26, 30), (1 << 28, 15)]
SPINS = [(1500, 60), (3000, 60), (15000, 60), (60000, 30), (300000, 30), (3000000, 9)]


def verify(name, original, candidate, dims, rounds, samples=50):
    command = [KOPT, "--format", "json", "verify", str(original), str(candidate), "--on", "gpu", "--time",
               "--rounds", str(rounds), "--samples", str(samples)]
    for dim in dims:
        command += ["--dim", dim]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    (OUT / f"{name}.json").write_text(done.stdout)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return print(name, "no report:", done.stdout[-500:], done.stderr[-1500:], flush=True)
    timing = found.get("timing") or {}
    print(name, timing.get("not_timed", ""), timing.get("device", ""), flush=True)
    for s in timing.get("states", []):
        print("  {} {} original {:.2f} us candidate {:.2f} us ratio {:.4f} interval {:.4f}..{:.4f} spread {:.4f} {}".format(
            s["cache"], s["method"]["timer"], s["original_ns"]["median"] / 1e3, s["candidate_ns"]["median"] / 1e3, s["ratio"],
            *s["interval_99"], s["spread_of_original"], s["verdict"]), flush=True)
    for remark in found.get("remarks", []):
        print("  -", remark, flush=True)


def slower(thousandths):
    text = (DATA / "spin.cu").read_text().replace("#define SLOWER 0", f"#define SLOWER {thousandths}")
    path = OUT / f"spin_{thousandths}.cu"
    path.write_text(text)
    return path


def ncu(kernel, dim):
    command = ["ncu", "--csv", "--target-processes", "all", "--clock-control", "none", "--cache-control", "all", "--metrics",
               "gpu__time_duration.sum", KOPT, "run", str(DATA / f"{kernel}.cu"), "--on", "gpu", "--dim", dim]
    times = []
    for _ in range(5):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        lines = [l for l in done.stdout.splitlines() if l.startswith('"')]
        for row in csv.DictReader(io.StringIO("\n".join(lines))):
            unit = {"ns": 1.0, "us": 1e3, "ms": 1e6, "nsecond": 1.0, "usecond": 1e3, "msecond": 1e6}.get(row.get("Metric Unit"), 0.0)
            times.append(float(row["Metric Value"].replace(",", "")) * unit)
    times.sort()
    print("ncu", kernel, dim, "median us", times[len(times) // 2] / 1e3 if times else done.stdout[-400:] + done.stderr[-400:],
          [t / 1e3 for t in times], flush=True)


OUT.mkdir(parents=True, exist_ok=True)
if "aa" in PARTS:
    for n, rounds in ADDS:
        verify(f"aa_add_{n}", DATA / "add.cu", DATA / "add.cu", [f"n={n}"], rounds)
    for k, rounds in SPINS:
        verify(f"aa_spin_{k}", DATA / "spin.cu", DATA / "spin.cu", [f"k={k}"], rounds)
if "curve" in PARTS:
    for thousandths in (5, 10, 15, 20, 30, 50):
        for k, _ in SPINS[:-1]:
            # Of the 3 % that must be called, twenty comparisons for each size and state of the cache.
            rounds = 60 if thousandths == 30 else 9
            verify(f"curve_{thousandths}_{k}", DATA / "spin.cu", slower(thousandths), [f"k={k}"], rounds)
if "record" in PARTS:
    plain, longer = DATA / "spin.cu", slower(100)
    for name, original, candidate in [("same", plain, plain), ("slower", plain, longer), ("faster", longer, plain)]:
        verify(name, original, candidate, ["k=60000"], 3, 12)
if "ncu" in PARTS:
    for kernel in ("add", "copy"):
        for n in (1 << 22, 1 << 24, 1 << 25, 1 << 26, 1 << 27, 1 << 28):
            verify(f"ncu_{kernel}_{n}", DATA / f"{kernel}.cu", DATA / f"{kernel}.cu", [f"n={n}"], 3)
            ncu(kernel, f"n={n}")
