"""Fleets: space and latency follow from the runs behind them, and the policies differ as they must."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

import imbrex
from imbrex import Kind, fleet

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Threads of this process: nothing here depends on what kind of worker it is."""
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as local:
        with distributed.Client(local) as client:
            yield client


ASKED: dict[str, Any] = {
    "kinds": [Kind("zone-alloy", "small-hybrid", share=3), Kind("conventional", "conventional-7200")],
    "workloads": ["zipf", "hot-cold"],
    "drives": 500,
    "wanted": [0.0, 0.3, 0.6],
    "steps": 4,
    "seeds": 1,
    "options": {"requests": 300, "buffer": "256blocks"},
}


def test_a_fleet_grows_as_its_policies_say(client: Any, tmp_path: pathlib.Path) -> None:
    grown = fleet(**ASKED, into=tmp_path, cluster=client)
    of = {(period.policy, period.period): period for period in grown.periods}
    assert len(of) == 9 and grown.drives == 500 and len(grown.sweep) < 60
    at_once, first, gradually = "at once", "from the first", "gradually"
    # Nobody wants anything at first: nothing is turned, but for what was from the first.
    assert of[gradually, 0].capacity_bytes == of[at_once, 0].capacity_bytes == of[gradually, 0].wanted_bytes
    assert len({of[first, period].capacity_bytes for period in range(3)}) == 1
    # Then there is all, or what is wanted and less than a step more.
    assert of[at_once, 1].capacity_bytes == of[first, 1].capacity_bytes > of[gradually, 1].capacity_bytes
    assert of[gradually, 1].capacity_bytes >= of[gradually, 1].wanted_bytes > of[gradually, 0].wanted_bytes
    assert of[gradually, 2].capacity_bytes > of[gradually, 1].capacity_bytes
    converting = [[of[policy, period].converting for period in range(3)] for policy in (gradually, at_once, first)]
    elastic = converting[1][1]
    assert 330 < elastic < 420 and converting[1:] == [[0, elastic, 0], [0, 0, 0]]
    assert converting[0][1] == elastic and 0 < converting[0][2] <= elastic
    # The rows behind a period are what replay says.
    shared = {cell.layer_name: cell for cell in grown.sweep.cells if cell.workload == "zipf"}
    plain = shared["conventional"]
    row = next(row for row in grown.sweep.to_arrow().to_pylist() if row["run"] == plain.key)
    one = imbrex.replay("zipf", "conventional", drive=plain.drive, **plain.options)
    assert row["latency_ms.mean"] == one.latency_ms["mean"]
    table = grown.to_arrow()
    assert table.num_rows == 9 and table["mean_ms"].to_pylist() == [period.mean_ms for period in grown.periods]


def test_the_figure_has_all_policies(client: Any, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("altair")
    shown = fleet(**ASKED | {"drives": 20}, into=tmp_path, cluster=client).plot().to_dict()
    assert len(shown["vconcat"]) == 3


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"kinds": []}, "at least one of each"),
        ({"wanted": [0.5, 0.2]}, "is not turned back"),
        ({"workloads": ["nothing"]}, "no built-in workload nothing"),
    ],
)
def test_what_is_no_fleet_is_said(part: dict[str, Any], message: str, client: Any, tmp_path: pathlib.Path) -> None:
    with pytest.raises(imbrex.Error, match=message):
        fleet(**ASKED | part, into=tmp_path, cluster=client)
