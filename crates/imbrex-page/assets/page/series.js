// What happens over time.

const SERIES = [
  ["mean_write_ms", "mean write latency", (at, c) => c.mean_write_ms[at] || null, time, "log"],
  ["mean_read_ms", "mean read latency", (at, c) => c.mean_read_ms[at] || null, time, "log"],
  ["requests_per_second", "requests per second", (at, c) => c.requests[at] / Math.max(c.end_s[at] - c.start_s[at], 1e-9), number],
  ["write_amplification", "write amplification", (at, c) => (c.host_write_blocks[at] ? c.write_amplification[at] : null), number, "log"],
  ["write_hit_ratio", "write hits", (at, c) => (c.host_write_blocks[at] ? c.write_hit_blocks[at] / c.host_write_blocks[at] : null), percent],
  ["rmw", "rewrites (RMW) in each window", (at, c) => c.rmw[at], count],
  ["occupancy", "occupancy", (at, c) => (c.space_blocks?.[at] ? c.used_blocks[at] / c.space_blocks[at] : null), percent],
  ["zones_left", "zones still to convert", (at, c) => c.zones_left[at], count],
];

/** The values of a metric in all windows of a series; an empty list if there is none. */
function valuesOf(series, [, , value]) {
  const columns = series.columns;
  const values = columns.end_s.map((_, at) => value(at, columns));
  return values.some((one) => one) ? values : [];
}

/** The points of a series up to the end of the arrivals, and whether it goes on behind them. */
function pointsOf({ one, values }, end) {
  const points = values.map((value, row) => [one.columns.end_s[row], value]);
  return { points: points.filter(([at]) => at <= end), isCut: points.some(([at]) => at > end) };
}

/** What a line has at a moment: the value of the window that ends next. */
function valueAt({ points }, moment, shown) {
  const point = points.find(([at]) => at >= moment - 1e-6);
  return point ? (point[1] === null ? "–" : shown(point[1])) : "no more windows";
}

/** An axis of values: logarithmic over those of the runs that keep up, so that a late one stretches nothing. */
function valueAxis(lines, shown, isLog) {
  const fair = lines.some((line) => !line.isLate) ? lines.filter((line) => !line.isLate) : lines;
  if (isLog) return logAxis(fair.flatMap((line) => line.points.map(([, value]) => value)), shown);
  return { at: (value) => value, of: (value) => value, max: Infinity, axis: { type: "value", axisLabel: { formatter: shown } } };
}

function seriesChart(all, of) {
  return () => {
    const { metric, isShown, isOn, styleOf, runOf } = of();
    const known = SERIES.find(([key]) => key === metric);
    const [, label, , shown, kind] = known;
    const some = all.filter(isShown).map((one) => ({ one, values: valuesOf(one, known) })).filter(({ values }) => values.length);
    if (!some.length) return null;
    const arrivals = some.map(({ one }) => runOf(one)?.arrival_seconds).filter(Boolean);
    const end = arrivals.length ? 1.01 * Math.max(...arrivals) + 1 : Infinity;
    const isLate = (run) => Boolean(run && behind(run));
    const lines = some.filter(({ one }) => isOn(one)).map((line) => ({ ...line, ...pointsOf(line, end), isLate: isLate(runOf(line.one)) }));
    const scale = valueAxis(lines, shown, kind === "log");
    const late = lines.filter((line) => line.isLate);
    return {
      title: `Over time: ${label}`,
      option: {
        legend: {}, grid: { left: 8, right: 24, top: 36, bottom: 44, containLabel: true },
        tooltip: {
          trigger: "axis", formatter: ([{ value: [ms] }]) =>
            [moment(ms), ...lines.map((line) => `${line.one.name}: ${valueAt(line, ms / 1e3, shown)}`)].join("\n"),
        },
        dataZoom: [{ type: "inside", zoomOnMouseWheel: "ctrl" }, { type: "slider", height: 18, bottom: 6, labelFormatter: moment }],
        // An axis of dates has its marks at round hours and minutes; the replay begins at the first moment there is.
        xAxis: { type: "time", min: 1e3 * Math.min(...some.map(({ one }) => one.columns.start_s[0])), axisLabel: { formatter: moment } },
        yAxis: scale.axis, series: lines.map((line, at) => seriesLine(line, scale, styleOf(line.one, at))),
      },
      height: 340, isLegendElsewhere: all.some(runOf), finds: lateInWords(late),
      says: "A point for each window of the series, at its end. Drag the bar below to look at a part.",
      columns: ["run", "end_s", metric],
      rows: some.flatMap(({ one, values }) => values.map((value, row) => [one.name, one.columns.end_s[row], value])),
    };
  };
}

/** A line; where it leaves the chart because its run is late, that is marked. */
function seriesLine({ one, points, isLate }, scale, style) {
  const inside = points.map(([at, value]) => [1e3 * at, value === null ? null : scale.at(value)]);
  const last = inside.findLast(([, place]) => place !== null && place <= scale.max) ?? [inside[0]?.[0], scale.max];
  const isEarly = last[0] < inside.at(-1)?.[0] / 2;
  const label = { position: isEarly ? "right" : "left", formatter: `${one.name} is late`, color: look.ink, backgroundColor: styled("--ground") };
  const mark = { coord: last, symbol: "circle", symbolSize: 8, label };
  return {
    name: one.name, type: "line", symbolSize: 4, showAllSymbol: false, sampling: "lttb", ...style, data: inside,
    markPoint: isLate && inside.length ? { data: [mark], silent: true } : undefined,
  };
}

function lateInWords(late) {
  if (!late.length) return "";
  const names = late.map(({ one }) => one.name);
  return `${sentence(names, "is", "are", "late")}: what came after the last arrival, or lies beyond all that keep up, is left out.`;
}

/** The distribution of latency and what happens over time: lines of runs, which have one legend. */
function overTime(page, state) {
  const { runs } = state;
  const legend = new Legend(runs, state);
  const runOf = (one) => (one.run === null ? null : page.runs[one.run]);
  const isShown = (one) => one.run === null || (runs.shown.includes(runOf(one)) && workloadOf(runOf(one)) === state.workload);
  const known = SERIES.filter((metric) => page.series.some((one) => valuesOf(one, metric).length));
  const shown = { metric: known[0]?.[0] };
  const plain = (at) => ({ symbol: symbol(at), itemStyle: { color: colour(at) }, lineStyle: { width: 1.8, type: DASHES[Math.floor(at / COLOURS.length) % 3] } });
  const figure = known.length > 0 && new Figure("series", "Over time", seriesChart(page.series, () => ({
    metric: shown.metric, isShown, runOf, isOn: (one) => !runOf(one) || legend.isOn(runOf(one)),
    styleOf: (one, at) => (runOf(one) ? legend.line(runOf(one)) : plain(at)),
  })));
  const distribution = page.runs.length > 0 && new Figure("cdf", "Distribution of latency", cdfChart(runs, () => [runs.lines(state.workload), state.kind], legend));
  const made = [distribution, figure].filter(Boolean);
  legend.changed.push(() => made.forEach((one) => one.change()));
  const pick = choice("Over time, show", known.map(([key, label]) => [key, label]), (key) => { shown.metric = key; figure.change(); });
  const bars = [known.length > 0 && element("div", { class: "bar controls" }, pick.node), page.runs.length > 0 && legend.node];
  return {
    node: element("div", {}, bars, element("div", { class: "figures wide" }, made.map((one) => one.node))),
    fill: () => (page.runs.length ? legend.fill() : made.forEach((one) => one.change())),
  };
}
