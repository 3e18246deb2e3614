#!/usr/bin/env python3
"""Writes the results of run.py beside the skills, as skills/<direction>/<name>.evidence.

usage: record.py RESULTS.json [SANITIZER.log]   (from the root of the repository)
"""
import json, sys
from pathlib import Path

record = json.loads(Path(sys.argv[1]).read_text())
sanitizer = Path(sys.argv[2]).read_text().splitlines()[0] if len(sys.argv) > 2 else "not run"
for skill in sorted({c["skill"] for c in record["cases"]}):
    cases = []
    for case in record["cases"]:
        if case["skill"] != skill:
            continue
        kept = ("case", "kind", "without", "tolerance", "over_strict", "unwritten", "compile_error", "runs", "as_expected")
        one = {key: case[key] for key in kept if case.get(key) not in (None, [])}
        if "compile_error" in one:  # without the name of the generated file
            one["compile_error"] = one["compile_error"].split("error", 1)[-1].lstrip(": ")
        cases.append(one)
    hashes = {c["skill_hash"] for c in record["cases"] if c["skill"] == skill}
    evidence = {
        "skill": skill,
        "skill_hash": hashes.pop(),
        "gpu": record["gpu"],
        "nvcc": record["nvcc"],
        "flags": record["flags"],
        "date": record["date"],
        "commands": ["kopt skills harness --out DIR", "python3 tests/gpu/run.py DIR RESULTS.json"],
        "compute_sanitizer": sanitizer,
        "cases": cases,
    }
    (home,) = Path("skills").glob(f"*/{skill}.skill")
    home.with_suffix(".evidence").write_text(json.dumps(evidence, indent=1) + "\n")
    print(home.with_suffix(".evidence"))
