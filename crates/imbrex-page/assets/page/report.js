// The report: what its parts show, and how a choice in one changes the others.

/** The data of the page, which lie in it compressed. */
async function unpack() {
  const raw = atob(document.getElementById("data").textContent.trim());
  const packed = new Blob([Uint8Array.from(raw, (one) => one.charCodeAt(0))]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

const section = (id, title, ...parts) => element("section", { id }, element("h2", {}, title), parts);

function header(page, sections, choose) {
  const rows = page.sheets.flatMap((sheet) => sheet.rows).filter((row) => typeof row.synthetic === "boolean");
  const replayed = [...page.runs, ...page.series, ...page.units, ...rows];
  const synthetic = replayed.filter((one) => one.synthetic).length;
  const says = synthetic === replayed.length ? "synthetic" : "partly synthetic";
  const isSynthetic = synthetic > 0 || page.claims.some((claim) => claim.data !== "real");
  return element("header", {}, element("div", { class: "head" },
    element("h1", {}, page.title, isSynthetic && element("span", { class: "badge" }, synthetic ? says : "partly synthetic")), themeButton()),
    isSynthetic && element("p", { class: "faint" }, "Synthetic: no disk ever saw these requests; they were made after published figures or by a rule."),
    element("nav", { "aria-label": "sections" }, sections.map((one) => element("a", { href: `#${one.id}` }, one.querySelector("h2").textContent))), choose);
}

/** The parts that are there, in the order in which they are read: the answer first. */
function parts(page, state) {
  const { runs } = state;
  const made = [];
  const add = (part) => { state.fills.push(part.fill); return part.node; };
  if (page.said.length) made.push(section("said", "In short", page.said.map((one) => element("p", {}, one))));
  const differing = differences(runs);
  if (differing) made.push(section("differences", "What differs", differing));
  if (page.claims.length) made.push(section("claims", "Claims", claimsSection(page.claims)));
  const before = made.length;
  const answer = page.runs.length > 0 && add(answers(runs, state));
  if (runs.workloads().length > 1) made.push(section("workloads", "All workloads", add(overview(runs, state))));
  if (page.runs.length) made.push(section("compare", page.runs.length > 1 ? "Latency, writes and rewrites" : "What it cost", add(comparison(runs, state))));
  const time = page.series.length ? "Distribution, and over time" : "Distribution";
  if (page.series.length || page.runs.length) made.push(section("time", time, add(overTime(page, state))));
  if (page.steps.length) made.push(section("steps", "Step by step", stepsSection(page.steps)));
  if (page.units.length) made.push(section("where", "What lies where", unitMaps(page.units)));
  if (page.sheets.length) made.push(section("sheets", page.runs.length || page.claims.length ? "Other results" : "Results", page.sheets.flatMap(sheetSection)));
  if (page.runs.length) made.push(section("table", "Numbers", add(numbers(runs))));
  return { answer, before, made };
}

/** Series and maps are called as the run that they are of. */
function nameParts(page, runs) {
  for (const one of [...page.series, ...page.units, ...page.steps]) {
    const run = page.runs[one.run];
    one.name = run ? runs.name(run) : `${one.trace.split("/").pop()} on ${one.layer}`;
  }
  if (runs.workloads().length < 2) return;
  for (const one of [...page.units, ...page.steps]) if (one.run !== null) one.name = `${workloadOf(page.runs[one.run])}: ${one.name}`;
}

async function show() {
  const page = await unpack();
  const runs = new Runs(page.runs, page.about);
  nameParts(page, runs);
  const state = { runs, metric: "mean", kind: "", workload: runs.workloads()[0], fills: [] };
  state.refill = () => state.fills.forEach((fill) => fill());
  state.choose = (name) => { state.workload = name; state.refill(); };
  const chosen = filters(page.runs, (shown) => {
    runs.shown = shown;
    if (!runs.workloads().includes(state.workload)) state.workload = runs.workloads()[0];
    state.refill();
  });
  const { answer, before, made } = parts(page, state);
  const foot = element("footer", { class: "faint" }, element("hr"), page.command && element("p", {}, "Made by ", element("code", {}, page.command)), element("p", {},
    `${page.program}. Charts: Apache ECharts ${echarts.version}, Apache License 2.0. This page loads nothing from anywhere.`));
  const choose = page.runs.length > 1 && element("details", { class: "choose", id: "choose" }, element("summary", {}, "Choose runs: ", chosen.told), chosen.node);
  document.querySelector("main").replaceChildren(...[header(page, made, choose), ...made.slice(0, before), answer, ...made.slice(before), foot].filter(Boolean));
  if (page.runs.length) chosen.apply();
  document.body.dataset.ready = "true";
}

show().catch((problem) => {
  document.querySelector("main").replaceChildren(element("p", { class: "warning", role: "alert" }, `This page cannot be shown: ${problem.message}`));
  throw problem;
});
