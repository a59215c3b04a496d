// The page of a volume that is served: asks the server every second, and draws what it said over the last minutes.

const KEPT = 600;
const KINDS = ["read", "write", "trim", "flush"];

/** What is drawn, from samples of counters that only grow: rates between each two of them. */
class History {
  constructor() { this.samples = []; }

  add(samples) {
    for (const sample of samples) {
      const last = this.samples.at(-1);
      if (last && sample.uptime_s < last.uptime_s) this.samples = [];
      if (!last || sample.uptime_s > last.uptime_s) this.samples.push(sample);
    }
    this.samples.splice(0, this.samples.length - KEPT);
  }

  /** Points of a number that `of` makes of a sample and the one before. */
  points(of) {
    const end = this.samples.at(-1)?.uptime_s ?? 0;
    return this.samples.slice(1).map((sample, at) => [sample.uptime_s - end, of(sample, this.samples[at])]);
  }

  rate(of) {
    return this.points((now, before) => Math.max(0, of(now) - of(before)) / (now.uptime_s - before.uptime_s));
  }

  /** The mean time of the requests of a kind between two samples. */
  latency(kind) {
    return this.points((now, before) => {
      const [a, b] = [now.requests[kind], before.requests[kind]];
      return a.count > b.count ? (a.total_ms - b.total_ms) / (a.count - b.count) : null;
    });
  }
}

function lines(history, shown, all, { type = "value", says = "" } = {}) {
  return () => {
    const some = all().filter(({ points }) => points.some(([, value]) => value));
    return {
      option: {
        legend: {}, grid: { left: 8, right: 16, top: 34, bottom: 8, containLabel: true },
        tooltip: { trigger: "axis", valueFormatter: shown },
        xAxis: { type: "value", max: 0, min: -Math.max(60, Math.min(KEPT, history.samples.length)), axisLabel: { formatter: (s) => (s ? time(s * 1e3) : "now") } },
        yAxis: { type, min: type === "value" ? 0 : undefined, axisLabel: { formatter: shown } },
        series: (some.length ? some : [{ name: "nothing yet", points: [] }]).map(({ name, points }, at) => ({
          name, type: "line", showSymbol: false, connectNulls: false, itemStyle: { color: colour(at) },
          lineStyle: { width: 1.8, type: ["solid", "dashed", "dotted"][at % 3] }, data: points,
        })),
      },
      height: 240, says, columns: ["name", "seconds before now", "value"],
      rows: some.flatMap(({ name, points }) => points.map(([at, value]) => [name, at, value])),
    };
  };
}

function charts(history) {
  const part = (sample, of) => { const runner = sample.runners[0]; return runner && of(runner); };
  const level = (name, of) => ({ name, points: history.points((now) => of(now)) });
  return [
    new Figure("requests", "Requests per second", lines(history, number, () =>
      KINDS.map((kind) => ({ name: kind, points: history.rate((sample) => sample.requests[kind].count) })))),
    new Figure("latency", "Mean latency", lines(history, time, () =>
      KINDS.map((kind) => ({ name: kind, points: history.latency(kind) })), { type: "log", says: "Of the requests that ended in each second." })),
    new Figure("bytes", "Bytes per second", lines(history, bytes, () => [
      { name: "clients read", points: history.rate((sample) => sample.host_read) },
      { name: "clients wrote", points: history.rate((sample) => sample.host_written) },
      { name: "drives wrote", points: history.rate((sample) => sample.media_written) },
    ])),
    new Figure("fill", "How full", lines(history, percent, () => [
      level("buffer, cache or bands", (sample) => part(sample, (runner) => (runner.space_blocks ? runner.used_blocks / runner.space_blocks : null))),
      level("journal", (sample) => part(sample, (runner) => runner.journal_used / Math.max(1, runner.journal_blocks))),
    ])),
    new Figure("cleaning", "Cleaning steps per second", lines(history, number, () =>
      [{ name: "steps", points: history.rate((sample) => sample.steps) }], { says: "Those for writes that wait, in idle time, and asked for." })),
    new Figure("memory", "Memory of the server", lines(history, bytes, () => [level("in use", (sample) => sample.resident_bytes)])),
  ];
}

function warnings(status) {
  const said = [
    [status.dead, `The volume cannot be used any more: ${status.dead}`],
    [status.epochs_ended > 0, `A failed operation has made a layer begin again from its journal, ${count(status.epochs_ended)} times.`],
    [status.units_lost > 0, `The drives have given up ${count(status.units_lost)} zones or bands.`],
    [status.units_read_only > 0, `${count(status.units_read_only)} zones or bands can only be read.`],
    [status.cleaning.over_limit > 0, `${count(status.cleaning.over_limit)} steps of cleaning took longer than ${time(status.cleaning.limit_ms)}; the longest took ${time(status.cleaning.longest_ms)}.`],
    ...Object.entries(status.services ?? {}).map(([name, { restarts, refused }]) =>
      [restarts + refused > 0, `The service ${name} had to begin again ${count(restarts)} times, and ended ${count(refused)} connections without an answer.`]),
    [status.read_only, "The volume is served to be read only; what recovery wrote stays in memory."],
  ];
  return said.filter(([is]) => is).map(([, text]) => element("p", { class: "warning" }, text));
}

const CLEANING = { "when-idle": "when nobody asks for anything", paused: "paused", now: "asked for" };

function tiles(status) {
  const runner = status.runners[0];
  const pairs = [
    ["layer", status.layer], ["capacity", bytes(status.capacity_bytes)], ["served for", time(status.uptime_seconds * 1e3)],
    ["write amplification", number(status.write_amplification)],
    ["writes, p99", time(status.latency.write?.all.p99_ms)], ["writes beside cleaning, p99", time(status.latency.write?.beside_cleaning.p99_ms)],
    ["writes that wait for room", count(runner?.blocked_writes ?? 0)],
    ["cleaning", `${CLEANING[status.cleaning.state] ?? status.cleaning.state}, ${status.cleaning.throttle} %`],
    ["longest step", time(status.cleaning.longest_ms)],
    ["growth", status.growth ? `to ${bytes(status.growth.capacity_bytes)}, ${count(status.growth.zones_left)} zones left` : "none"],
    ["memory", status.resident_bytes ? bytes(status.resident_bytes) : "–"], ["checkpoints", count(status.checkpoints)],
  ];
  return pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
}

async function ask(path) {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(4000) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

function page() {
  const history = new History();
  const state = { units: null };
  const told = element("div", { role: "status", id: "told" });
  const numbers = element("dl", { class: "tiles", id: "numbers" });
  const all = charts(history);
  const map = new Figure("units", "What lies where", unitsChart(() => [state.units, 0]));
  const title = element("h1", {}, "Imbrex volume");
  document.querySelector("main").replaceChildren(
    element("header", { class: "head" }, title, themeButton()), told, numbers,
    element("section", { id: "time" }, element("h2", {}, "The last minutes"), element("div", { class: "figures" }, all.map((one) => one.node))),
    element("section", { id: "where" }, element("h2", {}, "What lies where"), element("div", { class: "figures wide" }, map.node)),
    element("footer", { class: "faint" }, element("p", {}, `This page only reads. Charts: Apache ECharts ${echarts.version}, Apache License 2.0. Metrics for Prometheus are at /metrics.`)));
  return { history, state, told, numbers, all, map, title };
}

async function run() {
  const parts = page();
  let last = null;
  const second = async () => {
    try {
      const [status, samples] = [await ask("status.json"), await ask(`history.json?after=${parts.history.samples.at(-1)?.uptime_s ?? 0}`)];
      last = new Date();
      parts.title.textContent = `${status.layer}, ${bytes(status.capacity_bytes)}`;
      document.title = `Imbrex: ${parts.title.textContent}`;
      parts.told.replaceChildren(...warnings(status));
      parts.numbers.replaceChildren(...tiles(status));
      parts.history.add(samples);
      parts.all.forEach((one) => one.change());
      document.body.dataset.ready = "true";
    } catch {
      const since = last ? ` The last answer came at ${last.toLocaleTimeString()}.` : "";
      parts.told.replaceChildren(element("p", { class: "warning", role: "alert" }, `The server does not answer.${since}`));
      document.body.dataset.silent = "true";
    }
    setTimeout(second, 1000);
  };
  const units = async () => {
    try {
      const [found] = await ask("units.json");
      parts.state.units = found ?? null;
      parts.map.change();
    } catch { /* The other question says that the server does not answer. */ }
    setTimeout(units, 10000);
  };
  second();
  units();
}

run();
