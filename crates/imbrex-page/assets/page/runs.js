// Runs beside each other: which are shown, how they are called, and their charts.

const REASONS = ["host", "collect", "destage", "swap", "migrate", "neighbour", "pad", "metadata", "promote"];
const METRICS = [
  ["mean", "mean latency", (run) => latencyOf(run, "mean"), time],
  ["p99", "p99 latency", (run) => latencyOf(run, "p99"), time],
  ["p999", "p99.9 latency", (run) => latencyOf(run, "p999"), time],
  ["wa", "write amplification", (run) => run.write_amplification, number],
  ["rmw", "rewrites (RMW)", (run) => run.rmw, count],
  ["hits", "write hits", (run) => run.write_hit_ratio, percent],
  ["busy", "disk busy", (run) => run.disk_busy_ratio, percent],
  ["speed", "replayed blocks/s", (run) => run.blocks_per_second, count],
];

/** How many times the arrivals' time a run took that cannot keep up with them, else nothing. */
function behind(run) {
  const [took, arrived] = [run.simulated_seconds, run.arrival_seconds];
  const isLate = arrived !== null && arrived !== undefined && took > 1.1 * arrived && took > arrived + 10;
  return isLate ? took / arrived : null;
}

function latencyOf(run, which, kind) {
  if (run.options.untimed || behind(run)) return null;
  return (kind ? run.latency_ms[kind] : run.latency_ms)?.[which] ?? null;
}

const workloadOf = (run) => run.trace.split("/").pop() + (run.synthetic ? " (synthetic)" : "");
const driveOf = (run) => `${run.drive}, ${bytes(run.drive_blocks * run.block_bytes)}`;

/** The runs of the page, by workload, and each one's name among those of its workload. */
class Runs {
  constructor(rows) {
    this.all = rows;
    this.shown = rows;
    this.names = new Map();
    for (const group of Map.groupBy(rows, workloadOf).values()) this.call(group);
  }

  /** A name is the layer, and as much more as tells the runs of a workload apart. */
  call(group) {
    const parts = [
      (run) => run.layer,
      (run) => run.drive,
      (run) => (Object.keys(run.config ?? {}).length ? flat(run.config).map(([key, value]) => `${key}=${value}`).join(" ") : "defaults"),
      (run) => driveOf(run),
      (run) => bytes(run.buffer_blocks * run.block_bytes),
      (run) => `seed ${run.seed}`,
    ];
    const layers = new Set(group.map((run) => run.layer)).size === group.length;
    const drives = new Set(group.map((run) => run.drive)).size > 1;
    const used = [parts[0], ...(drives ? [parts[1]] : [])];
    for (const part of layers ? [] : parts.slice(2)) {
      const name = (run) => used.map((one) => one(run)).join(", ");
      if (new Set(group.map(name)).size === group.length) break;
      if (new Set(group.map(part)).size > 1) used.push(part);
    }
    const taken = new Map();
    for (const run of group) {
      const name = used.map((part) => part(run)).join(", ");
      const nth = (taken.get(name) ?? 0) + 1;
      taken.set(name, nth);
      this.names.set(run, nth > 1 ? `${name} (${nth})` : name);
    }
  }

  name(run) { return this.names.get(run); }
  workloads() { return [...new Set(this.shown.map(workloadOf))]; }
  of(workload) { return this.shown.filter((run) => workloadOf(run) === workload); }
}

/** Fields of all levels, named as in CSV. */
function flat(value, name = "") {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [[name, value]];
  return Object.entries(value).flatMap(([key, inner]) => flat(inner, name ? `${name}.${key}` : key));
}

const POINTS = [["p50", "p50"], ["p95", "p95"], ["p99", "p99"], ["p999", "p99.9"], ["max", "longest"], ["mean", "mean"]];

function latencyChart(runs, of) {
  return () => {
    const [shown, kind] = of();
    const names = shown.map((run) => (behind(run) ? `${runs.name(run)}\ncannot keep up: ${number(behind(run))} ×` : runs.name(run)));
    const value = (run, which) => latencyOf(run, which, kind) || null;
    if (!shown.some((run) => value(run, "mean"))) return null;
    const series = POINTS.map(([which, label], at) => ({
      name: label, type: "scatter", symbol: symbol(at), symbolSize: which === "mean" ? 13 : 10,
      itemStyle: { color: colour(at) }, data: shown.flatMap((run, row) => (value(run, which) ? [[value(run, which), row]] : [])),
    }));
    return {
      option: {
        legend: {}, grid: { left: 8, right: 24, top: 36, bottom: 8, containLabel: true },
        tooltip: { trigger: "item", formatter: (dot) => `${runs.name(shown[dot.value[1]])}\n${dot.seriesName}: ${time(dot.value[0])}` },
        xAxis: { type: "log", axisLabel: { formatter: time } },
        yAxis: { type: "category", data: names, inverse: true, axisLabel: { width: 190, overflow: "break", lineHeight: 14 }, splitLine: { show: true } },
        series,
      },
      height: 90 + 38 * shown.length,
      says: "Arrival to completion, on a logarithmic axis. A layer that cannot keep up with the arrivals has no latency worth a name.",
      columns: ["run", ...POINTS.map(([, label]) => `${label} (ms)`)],
      rows: shown.map((run) => [runs.name(run), ...POINTS.map(([which]) => value(run, which))]),
    };
  };
}

function cdfChart(runs, of) {
  return () => {
    const [shown, kind] = of();
    const quantiles = (run) => (run.options.untimed || behind(run) ? [] : ((kind ? run.latency_ms[kind] : run.latency_ms).quantiles ?? []));
    const has = shown.filter((run) => quantiles(run).some((ms) => ms > 0));
    if (!has.length) return null;
    const points = (run) => quantiles(run).map((ms, at) => [Math.max(ms, 1e-4), QUANTILES[at]]);
    return {
      option: {
        legend: {}, grid: { left: 8, right: 24, top: 36, bottom: 24, containLabel: true },
        tooltip: { trigger: "item", formatter: (dot) => `${dot.seriesName}\n${percent(dot.value[1])} within ${time(dot.value[0])}` },
        xAxis: { type: "log", axisLabel: { formatter: time } },
        yAxis: { type: "value", min: 0, max: 1, axisLabel: { formatter: percent } },
        series: has.map((run, at) => ({
          name: runs.name(run), type: "line", symbol: symbol(at), symbolSize: 5, itemStyle: { color: colour(at) },
          lineStyle: { width: 2, type: at < COLOURS.length ? "solid" : "dashed" }, data: points(run),
        })),
      },
      says: "The part of the requests that took no longer than this.",
      columns: ["run", "part", "latency (ms)"],
      rows: has.flatMap((run) => quantiles(run).map((ms, at) => [runs.name(run), QUANTILES[at], ms])),
    };
  };
}

function stackedBars(names, parts, { label, says, columns }) {
  const some = parts.filter((part) => part.values.some((value) => value > 0));
  if (!some.length) return null;
  return {
    option: {
      legend: {}, grid: { left: 8, right: 40, top: 36, bottom: 8, containLabel: true },
      tooltip: { trigger: "axis", axisPointer: { type: "shadow" }, valueFormatter: number },
      xAxis: { type: "value", name: label, nameLocation: "middle", nameGap: 26, axisLabel: { formatter: number } },
      yAxis: { type: "category", data: names, inverse: true, axisLabel: { width: 190, overflow: "break", lineHeight: 14 } },
      series: some.map((part) => ({
        name: part.name, type: "bar", stack: "all", barMaxWidth: 22, itemStyle: { color: colour(part.at) }, data: part.values,
      })),
    },
    height: 100 + 34 * names.length, says, columns,
    rows: names.map((name, row) => [name, ...parts.map((part) => part.values[row])]),
  };
}

function amplificationChart(runs, of) {
  return () => {
    const [shown] = of();
    const part = (run, why) => (run.host_write_blocks ? run.media_write_blocks[why] / run.host_write_blocks : 0);
    const parts = REASONS.map((name, at) => ({ name, at, values: shown.map((run) => part(run, name)) }));
    return stackedBars(shown.map((run) => runs.name(run)), parts, {
      label: "blocks written to the media for each that the host wrote", says: "By the reason of the write; all parts together are the write amplification. Leave runs out above to see small ones beside large ones.",
      columns: ["run", ...REASONS],
    });
  };
}

function eventsChart(runs, of) {
  const kinds = [["rmw", "rewritten (RMW)"], ["rmw_free", "appended to (RMW-free)"]];
  return () => {
    const [shown] = of();
    const parts = kinds.map(([field, name], at) => ({ name, at: at ? 2 : 5, values: shown.map((run) => run[field]) }));
    return stackedBars(shown.map((run) => runs.name(run)), parts, {
      label: "zones, bands or tracks", says: "", columns: ["run", ...kinds.map(([, name]) => name)],
    });
  };
}

/** Workloads in rows and runs in columns, as far as there are several workloads. Choosing one shows its charts. */
function overview(runs, state, choose) {
  const box = element("div", { class: "scroll" });
  const fill = () => {
    const [, , value, shown] = METRICS.find(([key]) => key === state.metric);
    const workloads = runs.workloads();
    const names = [...new Set(runs.shown.map((run) => runs.name(run)))].slice(0, 60);
    const rows = workloads.map((workload) => {
      const by = new Map(runs.of(workload).map((run) => [runs.name(run), run]));
      const cells = names.map((name) => {
        const run = by.get(name);
        if (!run) return element("td", {}, "");
        return element("td", {}, behind(run) && state.metric.match(/^(mean|p99)/) ? `late ${number(behind(run))} ×` : shown(value(run)));
      });
      const pick = element("button", { type: "button", onclick: () => choose(workload) }, workload);
      return element("tr", { class: workload === state.workload ? "chosen" : null }, element("th", { scope: "row" }, pick), cells);
    });
    const head = ["workload", ...names].map((name, at) => element("th", { scope: "col", class: at ? "number" : null }, name));
    box.replaceChildren(element("table", { class: "matrix" }, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows)));
  };
  const metric = choice("Show", METRICS.map(([key, label]) => [key, label]), (key) => { state.metric = key; fill(); });
  return { node: element("div", {}, element("div", { class: "bar controls" }, metric.node), box), fill };
}
