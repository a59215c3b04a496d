#!/usr/bin/env python3
"""Holds how many instructions a replayed block takes, over those of the conventional layer, to what was recorded.

Instructions are the same on a busy machine, and nearly the same on another one. What was recorded is in recorded.json: by
layer and load of `imbrex bench --layer`, for a block that the host writes, its generation included. A layer may take a
quarter more. With --write what is counted is recorded. valgrind counts. IMBREX names the program, of the profile release.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

RECORDED = Path(__file__).parent / "recorded.json"
# Of each family some, where they find room; and a log that cleans, which takes a while to begin with it.
LAYERS = ["fifo-log", "block-lru", "zone-ages", "log-greedy", "sepbit", "skylight", "tracklace", "lru-cache"]
COUNTED = [(layer, "fits") for layer in LAYERS] + [("log-greedy", "cleans")]
BASELINE = "conventional"
# The difference of two replays has nothing in it of the beginning.
REQUESTS = {"fits": (20_000, 60_000), "cleans": (400_000, 440_000)}
MORE = 1.25


def counted(program, layer, load, requests):
    """Instructions of a whole run."""
    bench = [program, "bench", "--layer", layer, "--alone", load, "--counted", str(requests)]
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *bench]
    ran = subprocess.run(valgrind, capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"instruction check: {' '.join(bench)}: {ran.stderr.strip()}")
    return int(re.search(r"I +refs: +([0-9,]+)", ran.stderr).group(1).replace(",", ""))


def a_block(program, layer, load):
    """Instructions that a block takes."""
    few, many = REQUESTS[load]
    return (counted(program, layer, load, many) - counted(program, layer, load, few)) / (many - few)


def main():
    program = os.environ["IMBREX"]
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    baseline = a_block(program, BASELINE, "fits")
    print(f"instruction check: {baseline:.0f} for a block of {BASELINE}; times that:")
    found, slower = {}, []
    for layer, load in COUNTED:
        name = f"{layer}, {load}"
        found[name] = round(a_block(program, layer, load) / baseline, 2)
        before = recorded.get(name)
        print(f"  {name}: {found[name]}" + (f", recorded {before}" if before else ""))
        if not before or found[name] > before * MORE:
            slower.append(name)
    if "--write" in sys.argv:
        RECORDED.write_text(json.dumps(found, indent=2) + "\n")
    elif slower:
        sys.exit(f"instruction check: more than {MORE} times what was recorded: {'; '.join(slower)}")


if __name__ == "__main__":
    main()
