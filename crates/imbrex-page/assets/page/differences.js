// Two files of results: what differs between runs of the same workload, layer and drive.

/** Fields that say how long this computer took, and not what was simulated. */
const WALL_CLOCK = ["replay_seconds", "blocks_per_second"];

/** The numbers that are shown beside each other; of a run that is late, how late it is takes the place of its latency. */
const COMPARED = [
  ["late", "keeps up with the arrivals", behind, (late) => `late (${times(late)})`],
  ...METRICS.filter(([key]) => key !== "ratio"),
];

/** Runs of two files that are of the same workload, layer and drive; of the same settings too where one file has several. */
function pairsOf(runs, [a, b]) {
  const of = (source) => runs.all.filter((run) => runs.about.get(run).source === source);
  const key = (run) => [run.trace, run.layer, driveOf(run)].join("\n");
  const [left, right] = [a, b].map((source) => Map.groupBy(of(source), key));
  const exact = (run) => [settingsOf(run), run.buffer_blocks, JSON.stringify(run.options), run.seed].join("\n");
  return [...left].flatMap(([name, some]) => {
    const others = right.get(name) ?? [];
    if (some.length === 1 && others.length === 1) return [[some[0], others[0]]];
    const same = Map.groupBy(others, exact);
    return some.flatMap((run) => { const other = same.get(exact(run))?.shift(); return other ? [[run, other]] : []; });
  });
}

/** What differs between two runs, in the numbers that are shown. */
function changesOf(pair, numbers = COMPARED) {
  return numbers.flatMap(([key, label, value, shown]) => {
    const [a, b] = pair.map((run) => value(run));
    if (a === b || (OF_LATENCY.includes(key) && pair.some(behind))) return [];
    const ratio = a > 0 && b > 0 ? b / a : null;
    // A run that is late in one file alone differs most. What was zero has grown by no factor: it is sorted by its amount.
    const size = ratio ? Math.abs(Math.log(ratio)) : key === "late" ? Infinity : Math.log1p(Math.max(a, b));
    return [{ pair, key, label, a, b, shown, ratio, size }];
  });
}

/** Whether anything at all that was simulated or chosen differs. */
function isOther(pair) {
  const [a, b] = pair.map((run) => JSON.stringify(flat(run).filter(([name]) => !WALL_CLOCK.includes(name))));
  return a !== b;
}

function saidOf({ key, shown }, value) {
  return value === null || value === undefined ? (key === "late" ? "keeps up" : "–") : shown(value);
}

/** A run's layer, with its settings if it is compared on this disk with others too. */
function layerAmong(run, pairs) {
  const isLike = ([one]) => one.layer === run.layer && one.trace === run.trace && driveOf(one) === driveOf(run);
  return pairs.filter(isLike).length > 1 ? `${run.layer} (${settingsOf(run)})` : run.layer;
}

/** The same, and as much more as tells it from the others that are compared. */
function calledAmong(run, pairs) {
  const differ = (of) => new Set(pairs.map(([one]) => of(one))).size > 1;
  return [layerAmong(run, pairs), differ(driveOf) && ` on ${driveOf(run)}`, differ(workloadOf) && ` for ${workloadOf(run)}`].filter(Boolean).join("");
}

function changeInWords(change, pairs, [left, right]) {
  const { pair: [run], key, label, ratio, a, b } = change;
  const what = calledAmong(run, pairs);
  const sides = `${saidOf(change, a)} in ${left}, ${saidOf(change, b)} in ${right}`;
  if (key === "late") return `${what}: ${sides}`;
  return ratio ? `${label} of ${what} is ${times(ratio)} (${sides})` : `${label} of ${what}: ${sides}`;
}

/** What differs, in a sentence or two. */
function differencesInWords(pairs, changes, two) {
  const changed = new Set(changes.map((change) => change.pair));
  const others = pairs.filter((pair) => !changed.has(pair) && isOther(pair)).length;
  const rest = others ? ` ${several(others, "more run")} ${others > 1 ? "differ" : "differs"} only in other fields, which Numbers has.` : "";
  if (!changes.length) return `${pairs.length > 1 ? `All ${pairs.length} runs have` : "The run has"} the same numbers in both files.${rest}`;
  const differ = `${changed.size} of ${several(pairs.length, "run")} ${changed.size > 1 ? "differ" : "differs"}`;
  return `${differ}; the largest: ${changeInWords(changes[0], pairs, two)}.${rest}`;
}

/** The words that name a run, as far as the runs that are compared differ in them, and always its layer. */
function wordsOf(pairs) {
  const words = [["workload", workloadOf], ["layer", (run) => layerAmong(run, pairs)], ["drive", driveOf]];
  return words.filter(([name, of]) => name === "layer" || new Set(pairs.map(([run]) => of(run))).size > 1);
}

/** The section of two files; with more of them, which two is chosen. Nothing if no two hold the same run. */
function differences(runs) {
  const sources = runs.sources();
  const files = sources.flatMap((a, at) => sources.slice(at + 1).map((b) => [a, b])).filter((two) => pairsOf(runs, two).length > 0);
  if (!files.length) return null;
  const said = element("p", { class: "finding" });
  const box = scrolled("differences");
  const state = {};
  const fill = (two) => {
    const pairs = pairsOf(runs, two);
    const changes = pairs.flatMap((pair) => changesOf(pair)).sort((a, b) => (b.size > a.size ? 1 : b.size < a.size ? -1 : 0));
    const words = wordsOf(pairs);
    const named = ({ pair: [run], label }) => [...words.map(([, of]) => of(run)), label];
    const columns = [...words.map(([name]) => name), "number", ...two];
    const rows = changes.map((one) => [...named(one), saidOf(one, one.a), saidOf(one, one.b), one.ratio === null ? "–" : times(one.ratio)]);
    state.saved = csvOf([...columns, "ratio"], changes.map((one) => [...named(one), one.a, one.b, one.ratio]));
    said.textContent = differencesInWords(pairs, changes, two);
    box.hidden = !changes.length;
    box.replaceChildren(tableOf([...columns, `${two[1]} over ${two[0]}`], rows, { numeric: (_, at) => at > words.length }));
  };
  const pick = choice("Files", files.map((two, at) => [at, two.join(" and ")]), (at) => fill(files[at]));
  const csv = element("button", { type: "button", onclick: () => save("differences.csv", "text/csv", state.saved) }, "Differences as CSV");
  fill(files[0]);
  return [said, element("div", { class: "bar controls" }, files.length > 1 && pick.node, csv), box];
}
