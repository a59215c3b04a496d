"""Requests of the user's own: nothing is copied, and every way to say them gives the same run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import imbrex
from imbrex import Requests

ROWS = 5000


def columns() -> dict[str, Any]:
    """Requests of whole blocks, in their plainest form."""
    random = np.random.default_rng(1)
    return {
        "arrival_ns": np.cumsum(random.integers(0, 2_000_000, ROWS)) // 1_000_000 * 1_000_000,
        "offset_bytes": random.integers(0, 1 << 20, ROWS) * 4096,
        "bytes": random.integers(1, 9, ROWS) * 4096,
        "write": random.random(ROWS) < 0.6,
    }


def outcome(workload: Any) -> dict[str, Any]:
    """What a replay gives, but for what the workload is called and how long it took."""
    row = imbrex.replay(workload, "fifo-log", buffer="4MiB", verify=True).to_dict()
    for name in ("trace", "trace_format", "replay_seconds", "blocks_per_second"):
        del row[name]
    return row


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program's own reader makes of the same requests in a file."""
    path: Path = tmp_path_factory.mktemp("trace") / "trace.parquet"
    pq.write_table(pa.table(columns()), path)
    return outcome(path)


def operations() -> list[str]:
    return ["write" if write else "read" for write in columns()["write"]]


WAYS: dict[str, Callable[[], Any]] = {
    "NumPy": columns,
    "Polars": lambda: pl.DataFrame(columns()),
    "pandas": lambda: pd.DataFrame(columns()),
    "PyArrow": lambda: pa.table(columns()),
    "a record batch": lambda: pa.table(columns()).to_batches()[0],
    "a stream": lambda: pa.RecordBatchReader.from_batches(
        pa.table(columns()).schema, pa.table(columns()).to_batches(max_chunksize=700)
    ),
    "chunks": lambda: pl.concat([pl.DataFrame(columns())[:123], pl.DataFrame(columns())[123:]], rechunk=False),
    "other integers": lambda: pl.DataFrame(columns()).with_columns(pl.col("bytes").cast(pl.UInt16)),
    "seconds": lambda: columns() | {"arrival_ns": None, "arrival_s": columns()["arrival_ns"] / 1e9},
    "times": lambda: columns() | {"arrival_ns": columns()["arrival_ns"].astype("datetime64[ns]")},
    "durations": lambda: pl.DataFrame(columns()).with_columns(pl.col("arrival_ns").cast(pl.Duration("ns"))),
    "milliseconds": lambda: pl.DataFrame(columns()).with_columns(
        (pl.col("arrival_ns") // 1_000_000).cast(pl.Datetime("ms"))
    ),
    "blocks": lambda: columns()
    | {"offset_bytes": None, "lba": columns()["offset_bytes"] // 4096}
    | {"bytes": None, "blocks": columns()["bytes"] // 4096},
    "words": lambda: pl.DataFrame(columns()).drop("write").with_columns(operation=pl.Series(operations())),
    "categories": lambda: pl.DataFrame(columns())
    .drop("write")
    .with_columns(operation=pl.Series(operations(), dtype=pl.Categorical)),
    "dictionaries": lambda: pa.table(
        {name: column for name, column in columns().items() if name != "write"}
        | {"operation": pa.array(operations()).dictionary_encode()}
    ),
    "flags in bytes": lambda: columns() | {"write": columns()["write"].astype(np.uint8)},
    "an epoch": lambda: columns() | {"arrival_ns": columns()["arrival_ns"] + 1_700_000_000_000_000_000},
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_say_requests_gives_the_same_run(way: str, expected: dict[str, Any]) -> None:
    data = WAYS[way]()
    if isinstance(data, dict):
        data = {name: column for name, column in data.items() if column is not None}
    assert outcome(data) == expected


def addresses(requests: Requests) -> dict[str, list[int]]:
    [batch] = requests.addresses
    return dict(batch)


def test_numpy_columns_lie_where_they_were() -> None:
    data = columns()
    found = addresses(Requests(data))
    for name, column in data.items():
        assert found[name] == [column.ctypes.data], name


def test_arrow_columns_lie_where_they_were() -> None:
    table = pa.table(columns())
    found = addresses(Requests(table))
    for name in table.column_names:
        assert found[name] == [table[name].chunk(0).buffers()[1].address], name


def test_polars_columns_lie_where_they_were() -> None:
    frame = pl.DataFrame(columns())
    found = addresses(Requests(frame))
    for name in frame.columns:
        assert found[name] == [frame[name].to_arrow().buffers()[1].address], name


def test_pandas_numbers_lie_where_they_were() -> None:
    frame = pd.DataFrame({name: column for name, column in columns().items()})
    found = addresses(Requests(frame))
    for name in ("arrival_ns", "offset_bytes", "bytes"):
        assert found[name] == [frame[name].to_numpy().ctypes.data], name


def test_they_outlive_what_they_came_from() -> None:
    requests = Requests(pl.DataFrame(columns()), name="mine", synthetic=True)
    first = imbrex.replay(requests, "fifo-log", requests=1000)
    again = imbrex.replay(requests, "fifo-log", requests=1000)
    assert (first.trace, first.trace_format, first.synthetic, first.requests) == ("mine", "Arrow", True, 1000)
    assert first.latency_ms == again.latency_ms
    assert imbrex.trace.stat(requests)["requests"] == len(requests) == ROWS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arrival_ns": None}, "column arrival_ns or arrival_s is missing; rename the one that holds it, among offset_b"),
        ({"lba": np.arange(ROWS)}, "column offset_bytes stands beside lba; drop one of them"),
        ({"bytes": np.ones(ROWS)}, "column bytes is of type Float64; cast it to integers"),
        ({"bytes": np.ones(3, dtype=int)}, "column bytes has 3 rows and arrival_ns has 5000"),
        ({"bytes": np.ones(2 * ROWS, dtype=int)[::2]}, "column bytes is not contiguous"),
        ({"arrival_ns": np.zeros(ROWS, dtype="datetime64[us]")}, r"column arrival_ns is of type <M8\[us\]; cast it"),
        ({"write": ["read"] * ROWS}, "column write Expected object with __arrow_c_array__"),
    ],
)
def test_columns_that_do_not_fit_are_named(change: dict[str, Any], message: str) -> None:
    data = {name: column for name, column in (columns() | change).items() if column is not None}
    with pytest.raises((imbrex.TraceError, ValueError), match=message):
        Requests(data)


def negative() -> Any:
    data = columns()
    data["offset_bytes"][4321] = -5
    return data


def decreasing() -> Any:
    data = columns()
    data["arrival_ns"][4500] = 1
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (negative, "requests, row 4321: offset_bytes is -5"),
        (decreasing, "requests, row 4500: arrival_ns is 1 after .* in the row before; sort the rows"),
        (lambda: pl.DataFrame(columns())[:3].with_columns(bytes=pl.Series([1, None, 2])), "row 1: bytes is null"),
        (lambda: pl.DataFrame(columns())[:3].with_columns(bytes=1 << 32), "row 0: the length in bytes 4294967296"),
        (
            lambda: pl.DataFrame(columns())[:2].drop("write").with_columns(operation=pl.Series(["read", "rot"])),
            'row 1: operation is "rot", not read, write or trim',
        ),
        (
            lambda: pl.DataFrame(columns())[:2].drop("arrival_ns").with_columns(arrival_s=pl.Series([0.0, float("nan")])),
            'row 1: arrival_s is "NaN"',
        ),
        (lambda: pl.DataFrame(columns())[:0], "requests holds no requests"),
    ],
)
def test_values_that_make_no_sense_are_named(data: Any, message: str) -> None:
    with pytest.raises(imbrex.TraceError, match=message):
        imbrex.replay(data(), "fifo-log")


def test_trims_and_empty_requests_are_understood() -> None:
    frame = pl.DataFrame(
        {
            "arrival_s": [0, 1, 2, 3],
            "lba": [0, 0, 8, 8],
            "blocks": [8, 0, 8, 8],
            "operation": ["WRITE", "w", "Trim", "r"],
        }
    )
    result = imbrex.replay(frame, "log-greedy", capacity="1GiB", verify=True)
    assert (result.write_requests, result.trim_requests, result.read_requests) == (1, 1, 1)
    assert result.irregularities["zero_size"] == 1


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(TypeError, match="not int"):
        Requests(5)  # type: ignore[arg-type]
