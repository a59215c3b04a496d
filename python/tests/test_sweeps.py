"""Sweeps: what comes of them is what `replay` says, whatever the cluster, and whatever happens to its workers."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

import imbrex
from imbrex import Grid, sweep
from imbrex.sweeps.__main__ import main

distributed = pytest.importorskip("distributed")
pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.dataset")

GRID: dict[str, Any] = {
    "workloads": ["zipf", "uniform"],
    "layers": ["in-place", "fifo-log"],
    "fields": {"fifo-log": {"spare_zones": [1, 2]}},
    "drives": ["small-zoned"],
    "options": {"requests": 1000, "beyond": "wrap", "buffer": "256blocks", "window": "500req"},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two processes of this machine, which all tests share: to start them is most of what a test takes."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local:
        with distributed.Client(local) as client:
            yield client


def files(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}


def test_a_grid_is_every_combination() -> None:
    cells = Grid.of(GRID).cells()
    assert [(cell.workload, cell.layer, cell.config.get("spare_zones")) for cell in cells] == [
        (workload, layer, spares)
        for workload in ("zipf", "uniform")
        for layer, spares in (("in-place", None), ("fifo-log", 1), ("fifo-log", 2))
    ]
    assert len({cell.key for cell in cells}) == 6
    assert len(Grid.of(GRID | {"workloads": ["zipf", "zipf"]}).cells()) == 3


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"layers": []}, "at least one"),
        ({"layers": "fifo-log"}, "at least one"),
        ({"layers": [7]}, "neither a name nor a class"),
        ({"fields": {"pore": {"frames": 1}}}, "pore takes no part"),
        ({"options": {"request": 7}}, "there is no request"),
        ({"options": {"requests": []}}, "an empty list"),
        ({"options": {"requests": 0}}, "requests"),
        ({"options": {"buffer": ["1%", "much"]}}, "'much' is no buffer size"),
        ({"colour": "red"}, "no colour"),
    ],
)
def test_a_wrong_grid_is_refused_before_anything_is_done(
    part: dict[str, Any], message: str, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(imbrex.ConfigError, match=message):
        sweep(GRID | part, tmp_path / "into")
    assert not (tmp_path / "into").exists()


def test_what_only_a_drive_can_refuse_is_left_to_it() -> None:
    options = {"capacity": "100MiB", "buffer": "200MiB", "zone_size": "1MiB", "seed": 3, "window": "1000req"}
    Grid(["zipf"], ["page-ftl"], drives=["ssd-pore"], options=options).check()


def test_rows_are_those_of_replay_whatever_the_cluster(cluster: Any, tmp_path: pathlib.Path) -> None:
    done = sweep(GRID, tmp_path / "two", cluster=cluster)
    rows = done.to_arrow().to_pylist()
    for cell, row in zip(done.cells, rows, strict=True):
        one = imbrex.replay(cell.workload, cell.layer, config=cell.config, drive=cell.drive, **cell.options)
        assert (row["trace"], row["layer"], row["run"]) == (cell.workload, cell.layer, cell.key)
        assert row["latency_ms.mean"] == one.latency_ms["mean"]
        assert (row["rmw"], row.get("config.spare_zones")) == (one.rmw, cell.config.get("spare_zones"))
    assert done.series()["run"].to_pylist() == [cell.key for cell in done.cells for _ in range(2)]
    assert done.errors() == {} and {row["error"] for row in rows} == {None}
    # Other readers find a dataset that is partitioned by run.
    others = pyarrow.dataset.dataset(tmp_path / "two" / "rows", partitioning="hive").to_table(columns=["run", "rmw"])
    assert dict(zip(*others.to_pydict().values(), strict=True)) == {row["run"]: row["rmw"] for row in rows}
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=3, processes=False, dashboard_address=":0"
    ) as threads:
        sweep(GRID, tmp_path / "one", cluster=threads.scheduler_address)
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_what_is_there_is_not_done_again(cluster: Any, tmp_path: pathlib.Path) -> None:
    first = sweep(GRID | {"workloads": ["zipf"]}, tmp_path, cluster=cluster)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    told: list[tuple[str, int, int]] = []
    both = sweep(GRID, tmp_path, cluster=cluster, progress=lambda *call: told.append(call))
    assert told == [("sweeping", 4, 6), ("sweeping", 5, 6), ("sweeping", 6, 6)]
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert both.cells[:3] == first.cells
    # Nothing is left to do: nobody is asked.
    assert sweep(GRID, tmp_path, cluster="tcp://127.0.0.1:1").to_arrow().equals(both.to_arrow())


def test_a_failed_cell_is_a_row_with_its_error(cluster: Any, tmp_path: pathlib.Path) -> None:
    trace = tmp_path / "trace.csv"
    grid = GRID | {"workloads": [str(trace), "zipf"], "layers": ["fifo-log"], "fields": {}}
    done = sweep(grid, tmp_path / "into", cluster=cluster)
    (cell, error), *others = done.errors().items()
    assert (cell.workload, others) == (str(trace), [])
    assert error.startswith(f"cannot open {trace}: No such file")
    missing, zipf = done.to_arrow().to_pylist()
    assert (missing["trace"], missing["error"], missing["rmw"]) == (str(trace), error, None)
    assert (zipf["error"], zipf["requests"]) == (None, 1000)
    trace.write_text("128166372003061629,hm,0,Write,8192,4096,100\n")
    assert done.errors() == sweep(grid, tmp_path / "into", cluster=cluster).errors()
    assert sweep(grid, tmp_path / "into", cluster=cluster, retry=True).errors() == {}


def test_a_lost_worker_changes_nothing(cluster: Any, tmp_path: pathlib.Path) -> None:
    grid = GRID | {"options": GRID["options"] | {"seed": list(range(1, 9))}}
    undisturbed = sweep(grid, tmp_path / "undisturbed", cluster=cluster)
    pids = set(cluster.run(os.getpid).values())
    killed: list[tuple[int, int]] = []

    def kill(_: str, done: int, of: int) -> None:
        if not killed:
            killed.append((done, of))
            os.kill(min(pids), signal.SIGKILL)

    # The results of the sweep before are forgotten, so all is done again.
    sweep(grid, tmp_path / "disturbed", cluster=cluster, progress=kill)
    assert killed == [(1, 48)]
    assert files(tmp_path / "disturbed") == files(undisturbed.dataset.folder)
    cluster.wait_for_workers(2, timeout=300)
    assert set(cluster.run(os.getpid).values()) != pids


class Deadly(imbrex.Layer):
    """Ends the process that asks for it."""

    recording = "conventional"

    def __init__(self, space: imbrex.Space, config: dict[str, Any]) -> None:
        os._exit(1)


def test_a_cell_that_ends_its_workers_is_a_row(cluster: Any, tmp_path: pathlib.Path) -> None:
    cluster.cluster.scheduler.allowed_failures = 0
    grid = {"workloads": ["zipf"], "layers": [Deadly, "conventional"], "options": {"requests": 100}}
    done = sweep(grid, tmp_path, cluster=cluster)
    ((cell, error),) = done.errors().items()
    assert cell.layer is Deadly and error.startswith("KilledWorker: ")
    assert done.to_arrow()["layer"].to_pylist() == ["Deadly", "conventional"]
    cluster.wait_for_workers(2, timeout=300)


def test_a_sweep_from_a_shell(cluster: Any, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, into = tmp_path / "grid.toml", tmp_path / "into"
    arguments = [str(file), "-o", str(into), "--cluster", cluster.scheduler.address]
    assert main(arguments) == 1
    assert capsys.readouterr().err == f"error: cannot read {file}: No such file or directory\n"
    file.write_text('workloads = ["zipf"]\nlayers = ["in-place", "nothing"]\n[options]\nrequests = [200, 300]\n')
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert said.out == f"4 runs in {into}, 2 of them failed\n"
    assert said.err.startswith("zipf on nothing: there is no layer 'nothing'; known are conventional")
    file.write_text('workloads = ["zipf"]\nlayers = ["in-place"]\n[options]\nrequests = [200, 300]\n')
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"2 runs in {into}, 0 of them failed\n"
    file.write_text('workloads = ["zipf"]\nlayers = ["in-place", "fifo-log"]\n[options]\nrequests = [200]\n')
    assert main(arguments) == 0
    assert "Nothing had to be cleaned in 1 of them; a smaller `buffer`" in capsys.readouterr().out
    file.write_text('workloads = ["zipf"]\nlayer = ["in-place"]\n')
    assert main(arguments) == 1
    assert capsys.readouterr().err.startswith(f"error: {file}: a grid has no layer; it has workloads, layers")


def test_the_file_that_the_page_shows_is_its_grid(root: pathlib.Path) -> None:
    (shown,) = re.findall(r"^```toml\n(.*?)^```$", (root / "docs/sweeps.md").read_text(), re.MULTILINE | re.DOTALL)
    cells = Grid.of(tomllib.loads(shown)).cells()
    assert len(cells) == 12 and {cell.options["buffer"] for cell in cells} == {"1%", "2%"}
