// Runs: which are shown, how they are called, and what each is held against.

const REASONS = ["host", "collect", "destage", "swap", "migrate", "neighbour", "pad", "metadata", "promote"];
const METRICS = [
  ["ratio", "mean over conventional", (run, runs) => runs.ratio(run), times],
  ["mean", "mean latency", (run) => latencyOf(run, "mean"), time],
  ["p99", "p99 latency", (run) => latencyOf(run, "p99"), time],
  ["p999", "p99.9 latency", (run) => latencyOf(run, "p999"), time],
  ["wa", "write amplification", (run) => run.write_amplification, number],
  ["rmw", "rewrites (RMW)", (run) => run.rmw, count],
  ["appends", "appends (RMW-free)", (run) => run.rmw_free, count],
  ["hits", "write hits", (run) => run.write_hit_ratio, percent],
  ["busy", "disk busy", (run) => run.disk_busy_ratio, percent],
  ["mapReads", "map pages read, of 1000 requests", (run) => (run.map ? perThousand(run, run.map.read_pages) : null), number],
  ["mapWrites", "map pages written, of 1000 requests", (run) => (run.map ? perThousand(run, run.map.written_pages) : null), number],
];
/** Those that only runs have a number for whose map was larger than memory. */
const OF_MAPS = ["mapReads", "mapWrites"];
const metricsOf = (runs) => METRICS.filter(([key]) => !OF_MAPS.includes(key) || runs.some((run) => run.map));
/** Those that a run has no number for if it cannot keep up. */
const OF_LATENCY = ["ratio", "mean", "p99", "p999"];

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

/** A number of a run as it is shown, or that the run is late. */
function shownOf(run, [key, , value, shown], runs) {
  if (OF_LATENCY.includes(key) && behind(run)) return `late (${times(behind(run))})`;
  const one = value(run, runs);
  return one === null || one === undefined ? "–" : shown(one);
}

const workloadOf = (run) => run.trace.split("/").pop() + (run.synthetic ? " (synthetic)" : "");
const sizeOf = (run) => bytes(run.drive_blocks * run.block_bytes);
const driveOf = (run) => `${run.drive}, ${sizeOf(run)}`;
const perThousand = (run, events) => (run.requests ? (1000 * events) / run.requests : 0);
const isSameDisk = (a, b) => a.drive === b.drive && a.drive_blocks === b.drive_blocks && a.block_bytes === b.block_bytes;

/** Fields of all levels, named as in CSV. */
function flat(value, name = "") {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [[name, value]];
  return Object.entries(value).flatMap(([key, inner]) => flat(inner, name ? `${name}.${key}` : key));
}

const settingsOf = (run) => flat(run.config ?? {}).filter(([key]) => key).map(([key, value]) => `${key}=${value}`).join(" ") || "defaults";

/** The runs of the page, by workload, what is told about each beside its row, and its name among the others. */
class Runs {
  constructor(rows, about) {
    this.all = rows;
    this.shown = rows;
    this.yardsticks = new Map();
    this.about = new Map(rows.map((run, at) => [run, about[at]]));
    const named = (groups, parts) => new Map([...groups.values()].flatMap((group) => this.call(group, parts)));
    const alike = [(run) => this.about.get(run).source, settingsOf, (run) => bytes(run.buffer_blocks * run.block_bytes), (run) => `seed ${run.seed}`, (run) => (run.steady ? "steady" : "from the beginning")];
    const layer = (run) => this.about.get(run).name ?? run.layer;
    /** Among all runs of the workload, and among those on its disk, which are named below a heading that names the disk. */
    this.names = named(Map.groupBy(rows, workloadOf), [layer, (run) => run.drive, sizeOf, ...alike]);
    this.shortNames = named(Map.groupBy(rows, (run) => `${workloadOf(run)} ${this.diskOf(run)}`), [(run) => this.roleOf(run) + layer(run), ...alike]);
  }

  /** A name is the first part, and as many more as tell the runs of a group apart. */
  call(group, [first, ...rest]) {
    const used = [first];
    const name = (run) => used.map((part) => part(run)).join(", ");
    for (const part of rest) {
      if (new Set(group.map(name)).size === group.length) break;
      if (new Set(group.map(part)).size > 1) used.push(part);
    }
    const taken = new Map();
    return group.map((run) => {
      const nth = (taken.get(name(run)) ?? 0) + 1;
      taken.set(name(run), nth);
      return [run, nth > 1 ? `${name(run)} (${nth})` : name(run)];
    });
  }

  name(run) { return this.names.get(run); }
  roleOf(run) { const { role } = this.about.get(run); return role ? `${role}: ` : ""; }
  /** The disk as a heading: in the words of who made the page, or its name and size. */
  diskOf(run) { return this.about.get(run).group ?? driveOf(run); }
  /** The files that the runs come from. */
  sources() { return [...new Set(this.all.map((run) => this.about.get(run).source))].filter(Boolean); }
  workloads() { return [...new Set(this.shown.map(workloadOf))]; }
  of(workload) { return this.shown.filter((run) => workloadOf(run) === workload); }

  /**
   * The conventional disk that a run is held against: of the same size and file if there is one, else of the same size,
   * else of the same drive, else any of its workload.
   */
  yardstick(run) {
    if (!this.yardsticks.has(run)) this.yardsticks.set(run, this.nearest(run));
    return this.yardsticks.get(run);
  }

  nearest(run) {
    // How much larger one disk is than the other counts less than all the rest.
    const apart = (other) => Math.abs(Math.log(run.drive_blocks / other.drive_blocks));
    const near = (other) => 4 * isSameDisk(run, other) + 2 * (run.drive === other.drive)
      + (this.about.get(run).source === this.about.get(other).source) - apart(other) / 100;
    const all = this.all.filter((other) => other.layer === "conventional" && workloadOf(other) === workloadOf(run) && latencyOf(other, "mean") > 0);
    return all.reduce((best, other) => (best && near(best) >= near(other) ? best : other), null);
  }

  /** The mean latency over that of the conventional disk; nothing without the one or the other. */
  ratio(run) {
    const yardstick = this.yardstick(run);
    const mean = latencyOf(run, "mean");
    return yardstick && mean !== null ? mean / latencyOf(yardstick, "mean") : null;
  }

  /** How well a run did, the less the better: those that cannot keep up come last, the latest of them at the end. */
  rank(run) {
    return behind(run) ? 1e9 * behind(run) : (latencyOf(run, "mean") || run.write_amplification);
  }

  /** Lines of a chart: the runs of a workload below a heading for each disk, each in order of its rank, conventional first. */
  lines(workload) {
    const groups = Map.groupBy(this.of(workload), (run) => this.diskOf(this.besides(run)));
    const first = (run) => (run.layer === "conventional" ? 0 : 1);
    return [...groups].flatMap(([disk, runs]) => [
      ...(groups.size > 1 || this.about.get(runs[0]).group ? [{ heading: this.heading(disk, runs) }] : []),
      ...runs.toSorted((a, b) => first(a) - first(b) || this.rank(a) - this.rank(b))
        .map((run) => ({ run, name: this.shortNames.get(run), full: this.name(run) })),
    ]);
  }

  /** The run with which it shares a heading: the one that it is held against, if only the sizes differ, else itself. */
  besides(run) {
    const yardstick = this.yardstick(run);
    return yardstick?.drive === run.drive && !this.about.get(run).group ? yardstick : run;
  }

  /** The disk of a group, and against which other one its runs are held. */
  heading(disk, runs) {
    const sizes = [...new Set(runs.filter((run) => this.diskOf(run) !== disk).map(sizeOf))];
    const yardstick = this.yardstick(runs[0]);
    if (yardstick && yardstick.drive !== runs[0].drive) return `${disk}, over conventional on ${driveOf(yardstick)}`;
    return sizes.length ? `${disk}, and its layers on ${listed(sizes)}` : disk;
  }
}
