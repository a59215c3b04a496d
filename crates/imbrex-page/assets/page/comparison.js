// Runs of a workload beside each other: latency, and what is written and rewritten for it.

const POINTS = [["p50", "p50"], ["p95", "p95"], ["p99", "p99"], ["p999", "p99.9"], ["max", "longest"], ["mean", "mean"]];

/** The run with the least and the one with the most of something, in words. */
function extremes(lines, value, shown, what) {
  const some = lines.filter((line) => line.run && value(line.run) !== null).toSorted((a, b) => value(a.run) - value(b.run));
  const [least, most] = [some[0], some.at(-1)];
  if (!least || value(least.run) === value(most.run)) return least ? `${what} is ${shown(value(least.run))} for ${some.length > 1 ? "all" : least.full}.` : "";
  return `${what} is least for ${least.full}, ${shown(value(least.run))}, and most for ${most.full}, ${shown(value(most.run))}.`;
}

function latencyChart(runs, of) {
  return ({ isNarrow }) => {
    const [lines, kind] = of();
    const value = (run, which) => latencyOf(run, which, kind) || null;
    const timed = lines.filter((line) => line.run && value(line.run, "mean"));
    if (!timed.length) return null;
    const scale = logAxis(timed.flatMap(({ run }) => POINTS.map(([which]) => value(run, which))), time, { isNarrow });
    const points = POINTS.map(([which, label], at) => ({
      name: label, type: "scatter", symbol: symbol(at), symbolSize: which === "mean" ? 13 : 10, itemStyle: { color: colour(at), borderWidth: 0 },
      data: lines.flatMap(({ run }, row) => (run && value(run, which) ? [[scale.at(value(run, which)), row]] : [])),
    }));
    const late = {
      type: "scatter", symbolSize: 0, silent: true, clip: false, data: lines.flatMap(({ run }, row) => (run && behind(run) ? [[scale.min, row]] : [])),
      label: { show: true, position: "right", color: look.ink, formatter: ({ value: [, row] }) => `cannot keep up: ${times(behind(lines[row].run))} the time` },
    };
    return {
      option: {
        legend: { data: POINTS.map(([, label]) => label) }, grid: { left: nameWidth(isNarrow), right: 24, top: 32, bottom: 26 },
        tooltip: linesTooltip(lines, (line) => [line.full, ...POINTS.map(([which, label]) => `${label}: ${time(value(line.run, which))}`)].join("\n")),
        xAxis: scale.axis, yAxis: { ...linesAxis(lines, isNarrow), splitLine: { show: true } },
        series: [...points, late, headingsOf(lines, scale.min, isNarrow)],
      },
      height: linesHeight(lines, 60),
      finds: extremes(timed, (run) => value(run, "p99"), time, "The p99 latency"),
      says: "Arrival to completion, on a logarithmic axis.",
      columns: ["run", ...POINTS.map(([, label]) => `${label} (ms)`)],
      rows: lines.flatMap(({ run, full }) => (run ? [[full, ...POINTS.map(([which]) => value(run, which))]] : [])),
    };
  };
}

function amplificationChart(runs, of) {
  return ({ isNarrow }) => {
    const [lines] = of();
    const parts = REASONS.map((name, at) => ({ name, at, of: (run) => (run.host_write_blocks ? run.media_write_blocks[name] / run.host_write_blocks : 0) }));
    return stackedBars(lines, parts, {
      isNarrow, label: "blocks written to the media for each that the host wrote", unit: "blocks for each of the host's",
      finds: extremes(lines, (run) => run.write_amplification, number, "Write amplification"), columns: ["run", ...REASONS],
    });
  };
}

function eventsChart(runs, of) {
  const kinds = [["rmw", "rewritten (RMW)", 5], ["rmw_free", "appended to (RMW-free)", 2]];
  return ({ isNarrow }) => {
    const [lines] = of();
    const parts = kinds.map(([field, name, at]) => ({ name, at, of: (run) => perThousand(run, run[field]) }));
    return stackedBars(lines, parts, {
      isNarrow, label: "zones, bands or tracks per 1000 requests", unit: "per 1000 requests",
      finds: extremes(lines, (run) => perThousand(run, run.rmw), number, "The number of rewrites per 1000 requests"),
      columns: ["run", ...kinds.map(([, name]) => name)],
    });
  };
}

function cdfChart(runs, of, legend) {
  return ({ isNarrow }) => {
    const [lines, kind] = of();
    const quantiles = (run) => (run.options.untimed || behind(run) ? [] : ((kind ? run.latency_ms[kind] : run.latency_ms).quantiles ?? []));
    const timed = lines.filter(({ run }) => run && quantiles(run).some((ms) => ms > 0));
    if (!timed.length) return null;
    const drawn = timed.filter(({ run }) => legend.isOn(run));
    const scale = logAxis(drawn.flatMap(({ run }) => quantiles(run).map((ms) => Math.max(ms, 1e-4))), time, { isNarrow });
    return {
      option: {
        legend: {}, grid: { left: 8, right: 24, top: 36, bottom: 8, containLabel: true },
        tooltip: { trigger: "item", formatter: (dot) => `${dot.seriesName}\n${percent(dot.value[1])} within ${time(scale.of(dot.value[0]))}` },
        xAxis: scale.axis, yAxis: { type: "value", min: 0, max: 1, axisLabel: { formatter: percent } },
        series: drawn.map(({ run, full }) => ({
          name: full, type: "line", symbolSize: 5, ...legend.line(run), data: quantiles(run).map((ms, at) => [scale.at(Math.max(ms, 1e-4)), QUANTILES[at]]),
        })),
      },
      isLegendElsewhere: true,
      finds: extremes(timed, (run) => quantiles(run)[QUANTILES.indexOf(0.5)] ?? null, time, "The median latency"),
      says: "The part of the requests that took no longer than this.",
      columns: ["run", "part", "latency (ms)"],
      rows: timed.flatMap(({ run, full }) => quantiles(run).map((ms, at) => [full, QUANTILES[at], ms])),
    };
  };
}

/** Workloads in rows and runs in columns, as far as there are several workloads. Choosing one shows its charts. */
function overview(runs, state) {
  const box = scrolled("workloads and runs");
  const fill = () => {
    const metric = METRICS.find(([key]) => key === state.metric);
    const names = [...new Set(runs.shown.map((run) => runs.name(run)))].slice(0, 60);
    const rows = runs.workloads().map((workload) => {
      const by = new Map(runs.of(workload).map((run) => [runs.name(run), run]));
      const cells = names.map((name) => element("td", {}, by.has(name) ? shownOf(by.get(name), metric, runs) : ""));
      const pick = element("button", { type: "button", class: "link", onclick: () => state.choose(workload) }, workload);
      return element("tr", { class: workload === state.workload ? "chosen" : null }, element("th", { scope: "row" }, pick), cells);
    });
    const head = ["workload", ...names].map((name, at) => element("th", { scope: "col", class: at ? "number" : null }, name));
    box.replaceChildren(element("table", { class: names.length > 10 ? "matrix many" : "matrix" },
      element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows)));
  };
  const metric = choice("Show", metricsOf(runs.all).map(([key, label]) => [key, label]), (key) => { state.metric = key; fill(); });
  metric.select.value = state.metric;
  return { node: element("div", {}, element("div", { class: "bar controls" }, metric.node), box), fill };
}

/** The charts of one workload's runs, and what chooses it. */
function comparison(runs, state) {
  const of = () => [runs.lines(state.workload), state.kind];
  const made = [
    new Figure("latency", "Latency", latencyChart(runs, of)), new Figure("amplification", "Write amplification", amplificationChart(runs, of)),
    new Figure("rewrites", "Rewrites and appends", eventsChart(runs, of)),
  ];
  if (runs.all.length > 1) made[0].node.classList.add("whole");
  const workload = choice("Workload", [], (name) => state.choose(name));
  const kind = choice("Latency of", [["", "reads and writes"], ["read", "reads"], ["write", "writes"]], (value) => { state.kind = value; state.refill(); });
  const fill = () => {
    workload.select.replaceChildren(...runs.workloads().map((name) => element("option", { value: name, selected: name === state.workload }, name)));
    made.forEach((one) => one.change());
  };
  const bar = element("div", { class: "bar controls" }, runs.workloads().length > 1 && workload.node, kind.node);
  return { node: element("div", {}, bar, element("div", { class: "figures" }, made.map((one) => one.node))), fill };
}
