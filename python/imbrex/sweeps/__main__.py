"""A sweep from a shell: `imbrex sweep` hands over to this."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from imbrex._native import Error
from imbrex.sweeps.sweeping import sweep

STOPPED = 130
"""What a program that Ctrl-C ended leaves."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the sweep that the arguments say; what it returns is the program's status."""
    chosen = _parser().parse_args(arguments)
    cluster = int(chosen.cluster) if chosen.cluster and chosen.cluster.isdigit() else chosen.cluster
    try:
        done = sweep(chosen.grid, chosen.output, cluster=cluster, retry=chosen.retry)
    except (Error, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("error: stopped; what is done stays, and the same command goes on", file=sys.stderr)
        return STOPPED
    errors = done.errors()
    print(f"{len(done)} runs in {done.dataset.folder}, {len(errors)} of them failed")
    if uncleaned := done.uncleaned():
        print(
            f"Nothing had to be cleaned in {len(uncleaned)} of them; a smaller `buffer` or more `requests` among the "
            "options of the grid change that"
        )
    for cell, why in errors.items():
        print(f"{cell.workload} on {cell.layer_name}: {why}", file=sys.stderr)
    return 1 if errors else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="imbrex sweep",
        description="Run every cell of a grid on workers of Dask, and write what they come to into a Parquet dataset",
    )
    parser.add_argument("grid", metavar="FILE.toml", help="the grid: workloads, layers, fields, drives, options")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder of the dataset")
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS|N",
        help="the address of a Dask scheduler, or N for N processes of this machine; otherwise one for each core",
    )
    parser.add_argument("--retry", action="store_true", help="run those again that failed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
