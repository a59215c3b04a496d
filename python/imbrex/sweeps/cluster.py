"""Cells on workers of Dask: on this machine unless told otherwise."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from imbrex.sweeps.cells import Came, Cell, failed, run
from imbrex.sweeps.dataset import needs

if TYPE_CHECKING:
    import distributed

Cluster: TypeAlias = "distributed.Client | distributed.SpecCluster | str | int | None"
"""Where cells are run: on a client or cluster of `dask.distributed`, at the address of a scheduler, or on a
number of processes of this machine; `None` is as many as it has cores."""


@contextlib.contextmanager
def connected(cluster: Cluster) -> Iterator[distributed.Client]:
    """A client of that cluster. What was started for it is ended."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise needs("sweep", error) from error
    if isinstance(cluster, Client):
        yield cluster
    elif cluster is None or isinstance(cluster, int):
        processes = cluster or len(os.sched_getaffinity(0))
        # A run takes one core, and what kills a process kills that run alone.
        local = LocalCluster(n_workers=processes, threads_per_worker=1, dashboard_address=":0")
        with local, Client(local) as client:
            yield client
    else:
        with Client(cluster) as client:
            yield client


def each(client: distributed.Client, cells: Sequence[Cell]) -> Generator[tuple[Cell, Came]]:
    """What cells come to, as they are done. A cell whose worker is lost is run on another one. Closed, it ends those that
    are not done."""
    from distributed import as_completed

    futures = client.map(run, cells, key=[f"imbrex-{cell.key}" for cell in cells], pure=False)
    of = dict(zip((future.key for future in futures), cells, strict=True))
    done = as_completed(futures, with_results=True, raise_errors=False)
    # The scheduler forgets what nobody holds; who is gone then has nothing that was done.
    futures = []
    try:
        for future, result in done:
            cell = of.pop(future.key)
            # A run says itself what goes wrong in it. Another error is that it ended its workers, or cannot be sent.
            yield cell, result if isinstance(result, Came) else failed(cell, result[1])
            future.release()
    finally:
        client.cancel(list(done.futures))
