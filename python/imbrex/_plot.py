"""Pictures for notebooks, drawn by Altair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imbrex._native import Error

try:
    import altair
except ImportError as missing:
    raise Error("plot: pictures are drawn by Altair; pip install '.[notebook]' in a clone of Imbrex") from missing

if TYPE_CHECKING:
    from imbrex._results import Comparison, Result

# The part of requests, in percent, that is complete within each of the times in `latency_ms.quantiles`.
QUANTILES = (1, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97, 98, 99, 99.5, 99.8, 99.9, 99.99)


def of_run(result: Result) -> altair.Chart | altair.VConcatChart:
    """The distribution of latencies, and mean latencies over time if that was seen."""
    parts = {"all": result.latency_ms, "read": result.latency_ms["read"], "write": result.latency_ms["write"]}
    points = [
        {"requests": name, "percent": percent, "latency": latency}
        for name, part in parts.items()
        for percent, latency in zip(QUANTILES, part["quantiles"], strict=True)
    ]
    spread = _line(points, "latency", "ms, within which this share was complete", "percent").encode(
        color=altair.Color("requests:N", title=None)
    )
    spread = spread.properties(title=_title(result), width=500, height=200)
    if result.series is None or len(result.series) == 0:
        return spread
    rows = [
        {"at": at, "mean": mean, "requests": requests}
        for requests in ("read", "write")
        for at, mean in zip(result.series["start_s"], result.series[f"mean_{requests}_ms"], strict=True)
    ]
    over_time = _line(rows, "at", "s of simulated time", "mean").encode(color=altair.Color("requests:N", title=None))
    return altair.vconcat(spread, over_time.properties(width=500, height=150))


def _line(rows: list[dict[str, Any]], x: str, x_title: str, y: str) -> altair.Chart:
    titles = {"percent": "% of requests", "mean": "mean latency, ms"}
    scale = altair.Scale(type="log") if x == "latency" else altair.Scale(type="linear")
    chart: altair.Chart = altair.Chart(altair.InlineData(values=rows)).mark_line()
    return chart.encode(x=altair.X(f"{x}:Q", title=x_title, scale=scale), y=altair.Y(f"{y}:Q", title=titles[y]))


def of_comparison(comparison: Comparison) -> altair.HConcatChart:
    """Mean latency and write amplification beside each other."""
    rows = [
        {"layer": run.layer, "workload": run.trace, "mean": run.latency_ms["mean"], "wa": run.write_amplification}
        for run in comparison
    ]
    bars = altair.Chart(altair.InlineData(values=rows)).mark_bar().encode(y=altair.Y("layer:N", sort=None, title=None))
    if len({row["workload"] for row in rows}) > 1:
        bars = bars.encode(row=altair.Row("workload:N", title=None))
    latency = bars.encode(x=altair.X("mean:Q", title="mean latency, ms"))
    amplification = bars.encode(x=altair.X("wa:Q", title="write amplification"))
    return altair.hconcat(latency, amplification)


def _title(result: Result) -> str:
    return f"{result.trace}{' (synthetic)' if result.synthetic else ''} on {result.layer}"
