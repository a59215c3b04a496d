// The answer: which layer serves a workload, how much worse than a conventional disk, and why.

/** With more workloads than this, one at a time has its chart. */
const CHARTS = 4;

/** How fast something is that takes so many times as long as a conventional disk. */
function asFast(ratio) {
  if (ratio >= 0.97 && ratio <= 1.03) return `about as fast as a conventional disk (${times(ratio)} its mean latency)`;
  return ratio > 1 ? `${times(ratio)} as slowly as a conventional disk` : `${times(1 / ratio)} as fast as a conventional disk`;
}

/** What was found of a workload, in one file if there are several: the best runs, those that are late, and by what they are judged. */
function findings(runs, workload, source) {
  const some = runs.of(workload).filter((run) => !source || runs.about.get(run).source === source);
  const all = some.filter((run) => run.layer !== "conventional");
  const kept = all.filter((run) => latencyOf(run, "mean") > 0);
  const isHeld = (run) => { const yardstick = runs.yardstick(run); return yardstick && isSameDisk(run, yardstick); };
  const fair = kept.some(isHeld) ? kept.filter(isHeld) : kept;
  const value = (run) => runs.ratio(run) ?? latencyOf(run, "mean");
  const least = fair.reduce((a, run) => Math.min(a, value(run)), Infinity);
  return {
    some, all, kept, late: all.filter(behind), best: fair.filter((run) => value(run) <= 1.005 * least),
    worst: kept.toSorted((a, b) => value(b) - value(a))[0], isRelative: kept.some((run) => runs.ratio(run) !== null),
  };
}

/** The layers of some runs as a sentence names them, with settings where one layer of all has several. */
function layersOf(runs, some, all) {
  if (some.length > 2 && some.length === all.length) return [`all ${some.length} runs`];
  const settings = (run) => runs.about.get(run).name ?? `${run.layer} (${settingsOf(run)})`;
  const isOne = (run) => new Set(all.filter((one) => one.layer === run.layer).map(settings)).size === 1;
  return [...new Set(some.map((run) => (isOne(run) ? run.layer : settings(run))))];
}

/** What layers do, in a sentence that begins with their names. */
function sentence(names, one, many, rest) {
  const said = `${listed(names)} ${names.length > 1 || names[0].startsWith("all ") ? many : one} ${rest}`;
  return said[0].toUpperCase() === said[0] || !said.startsWith("all ") ? said : `A${said.slice(1)}`;
}

/** The answer in a sentence; of several files, in one for each if they differ. */
function answerOf(runs, workload) {
  const sources = [...new Set(runs.of(workload).map((run) => runs.about.get(run).source))];
  if (sources.length < 2) return answerIn(runs, workload);
  const said = sources.map((source) => answerIn(runs, workload, source));
  return new Set(said).size === 1 ? said[0] : said.map((one, at) => `${sources[at]}: ${one}`).join("; ");
}

function answerIn(runs, workload, source) {
  const { some, all, late, kept, best, isRelative } = findings(runs, workload, source);
  const mean = latencyOf(some[0], "mean");
  if (!all.length && mean !== null) return `A conventional disk serves ${workload} in ${time(mean)} on average`;
  if (!kept.length && !late.length) return writesOf(runs, workload, all.length ? all : some);
  const cannot = late.length > 0 && `${listed(layersOf(runs, late, all))} cannot keep up`;
  if (!kept.length) return `${cannot} with ${workload}`;
  const how = isRelative ? asFast(runs.ratio(best[0])) : `in ${time(latencyOf(best[0], "mean"))} on average`;
  return [sentence(layersOf(runs, best, all), "serves", "serve", `${workload} ${how}`), cannot].filter(Boolean).join("; ");
}

/** The answer where nothing takes time. */
function writesOf(runs, workload, all) {
  const least = all.reduce((a, run) => Math.min(a, run.write_amplification), Infinity);
  const names = layersOf(runs, all.filter((run) => run.write_amplification <= 1.005 * least), all);
  return sentence(names, "writes", "write", `the fewest blocks for ${workload}: ${number(least)} for each that the host wrote`);
}

/** Why: what a run writes and rewrites. */
function costOf(runs, run, all) {
  const [name] = layersOf(runs, [run], all);
  const events = run.rmw ? `${number(perThousand(run, run.rmw))} rewrites per 1000 requests` : "no rewrites";
  const late = behind(run) ? `, and ${times(behind(run))} the time in which the requests arrived` : "";
  return `${name}: write amplification ${number(run.write_amplification)}, ${events}${late}.`;
}

function reasonsOf(runs, workload) {
  const { all, late, best, worst, isRelative, kept } = findings(runs, workload);
  const shown = new Set([best[0], late[0] ?? worst].filter(Boolean));
  const absolute = !isRelative && kept.length > 0 && all.length > 1 && "No conventional disk is among these runs, so times are absolute.";
  return [absolute, ...[...shown].map((run) => costOf(runs, run, all))].filter(Boolean).join(" ");
}

/** What is to be known before the runs of a workload are compared, each once. */
const notesOf = (runs, workload) => [...new Set(runs.of(workload).flatMap((run) => run.notes ?? []))];

/** By what the chart of a workload measures its runs. */
function measureOf(runs, workload) {
  const some = runs.of(workload);
  if (some.some((run) => runs.ratio(run) !== null)) {
    return { of: (run) => runs.ratio(run), shown: times, isOver: true, label: "mean latency over that of a conventional disk", column: "ratio" };
  }
  if (some.some((run) => latencyOf(run, "mean") > 0)) return { of: (run) => latencyOf(run, "mean"), shown: time, label: "mean latency", column: "mean (ms)" };
  return { of: (run) => run.write_amplification || null, shown: number, isOver: true, label: "write amplification", column: "write amplification" };
}

const ANSWER = [
  ["conventional disk", "rect", "#8c8c8c"], ["best on its disk", "diamond", "#009e73"], ["other layers", "circle", "#0072b2"],
  ["cannot keep up", "arrow", "#d55e00"],
];

/** Which of these a line belongs to; the nearest of each disk is the first behind the conventional layer. */
function kindsOf(lines, value) {
  let isFirst = true;
  return lines.map((line) => {
    if (line.heading) { isFirst = true; return null; }
    if (behind(line.run)) return 3;
    if (line.run.layer === "conventional") return 0;
    const is = isFirst && value(line.run) !== null;
    isFirst &&= !is;
    return is ? 1 : 2;
  });
}

/** A point for each run with its number, and a line to it from the conventional disk. */
function answerChart(runs, workload) {
  return ({ isNarrow }) => {
    const lines = runs.lines(workload);
    const measure = measureOf(runs, workload);
    const kinds = kindsOf(lines, measure.of);
    const values = lines.map((line) => (line.run && !behind(line.run) ? measure.of(line.run) : null));
    if (!values.some((value) => value > 0)) return null;
    const isLate = kinds.includes(3);
    const isLess = (value) => !isNarrow && measure.isOver && value !== null && value < 1;
    // The numbers of what takes less time stand on the other side, so that the line at 1 does not cross them.
    const room = { before: values.some(isLess) ? 0.08 : 0, beyond: isLate ? 0.08 : 0 };
    const scale = logAxis([...values, measure.isOver ? 1 : null], measure.shown, { isNarrow, ...room });
    const from = measure.isOver ? 0 : scale.min;
    const point = (row, kind) => ({
      value: [kind === 3 ? scale.max : scale.at(values[row]), row], symbolRotate: kind === 3 ? -90 : 0,
      label: {
        formatter: kind === 3 ? lateLabel(lines[row].run, isNarrow) : measure.shown(values[row]),
        position: kind === 3 || isLess(values[row]) ? "left" : "right", fontWeight: kind === 1 ? "bold" : "normal",
      },
    });
    const sticks = values.flatMap((value, row) => (value > 0 ? [[{ coord: [from, row] }, { coord: [scale.at(value), row] }]] : []));
    const one = measure.isOver ? [{ xAxis: 0, lineStyle: { type: "solid", width: 1.5, opacity: 1, color: look.ink } }] : [];
    const series = ANSWER.map(([name, shape, tint], kind) => ({
      name, type: "scatter", symbol: shape, symbolSize: 12, clip: false, itemStyle: { color: tint, opacity: 1, borderWidth: 0 },
      label: { show: true, color: look.ink }, data: kinds.flatMap((of, row) => (of === kind && (kind === 3 || values[row] > 0) ? [point(row, kind)] : [])),
      markLine: kind === 2 ? {
        silent: true, symbol: "none", label: { show: false }, lineStyle: { type: "solid", width: 3, opacity: 0.3, color: tint }, data: [...sticks, ...one],
      } : undefined,
    }));
    return {
      title: `${workload}: ${measure.label}`,
      option: {
        legend: { data: series.filter((one) => one.data.length).map((one) => one.name) },
        grid: { left: nameWidth(isNarrow), right: isNarrow ? 64 : 84, top: 32, bottom: 46 },
        tooltip: linesTooltip(lines, (line) => tooltipOf(runs, line)),
        xAxis: { ...scale.axis, name: `${measure.label}${isNarrow ? "" : ", logarithmic"}`, nameLocation: "middle", nameGap: 28 },
        yAxis: linesAxis(lines, isNarrow), series: [...series, headingsOf(lines, scale.min, isNarrow)],
      },
      height: linesHeight(lines, 86), finds: `${answerOf(runs, workload)}.`, isSaidAbove: true,
      says: isLate ? "What cannot keep up with the arrivals has no latency worth a name, and no place on the axis." : "",
      columns: ["disk", "run", measure.column, "mean (ms)", "took over arrivals"],
      rows: lines.flatMap((line, row) => (line.run ? [[runs.diskOf(line.run), line.name, values[row], latencyOf(line.run, "mean"), behind(line.run)]] : [])),
    };
  };
}

const lateLabel = (run, isNarrow) => `${isNarrow ? "late" : "cannot keep up: took"} ${times(behind(run))}${isNarrow ? "" : " the time"}`;

function tooltipOf(runs, line) {
  return [line.full, ...metricsOf([line.run]).map((metric) => `${metric[1]}: ${shownOf(line.run, metric, runs)}`)].join("\n");
}

/** One run alone has no chart of others: its numbers are the answer. */
function tilesOf(runs, run) {
  const shown = metricsOf([run]).filter(([key]) => key !== "ratio" || runs.ratio(run) !== null);
  return element("dl", { class: "tiles" }, shown.map((metric) => element("div", {}, element("dt", {}, metric[1]), element("dd", {}, shownOf(run, metric, runs)))));
}

/** For each workload the answer in words and a chart; with many, a list of answers and the chart of the one that is chosen. */
function answers(runs, state) {
  const made = new Map();
  const part = (workload, at) => {
    if (!made.has(workload)) {
      const figure = new Figure(`answer-${made.size}`, `${workload}: layers`, answerChart(runs, workload));
      made.set(workload, { figure, node: element("section", { class: "answer" }) });
    }
    const { figure, node } = made.get(workload);
    const some = runs.of(workload);
    node.id = `answer-to-${at}`;
    node.replaceChildren(element("h2", {}, `${answerOf(runs, workload)}.`), element("p", {}, reasonsOf(runs, workload)),
      ...notesOf(runs, workload).map((note) => element("p", { class: "faint" }, note)),
      some.length > 1 ? figure.node : tilesOf(runs, some[0]));
    if (some.length > 1) figure.change();
    return node;
  };
  const box = element("div", { id: "answers" });
  const fill = () => {
    const workloads = runs.workloads();
    const isMany = workloads.length > CHARTS;
    const pick = (workload) => element("li", {},
      element("button", { type: "button", class: "link", onclick: () => state.choose(workload) }, `${answerOf(runs, workload)}.`));
    box.replaceChildren(...(isMany ? [scrolled("answers", element("ul", {}, workloads.map(pick)))] : []),
      ...(isMany ? [state.workload] : workloads).map(part));
  };
  return { node: box, fill };
}
