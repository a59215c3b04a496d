// What happens over time.

const SERIES = [
  ["mean_write_ms", "mean write latency", (at, c) => c.mean_write_ms[at] || null, time, "log"],
  ["mean_read_ms", "mean read latency", (at, c) => c.mean_read_ms[at] || null, time, "log"],
  ["requests_per_second", "requests per second", (at, c) => c.requests[at] / Math.max(c.end_s[at] - c.start_s[at], 1e-9), number],
  ["write_amplification", "write amplification", (at, c) => (c.host_write_blocks[at] ? c.write_amplification[at] : null), number],
  ["write_hit_ratio", "write hits", (at, c) => (c.host_write_blocks[at] ? c.write_hit_blocks[at] / c.host_write_blocks[at] : null), percent],
  ["rmw", "rewrites (RMW)", (at, c) => c.rmw[at], count],
  ["occupancy", "occupancy", (at, c) => (c.space_blocks?.[at] ? c.used_blocks[at] / c.space_blocks[at] : null), percent],
  ["zones_left", "zones still to convert", (at, c) => c.zones_left[at], count],
];

/** The values of a metric in all windows of a series; an empty list if there is none. */
function valuesOf(series, [, , value]) {
  const columns = series.columns;
  const values = columns.end_s.map((_, at) => value(at, columns));
  return values.some((one) => one) ? values : [];
}

function seriesChart(all, of) {
  return () => {
    const [metric, isShown] = of();
    const known = SERIES.find(([key]) => key === metric);
    const [, label, , shown, scale] = known;
    const lines = all.filter(isShown).map((one) => ({ one, values: valuesOf(one, known) })).filter(({ values }) => values.length);
    if (!lines.length) return null;
    return {
      option: {
        legend: {}, grid: { left: 8, right: 24, top: 36, bottom: 60, containLabel: true },
        tooltip: { trigger: "axis", valueFormatter: shown },
        dataZoom: [{ type: "inside", zoomOnMouseWheel: "ctrl" }, { type: "slider", height: 18, bottom: 6 }],
        xAxis: { type: "value", min: "dataMin", max: "dataMax", axisLabel: { formatter: (s) => time(s * 1e3) } },
        yAxis: { type: scale ?? "value", name: label, nameTextStyle: { align: "left" }, axisLabel: { formatter: shown } },
        series: lines.map(({ one, values }, at) => ({
          name: one.name, type: "line", symbol: symbol(at), symbolSize: 4, showAllSymbol: false, sampling: "lttb", itemStyle: { color: colour(at) },
          lineStyle: { width: 1.6, type: at < COLOURS.length ? "solid" : "dashed" },
          data: values.map((value, row) => [one.columns.end_s[row], value]),
        })),
      },
      height: 360, says: "A point for each window of the series, at its end. Drag the bar below to look at a part.",
      columns: ["run", "end_s", metric],
      rows: lines.flatMap(({ one, values }) => values.map((value, row) => [one.name, one.columns.end_s[row], value])),
    };
  };
}
