"""The package against its bars: `python checks/python/bench.py PROGRAM` with a release build of both.

Columns of a data frame are read where they lie, and what that costs is a small part of the replay; importing the package
takes no time that anybody notices; and a replay takes as long as the program's.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import polars as pl

import imbrex

ROWS = 10_000_000
ROUNDS = 7


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def processor_seconds(work: Callable[[], object]) -> float:
    """The least of several times: what it takes when nothing disturbs it."""

    def once() -> float:
        begun = time.process_time()
        work()
        return time.process_time() - begun

    return min(once() for _ in range(3))


def frame() -> pl.DataFrame:
    """As many requests of one block each, all over 16 GiB."""
    row = pl.int_range(ROWS, dtype=pl.Int64, eager=True)
    block = (row * 2_654_435_761) % (1 << 22)
    return pl.DataFrame(
        {
            "arrival_ns": row * 1_000_000,
            "offset_bytes": block * 4096,
            "bytes": pl.repeat(4096, ROWS, dtype=pl.Int64, eager=True),
            "write": (row % 3) > 0,
        }
    )


def conversion() -> None:
    """What making a workload of a data frame costs beside replaying it."""
    data = frame()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = seconds(lambda: imbrex.Requests(data))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    requests = imbrex.Requests(data)
    addresses = [address for batch in requests.addresses for _, buffers in batch for address in buffers]
    own = [data[name].to_arrow().buffers()[1].address for name in data.columns]
    # Before runs of a workload, it is read once and nothing else is done with it; each run beyond the first is one
    # replay more. Processor time, which others on the machine do not change.
    once = processor_seconds(lambda: imbrex.compare(requests, ["conventional"], jobs=1, progress=False))
    twice = processor_seconds(lambda: imbrex.compare(requests, ["conventional"] * 2, jobs=1, progress=False))
    replay = twice - once
    read = once - replay
    print(f"{ROWS} requests from Polars: same addresses {sorted(addresses) == sorted(own)}, memory +{grown} KiB")
    print(f"  taken in {made * 1e3:.1f} ms, columns read once in {read * 1e3:.0f} ms, replayed in {replay:.2f} s")
    print(f"  taking and reading is {100 * (made + read) / replay:.2f} % of the replay")


def importing() -> None:
    """What `import imbrex` adds to starting Python."""

    def start(line: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, "-c", line], check=True))

    start("import imbrex")
    with_it = statistics.median(start("import imbrex") for _ in range(ROUNDS))
    without = statistics.median(start("pass") for _ in range(ROUNDS))
    print(f"import imbrex: {1e3 * (with_it - without):.0f} ms, of {1e3 * with_it:.0f} ms with the interpreter")


def against_the_program(program: str) -> None:
    """The same replay, by turns."""
    words = ["--layer", "fifo-log", "--requests", "3000000"]

    def of_program() -> float:
        done = subprocess.run([program, "replay", "zipf", *words, "--format", "json"], capture_output=True, check=True)
        return float(json.loads(done.stdout)[0]["replay_seconds"])

    def of_python() -> float:
        return imbrex.replay("zipf", "fifo-log", requests=3_000_000, progress=False).replay_seconds

    whole = ["replay", "zipf", *words, "--format", "json"]
    both = [
        (
            of_program(),
            of_python(),
            seconds(lambda: subprocess.run([program, *whole], capture_output=True, check=True)),
            seconds(lambda: imbrex.replay("zipf", "fifo-log", requests=3_000_000, progress=False)),
        )
        for _ in range(ROUNDS)
    ]
    inside = statistics.median(python / other for other, python, _, _ in both)
    outside = statistics.median(python / other for _, _, other, python in both)
    print(f"replay: Python over the program, {ROUNDS} turns: {inside:.3f} inside, {outside:.3f} with starting and reading")


def in_python() -> None:
    """A layer in Python against the same one in Rust."""
    from imbrex.examples import ZoneCopy

    runs: list[tuple[str, dict[str, Any]]] = [
        ("appending", {"workload": "sequential", "requests": 20_000, "prefill": 0.0}),
        ("cleaning all the time", {"workload": "uniform", "drive": "small-zoned", "beyond": "wrap", "requests": 2000}),
    ]
    for what, options in runs:
        pad = {"config": {"ahead": "pad"}}
        both = [
            (
                imbrex.replay(layer=ZoneCopy, progress=False, **options).replay_seconds,
                imbrex.replay(layer="in-place", progress=False, **options, **pad).replay_seconds,
            )
            for _ in range(3)
        ]
        times = statistics.median(python / rust for python, rust in both)
        print(f"a layer in Python takes {times:.0f} times as long as the same in Rust, {what}")


if __name__ == "__main__":
    conversion()
    importing()
    in_python()
    if len(sys.argv) > 1:
        against_the_program(sys.argv[1])
