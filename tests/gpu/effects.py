#!/usr/bin/env python3
"""What each skill does to kernels of its kind at a realistic size: times and counters before and after, on a GPU.

usage: effects.py KOPT OUT [NAME ...]   (from the root of the repository; needs NVRTC and a GPU, and ncu for the counters)

The first line of tests/data/gpu/effects/NAME.cu names the skill and the sizes. OUT/effects.json is the record, to be kept as
tests/data/gpu/effects.json; OUT/NAME.*.json are whole reports, OUT/NAME.cu the rewritten files. A table goes to standard output.
"""
import datetime, json, re, subprocess, sys
from pathlib import Path

KOPT, OUT, *NAMES = sys.argv[1:]
OUT, DATA = Path(OUT), Path("tests/data/gpu/effects")
COUNTERS = ["warp instructions", "global requests", "global sectors", "sectors per request", "shared wavefronts",
            "DRAM bytes read (unique bytes)", "occupancy, % (estimate: at most)"]


def report(path, *command):
    done = subprocess.run([KOPT, "--format", "json", *command], capture_output=True, text=True, timeout=240)
    path.write_text(done.stdout)
    try:
        return json.loads(done.stdout)
    except ValueError:
        print(f"<!-- {path.name}: {(done.stdout[-300:] + done.stderr[-600:]).strip()} -->", flush=True)
        return {}


def rewrite(path, skill):
    target = OUT / path.name
    done = subprocess.run([KOPT, "apply", "--skill", skill, "--verify", "none", "--out", str(OUT / "made"), str(path)],
                          capture_output=True, text=True, timeout=60)
    made = list((OUT / "made").rglob(path.name))
    if done.returncode or not made:
        sys.exit(f"{path}: {done.stdout[-500:]} {done.stderr[-500:]}")
    made[0].rename(target)
    return target


def counters(name, side, path, dims):
    found = report(OUT / f"{name}.{side}.json", "profile", str(path), "--on", "gpu", *dims)
    measured = found.get("measured") or {}
    rows = {r["what"]: r["measured"] for r in measured.get("rows", []) if r["what"] in COUNTERS}
    bound = sorted({l["bottleneck"] or "?" for l in measured.get("launches", [])})
    return {"binds": ", ".join(bound), "counters": rows, "none": measured.get("no_counters")}


def effect(path):
    skill, sizes = re.match(r"// skill: (\w+); at (.*)", path.read_text()).groups()
    dims = [word for size in sizes.split() for word in ("--dim", size)]
    target, name = rewrite(path, skill), path.stem
    verdict = report(OUT / f"{name}.verify.json", "verify", str(path), str(target), "--on", "gpu", "--time", *dims)
    timing = verdict.get("timing") or {}
    states = [{"cache": s["cache"], "before_us": s["original_ns"]["median"] / 1e3, "after_us": s["candidate_ns"]["median"] / 1e3,
               "ratio": s["ratio"], "interval_99": s["interval_99"], "verdict": s["verdict"]} for s in timing.get("states", [])]
    return {"kernel": name, "skill": skill, "sizes": sizes, "correct": (verdict.get("device") or {}).get("verdict"), "device": timing.get("device"),
            "timing": timing.get("verdict") or timing.get("not_timed"), "states": states,
            "floor_us": ((timing.get("floor") or {}).get("ns") or 0) / 1e3 or None,
            "before": counters(name, "before", path, dims), "after": counters(name, "after", target, dims)}


OUT.mkdir(parents=True, exist_ok=True)
subprocess.run([KOPT, "doctor", "--gpu"], capture_output=True, timeout=60)
record = {"date": str(datetime.date.today()), "command": "tests/gpu/effects.py", "effects": []}
print("| kernel | skill | cold, us | ratio (99 %) | verdict | floor, us | binds |", *[f" {c} |" for c in COUNTERS], sep="")
print("|---" * (7 + len(COUNTERS)) + "|")
for path in sorted(DATA.glob("*.cu")):
    if NAMES and path.stem not in NAMES:
        continue
    e = effect(path)
    record["effects"].append(e)
    (OUT / "effects.json").write_text(json.dumps(record, indent=1) + "\n")
    cold = next((s for s in e["states"] if s["cache"] == "cold"), None)
    times = f"{cold['before_us']:.1f} -> {cold['after_us']:.1f}" if cold else "-"
    ratio = "{:.3f} ({:.3f}..{:.3f})".format(cold["ratio"], *cold["interval_99"]) if cold else "-"
    show = lambda side, c: "-" if e[side]["counters"].get(c) is None else f"{e[side]['counters'][c]:,.4g}"
    cells = [f"{show('before', c)} -> {show('after', c)}" for c in COUNTERS]
    floor = f"{e['floor_us']:.1f}" if e["floor_us"] else "-"
    print("|", " | ".join([e["kernel"], e["skill"], times, ratio, f"{e['correct']}, {e['timing']}", floor,
                           f"{e['before']['binds']} -> {e['after']['binds']}", *cells]), "|", flush=True)
