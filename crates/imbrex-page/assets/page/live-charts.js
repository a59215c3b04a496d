// The charts of a served volume: the last ten minutes.

/** The steps of an axis of bytes: powers of two, so that their numbers are round. */
function byteSteps(lines) {
  const most = Math.max(1, ...lines.flatMap(({ points }) => points.map(([, value]) => value ?? 0)));
  const interval = 2 ** Math.max(0, Math.ceil(Math.log2(most / 6)));
  return { interval, max: interval * Math.ceil(most / interval) };
}

/** A chart of some lines over time, or nothing while all of them are zero. `steps` makes those of the axis. */
function lines(history, shown, all, { type = "value", says = "", steps = () => ({}) } = {}) {
  return () => {
    const colours = all().map((line, at) => ({ ...line, color: colour(at), dash: ["solid", "dashed", "dotted"][at % 3] }));
    const some = colours.filter(({ points }) => points.some(([, value]) => value));
    if (!some.length) return null;
    return {
      option: {
        legend: {}, grid: { left: 8, right: 16, top: 34, bottom: 8, containLabel: true },
        tooltip: { trigger: "axis", valueFormatter: shown },
        xAxis: { type: "value", max: 0, min: -Math.max(60, Math.min(KEPT, history.samples.length)), axisLabel: { formatter: (s) => (s ? time(s * 1e3) : "now") } },
        yAxis: { type, min: type === "value" ? 0 : undefined, axisLabel: { formatter: shown }, ...steps(some) },
        series: some.map(({ name, points, color, dash }) => ({
          name, type: "line", showSymbol: false, connectNulls: false, itemStyle: { color }, lineStyle: { width: 1.8, type: dash }, data: points,
        })),
      },
      height: 240, says, columns: ["name", "seconds before now", "value"],
      rows: some.flatMap(({ name, points }) => points.map(([at, value]) => [name, at, value])),
    };
  };
}

/** The charts; `spaceName` says what the layer calls the space that it fills and cleans. */
function charts(history, spaceName) {
  const level = (name, of) => ({ name, points: history.points((now) => (now.runners[0] ? of(now.runners[0]) : null)) });
  return [
    new Figure("requests", "Requests per second", lines(history, number, () =>
      KINDS.map((kind) => ({ name: kind, points: history.rate(requestsOf(kind)) })))),
    new Figure("latency", "Mean latency", lines(history, time, () =>
      KINDS.map((kind) => ({ name: kind, points: history.latency(kind) })), { type: "log", says: "Of the requests that completed in each second." })),
    new Figure("bytes", "Throughput", lines(history, (value) => `${bytes(value)}/s`, () => [
      { name: "clients read", points: history.rate((sample) => sample.host_read) },
      { name: "clients wrote", points: history.rate((sample) => sample.host_written) },
      { name: "drives wrote", points: history.rate((sample) => sample.media_written) },
    ], { steps: byteSteps })),
    new Figure("fill", "How full", lines(history, percent, () => [
      level(spaceName(), (runner) => (runner.space_blocks ? runner.used_blocks / runner.space_blocks : null)),
      level("journal", (runner) => runner.journal_used / Math.max(1, runner.journal_blocks)),
    ])),
    new Figure("cleaning", "Cleaning steps per second", lines(history, number, () =>
      [{ name: "steps", points: history.rate(stepsOf) }], { says: "In idle time, for waiting writes and on request." })),
    new Figure("memory", "Memory of the server", lines(history, bytes, () =>
      [{ name: "resident", points: history.points((now) => now.resident_bytes) }], { steps: byteSteps })),
  ];
}

/** What has been idle, in words: charts of nothing but zeros are not drawn. */
function idleInWords(history) {
  if (history.samples.length < 2) return "Waiting for the first numbers.";
  const requests = (seconds) => KINDS.reduce((sum, kind) => sum + history.grown(requestsOf(kind), seconds), 0);
  const said = [
    !requests(60) && (requests(KEPT) ? "No requests in the last minute." : `No requests in the last ${history.span()}.`),
    !history.grown(stepsOf, KEPT) && `No cleaning in the last ${history.span()}.`,
  ];
  return said.filter(Boolean).join(" ");
}
