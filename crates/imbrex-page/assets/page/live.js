// The page of a served volume: asks the server every second, and shows what it answers.

const KEPT = 600;
const KINDS = ["read", "write", "trim", "flush"];

const requestsOf = (kind) => (sample) => sample.requests[kind].count;
const stepsOf = (sample) => sample.steps;

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

  /** How much a counter has grown in the last seconds. */
  grown(of, seconds) {
    const last = this.samples.at(-1);
    const first = this.samples.find((sample) => sample.uptime_s >= last.uptime_s - seconds);
    return last ? of(last) - of(first) : 0;
  }

  /** How much time it covers, in words. */
  span() {
    const seconds = this.samples.at(-1).uptime_s - this.samples[0].uptime_s;
    return seconds < 60 ? several(Math.max(1, Math.round(seconds)), "second") : several(Math.round(seconds / 60), "minute");
  }
}

async function ask(path) {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(4000) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

/** The parts of the page, empty. */
function page() {
  const state = { status: null, units: null, events: "" };
  const history = new History();
  const [told, numbers, idle, fills, events] = ["told", "numbers", "idle", "fills", "events"].map((id) => element("div", { id }));
  told.setAttribute("role", "status");
  numbers.className = "groups";
  idle.className = "faint";
  const all = charts(history, () => state.status?.runners[0]?.space ?? "buffer");
  const map = new Figure("units", "What lies where", unitsChart(() => [state.units && !isEmptyMap(state.units) ? state.units : null, 0]));
  const empty = element("p", { class: "faint", hidden: true }, "Nothing has been written yet.");
  const title = element("h1", {}, "Imbrex volume");
  document.querySelector("main").replaceChildren(
    element("header", { class: "head" }, title, themeButton()), told, numbers,
    element("section", { id: "time" }, element("h2", {}, "Last ten minutes"), idle, element("div", { class: "figures" }, all.map((one) => one.node))),
    element("section", { id: "happened" }, element("h2", {}, "Events"), events),
    element("section", { id: "where" }, element("h2", {}, "What lies where"), fills, empty, element("div", { class: "figures wide" }, map.node)),
    element("footer", { class: "faint" }, element("p", {}, `This page only reads. Charts: Apache ECharts ${echarts.version}, Apache License 2.0. Metrics for Prometheus are at /metrics.`)));
  return { history, state, told, numbers, idle, fills, events, all, map, empty, title };
}

/** Shows how the volume stands, and what it did since the last answer. */
function show(parts, status, samples) {
  parts.state.status = status;
  parts.history.add(samples);
  parts.title.textContent = `${status.layer}, ${bytes(status.capacity_bytes)}`;
  document.title = `Imbrex: ${parts.title.textContent}`;
  parts.told.replaceChildren(...warnings(status));
  parts.numbers.replaceChildren(...cards(status, parts.history));
  parts.idle.textContent = idleInWords(parts.history);
  parts.fills.replaceChildren(...fillBars(status));
  parts.all.forEach((one) => one.change());
}

/** Does something now, and again so long after each time. What fails is done again too. */
function again(ms, act, failed = () => {}) {
  const once = () => act().catch(failed).finally(() => setTimeout(once, ms));
  once();
}

function run() {
  const parts = page();
  let last = null;
  again(1000, async () => {
    const [status, samples] = [await ask("status.json"), await ask(`history.json?after=${parts.history.samples.at(-1)?.uptime_s ?? 0}`)];
    last = new Date();
    show(parts, status, samples);
    document.body.dataset.ready = "true";
  }, () => {
    const since = last ? ` The last answer came at ${last.toLocaleTimeString()}.` : "";
    parts.told.replaceChildren(element("p", { class: "warning", role: "alert" }, `The server does not answer.${since}`));
    document.body.dataset.silent = "true";
  });
  // Where these fail, the question above says so.
  again(2000, async () => {
    const events = await ask("events.json");
    const told = JSON.stringify(events);
    if (told === parts.state.events) return;
    parts.state.events = told;
    parts.events.replaceChildren(eventsTable(events));
  });
  again(10000, async () => {
    const [found] = await ask("units.json");
    parts.state.units = found ?? null;
    parts.empty.hidden = !found || !isEmptyMap(found);
    parts.map.change();
  });
}

run();
