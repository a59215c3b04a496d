"""How a sweep grows with its workers: `python checks/python/workers.py [PROFILES] [REQUESTS]`.

Replays so many profiles with twelve layers and buffers of four sizes, on one local worker of Dask and then on two.
"""

from __future__ import annotations

import sys
import tempfile
import time

from distributed import Client, LocalCluster

import imbrex

LAYERS = [
    "conventional",
    "in-place",
    "fifo-log",
    "loop-back",
    "block-lru",
    "hashed-zones",
    "amphisbaena",
    "dm-zoned",
    "log-greedy",
    "log-fifo",
    "log-cost-benefit",
    "log-choices",
]
BUFFERS = ["0.5%", "1%", "2%", "4%"]


def seconds(workers: int, profiles: int, requests: int) -> float:
    """How long the sweep takes on workers that have been started and have loaded the package."""
    grid = {
        "workloads": [profile.name for profile in imbrex.profiles()][:profiles],
        "layers": LAYERS,
        "options": {"requests": requests, "capacity": "fit", "buffer": BUFFERS},
    }
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        tempfile.TemporaryDirectory() as folder,
    ):
        client.run(__import__, "imbrex.sweeps")
        begun = time.monotonic()
        done = imbrex.sweep(grid, folder, cluster=client)
        took = time.monotonic() - begun
        print(f"{workers} workers: {len(done)} cells in {took:.1f} s, {len(done.errors())} of them errors")
    return took


def main() -> None:
    given = sys.argv[1:3]
    profiles, requests = (int(argument) for argument in given + ["36", "200000"][len(given) :])
    one, two = (seconds(workers, profiles, requests) for workers in (1, 2))
    print(f"two workers are {one / two:.2f} times as fast as one")


if __name__ == "__main__":
    main()
