// What a served volume says of itself at a glance: warnings, and cards in groups, the most important first.

/** What needs attention, a line each. */
function warnings(status) {
  const { checksums, scrub, traffic } = status;
  const said = [
    [status.dead, `The volume cannot be used any more: ${status.dead}`],
    [traffic.failures, `${several(traffic.failures, "drive operation")} failed.`],
    [status.epochs_ended, `The layer was rebuilt from its journal ${howOften(status.epochs_ended)} after a failed operation. Writes that were not flushed may be lost.`],
    [checksums?.damaged_blocks, `${several(checksums?.damaged_blocks, "block")} did not match the checksum when read.`],
    [damagedOf(scrub), `The last scrub found ${several(damagedOf(scrub), "damaged block")}.`],
    [status.units_lost, `The drives have lost ${several(status.units_lost, "zone")} or bands.`],
    [status.units_read_only, `${several(status.units_read_only, "zone")} or bands can only be read.`],
    ...Object.entries(status.services ?? {}).flatMap(([name, { restarts, refused }]) => [
      [restarts, `The service ${name} was restarted ${howOften(restarts)}.`],
      [refused, `The service ${name} closed ${several(refused, "connection")} without an answer.`],
    ]),
    [status.read_only, "The volume is served read-only. What recovery wrote is kept in memory only."],
  ];
  return said.filter(([is]) => is).map(([, text]) => element("p", { class: "warning" }, text));
}

const howOften = (value) => (value === 1 ? "once" : `${count(value)} times`);
const damagedOf = (scrub) => [...(scrub?.damaged ?? []), ...(scrub?.unneeded ?? [])].reduce((sum, run) => sum + run.blocks, 0);

/** A count of three digits at most. */
function rounded(value) {
  const units = [[1, ""], [1e3, "k"], [1e6, "M"], [1e9, "G"]];
  const [size, unit] = units.findLast(([size]) => value >= size) ?? units[0];
  return unit ? `${number(Math.floor(value / size * 100) / 100)}${THIN}${unit}` : number(value);
}

/** How long something has lasted, or is ago. */
const lasting = (seconds) => (seconds >= 172800 ? `${number(Math.floor(seconds / 86400))} d` : seconds < 1 ? "0 s" : time(Math.floor(seconds) * 1e3));
const ago = (ms) => `${lasting((Date.now() - ms) / 1e3)} ago`;

function health(status) {
  const { checksums, memory, traffic } = status;
  const troubles = [traffic.failures, status.epochs_ended, status.units_lost, status.units_read_only, checksums?.damaged_blocks, damagedOf(status.scrub)];
  const state = status.dead ? ["Unusable", "see above", "bad"]
    : troubles.some(Boolean) ? ["Degraded", "see above", "bad"]
      : [status.read_only ? "Read-only" : "Healthy", "no failed operations", "good"];
  return ["Health", [
    ["State", ...state],
    checksums ? ["Last scrub", ...scrubbed(status.scrub)] : ["Checksums", "none", "damage is not detected"],
    ["Uptime", lasting(status.uptime_seconds), status.clients ? `${several(status.clients, "client")} connected` : "no clients"],
    ["Memory", status.resident_bytes ? bytes(status.resident_bytes) : "–", memory ? `at most ${bytes(memory.most_bytes)}` : ""],
  ]];
}

/** How the last scrub stands: the value, and what is to be said of it. */
function scrubbed(scrub) {
  if (!scrub) return ["none", "since the server started"];
  const part = scrub.done_blocks / Math.max(1, scrub.of_blocks);
  if (scrub.state === "running") return [percent(part), `running, began ${ago(scrub.began_at_ms)}`];
  const damaged = damagedOf(scrub);
  const found = damaged ? several(damaged, "damaged block") : "no damage";
  if (scrub.state === "stopped") return ["stopped", `at ${percent(part)}, ${ago(scrub.ended_at_ms)}`, damaged ? "bad" : ""];
  return [ago(scrub.ended_at_ms), found, damaged ? "bad" : ""];
}

function latency(status, history) {
  const of = (kind, noun) => {
    const all = status.latency[kind]?.all;
    const recent = history.grown(requestsOf(kind), 60);
    const mean = history.grown((sample) => sample.requests[kind].total_ms, 60) / recent;
    const lately = recent ? `mean ${time(mean)} in the last minute` : all?.count ? "none in the last minute" : "none yet";
    return [noun, all?.count ? time(all.p99_ms) : "–", lately];
  };
  const beside = status.latency.write?.beside_cleaning;
  return ["Latency, p99 since the server started", [
    of("read", "Reads"), of("write", "Writes"), of("flush", "Flushes"),
    ["Beside cleaning", beside?.count ? time(beside.p99_ms) : "–", beside?.count ? `${rounded(beside.count)} writes` : "no writes yet"],
  ]];
}

/** A part of something, and of how much. */
const partOf = (name, used, all, shown) => [name, all ? percent(used / all) : "–", all ? `${shown(used)} of ${shown(all)}` : ""];

function space(status) {
  const size = (blocks) => bytes(blocks * status.block_bytes);
  const runner = status.runners[0];
  const { pacing } = status.cleaning;
  return ["Space", [
    runner?.space_blocks ? partOf(capitalised(runner.space), runner.used_blocks, runner.space_blocks, size) : null,
    pacing ? ["Room for writes", size(pacing.room_blocks), pacing.wanted_blocks ? `cleaning starts below ${size(pacing.wanted_blocks)}` : ""] : null,
    partOf("Journal", runner?.journal_used, runner?.journal_blocks, size),
    ["Waiting writes", rounded(runner?.blocked_writes ?? 0), "for room or their turn"],
    status.growth ? ["Growing to", bytes(status.growth.capacity_bytes), `${several(status.growth.zones_left, "zone")} left`] : null,
  ]];
}

const CLEANING = { "when-idle": "in idle time", paused: "until resumed", now: "on request" };

function cleaning(status, history) {
  const { state, throttle, steps, longest_ms, limit_ms, over_limit, pacing } = status.cleaning;
  const isRunning = history.grown(stepsOf, 3) > 0;
  const limit = limit_ms ? `${rounded(over_limit)} over ${time(limit_ms)}` : "no limit";
  return ["Cleaning", [
    ["State", isRunning ? "running" : state === "paused" ? "paused" : "idle", `${CLEANING[state] ?? state}${throttle < 100 ? `, throttle ${throttle} %` : ""}`],
    ["Longest step", steps ? time(longest_ms) : "–", steps ? `${rounded(steps)} steps, ${limit}` : "no steps yet"],
    pacing ? ["Throttled writes", rounded(pacing.held_back), pacing.held_back ? `${time(pacing.mean_ms)} on average` : "none yet"] : null,
    ["Write amplification", status.write_amplification ? times(status.write_amplification) : "–", `${bytes(status.traffic.host_written)} from clients`],
  ]];
}

/** A text in which no line ends between a number and its unit. */
const unbroken = (text) => text.replace(/(\d) (?=[%µA-Za-z]{1,3}(\W|$))/g, "$1\u00a0");
const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function cards(status, history) {
  const card = ([name, value, detail, kind]) => element("div", { class: kind || null },
    element("dt", {}, name), element("dd", {}, value), element("dd", { class: "detail" }, unbroken(detail)));
  return [health(status), latency(status, history), space(status), cleaning(status, history)].map(([heading, all]) =>
    element("section", {}, element("h2", {}, heading), element("dl", { class: "tiles" }, all.filter(Boolean).map(card))));
}
