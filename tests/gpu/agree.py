#!/usr/bin/env python3
"""Runs kernels of this repository in the interpreter and on the GPU of this machine, and records how far they agree.

usage: agree.py KOPT OUT.json [FILE.cu ...]   (from the root of the repository; needs NVRTC and a GPU)

Each kernel runs by its contract with every kind of contents, in both places from the same PTX. The record is
tests/data/gpu/agreement.json; tests/agreement.rs reads it.
"""
import datetime, hashlib, json, re, subprocess, sys
from pathlib import Path

KOPT, OUT, *FILES = sys.argv[1:]
FILES = FILES or sorted(
    str(p) for folder in ("tests/data/gpu", "src/gate/selftest/originals", "tests/data/contract")
    for p in Path(folder).glob("*.cu") if p.name != "kernels_only.cu"  # that one has open questions, on purpose
)
CONTENTS = ["normal-0.1", "normal-1", "normal-30", "integers", "heavy-tail", "denormals", "skewed"]


def kernels(text):
    return re.findall(r"__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+(\w+)", text)


def run(path, kernel, contents, where):
    command = [KOPT, "--format", "json", "run", path, "--kernel", kernel, "--contents", contents, "--on", where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    try:
        return json.loads(done.stdout), done.stderr
    except ValueError:
        return None, done.stdout + done.stderr


def main():
    cases, device, toolchain = [], None, None
    for path in FILES:
        text = Path(path).read_text()
        for kernel in kernels(text):
            case = {"file": path, "kernel": kernel, "sha256": hashlib.sha256(text.encode()).hexdigest(), "runs": []}
            for contents in CONTENTS:
                found, said = run(path, kernel, contents, "both")
                if found is None or "run" not in found:
                    case["error"] = said.strip().splitlines()[:6]
                    break
                case["approximate"] = found.get("approximate", [])
                ordered = [n for n in found["run"]["notes"] if "blocks ran in order" in n]
                if ordered:
                    case["order"] = ordered[0]
                device = device or (found["device"] or {}).get("on")
                toolchain = toolchain or found["toolchain"]
                stopped = [r["stopped"] for r in (found["run"], (found["device"] or {}).get("run")) if r and r["stopped"]]
                hashes = {o["name"]: o["blake3"] for o in ((found["device"] or {}).get("run") or {}).get("outputs", [])}
                one = {"contents": contents, "findings": len(found["run"]["findings"]), "agreement": found["agreement"], "blake3": hashes}
                if stopped:
                    one["stopped"] = stopped
                case["runs"].append(one)
            cases.append(case)
            worst = [(a["output"], a["differing"], a["elements"], a["ulps"]) for r in case["runs"] for a in r["agreement"] if a["differing"]]
            print(path, kernel, case.get("error") or worst or "equal", flush=True)
    record = {
        "device": device, "toolchain": toolchain, "date": datetime.date.today().isoformat(),
        "command": "python3 tests/gpu/agree.py KOPT OUT.json", "cases": cases,
    }
    Path(OUT).write_text(json.dumps(record, indent=1) + "\n")


main()
