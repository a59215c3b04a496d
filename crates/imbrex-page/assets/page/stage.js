// The stage of what the disk does: rows of places, what lies on them, and what moves between them.

const SVG = "http://www.w3.org/2000/svg";

/** An element of a drawing. */
function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(key, value);
  made.append(...children.flat(Infinity).filter(Boolean));
  return made;
}

/** What each reason means here. Its colour is that of the chart of what was written. */
const DOINGS = {
  host: "for the host", collect: "read to be rewritten", destage: "written to its place", swap: "exchanged", migrate: "moved elsewhere",
  neighbour: "saved and written back", pad: "padding", metadata: "journal", promote: "cached",
};
const reasonColour = (why) => colour(Math.max(0, REASONS.indexOf(why)));
/** Pixels: names beside the rows, a row, the narrowest piece that can be seen. */
const NAMES = 150, ROW = 24, GAP = 10, LEAST = 3;
/** The part of a scene in which its source is read. */
const READING = 0.4;

/** Whether two rows are neighbouring tracks of which one lies over the other. */
const overlap = (one, next) => `${one.kind} ${next.kind}`.match(/^(bottom top|top bottom)$/) && one.first + one.blocks === next.first;

/** Where each row stands in a drawing of this width. Top tracks lie over the bottom tracks beside them. */
function rowsAt(rows, width) {
  const narrow = width < NARROW;
  const left = narrow ? 4 : NAMES;
  let y = narrow ? 16 : 6;
  return rows.map((row, at) => {
    const before = rows[at - 1];
    if (before) y += overlap(before, row) ? (narrow ? 14 : -4) : GAP + (narrow ? 14 : 0);
    if ((before?.first === null && row.first !== null) || row.kind === "elsewhere") y += GAP;
    const height = row.kind === "top" ? 14 : row.kind === "elsewhere" || row.kind === "host" ? 16 : ROW;
    const place = { row, y, height, left, width: row.kind === "host" ? 60 : width - left - 12, name: narrow ? [4, y - 4] : [0, y + height / 2 + 4] };
    y += height;
    return place;
  });
}

/** The rectangle of some blocks of a row. */
function boxOf(place, at, blocks) {
  const scale = place.width / place.row.blocks;
  const width = place.row.kind === "host" ? place.width : Math.min(place.width, Math.max(LEAST, blocks * scale));
  const x = place.row.kind === "host" ? place.left : Math.min(place.left + at * scale, place.left + place.width - width);
  return { x, y: place.y, width, height: place.height };
}

/** What lies where when scene `upto` begins: segments of rows by the reason for which they were written, and write pointers. */
function stateBefore(steps, upto) {
  const state = steps.rows.map((row) => ({ written: row.written, pieces: [] }));
  const lay = (row, at, blocks, why) => {
    const one = state[row];
    if (["host", "elsewhere"].includes(steps.rows[row].kind)) return;
    one.pieces = one.pieces.filter((old) => old.at + old.blocks <= at || old.at >= at + blocks || old.at < at || old.at + old.blocks > at + blocks);
    one.pieces.push({ at, blocks, why });
    if (one.written !== null) one.written = Math.max(one.written, at + blocks);
  };
  steps.scenes.slice(0, upto).forEach((scene, number) => {
    // What was in RAM for one request is needed by no other.
    if (scene.request !== steps.scenes[number - 1]?.request) for (const [at, row] of steps.rows.entries()) if (row.kind === "ram") state[at].pieces = [];
    for (const { from, to, blocks, destroyed = [] } of scene.pieces) {
      for (const [[row, at], some] of destroyed) lay(row, at, some, "destroyed");
      if (!to) continue;
      const [row, at] = to;
      const source = from && steps.rows[from[0]].kind;
      if (scene.why === "reset") { state[row] = { written: state[row].written === null ? null : 0, pieces: [] }; continue; }
      // What is newer is seen in the image that is made of old and new, in RAM and where that is written.
      lay(row, at, blocks, source === "buffer" ? "host" : scene.why);
      if (source !== "ram") continue;
      const newer = state[from[0]].pieces.filter((one) => one.why === "host" && one.at >= from[1] && one.at + one.blocks <= from[1] + blocks);
      for (const one of newer) lay(row, at + one.at - from[1], one.blocks, "host");
    }
  });
  return state;
}

class Stage {
  constructor() {
    this.fixed = drawn("g");
    this.lying = drawn("g");
    this.moving = drawn("g");
    const pattern = (id, width, transform) => drawn("pattern", { id, width, height: 8, patternUnits: "userSpaceOnUse", patternTransform: transform },
      drawn("path", { d: "M0,0V8", class: id }));
    const tiles = [pattern("shingles", 8, "skewX(-14)"), pattern("wrecked", 4, "rotate(45)")];
    this.node = drawn("svg", { class: "stage", role: "img" }, drawn("defs", {}, tiles), this.fixed, this.lying, this.moving);
  }

  /** The rows of these steps in a drawing of this width. */
  lay(steps, width) {
    this.steps = steps;
    this.places = rowsAt(steps.rows, width);
    const last = this.places.at(-1);
    const height = last.y + last.height + 12;
    for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) this.node.setAttribute(key, value);
    const disk = this.places.find((place) => place.row.first !== null);
    const order = [...this.places].sort((a, b) => (a.row.kind === "top") - (b.row.kind === "top"));
    this.fixed.replaceChildren(
      ...(disk ? [drawn("path", { class: "edge", d: `M0,${disk.y - (width < NARROW ? 24 : GAP)}H${width}` })] : []),
      ...order.map((place) => drawn("rect", { class: `place ${place.row.kind}`, x: place.left, y: place.y, width: place.width, height: place.height, rx: 3 })),
      ...this.places.map((place) => drawn("text", { class: "name", x: place.name[0], y: place.name[1] }, place.row.name)));
    // All of the disk shows where the rows lie on it.
    if (last.row.kind === "elsewhere") {
      const shown = this.places.filter((place) => place.row.first !== null && place !== last);
      this.fixed.append(...shown.map((place) => drawn("rect", { class: "mark", ...boxOf(last, place.row.first, place.row.blocks) })));
    }
  }

  /** What lies there when scene `at` begins. */
  begin(at) {
    this.scene = this.steps.scenes[at];
    const state = stateBefore(this.steps, at);
    const parts = [];
    this.places.forEach((place, number) => {
      const { written, pieces } = state[number];
      // Which blocks of a buffer hold something is not known of all.
      if (place.row.kind === "buffer" && this.scene.filled !== null) parts.push(drawn("rect", { class: "filled", ...boxOf(place, 0, place.row.blocks * this.scene.filled) }));
      if (written) {
        const box = boxOf(place, 0, written);
        parts.push(drawn("rect", { class: "written", ...box }), drawn("rect", { fill: "url(#shingles)", ...box }));
      }
      for (const piece of pieces) parts.push(lying(piece.why, boxOf(place, piece.at, piece.blocks)));
    });
    this.lying.replaceChildren(...parts);
  }

  /** The scene that has begun, when the part `done` of it is over. */
  show(done) {
    const { pieces, why } = this.scene;
    const isBoth = pieces.some(({ from, to }) => from && to && this.onDisk(from) && this.onDisk(to));
    const reading = isBoth ? Math.min(1, done / READING) : done;
    const writing = isBoth ? Math.max(0, (done - READING) / (1 - READING)) : done;
    const fill = reasonColour(why);
    const parts = [];
    let head = null;
    pieces.forEach((piece, number) => {
      const part = (all) => Math.min(1, Math.max(0, all * pieces.length - number));
      const box = (end, blocks = piece.blocks) => boxOf(this.places[end[0]], end[1], blocks);
      if (piece.from) parts.push(drawn("rect", { class: "source", stroke: fill, ...box(piece.from) }));
      if (piece.from && part(reading) > 0 && this.onDisk(piece.from)) head = this.headAt(piece.from, piece.blocks, part(reading));
      for (const [end, blocks] of piece.destroyed ?? []) if (part(writing) > 0) parts.push(lying("destroyed", box(end, blocks)));
      if (!piece.to) return;
      const target = box(piece.to);
      if (why === "reset") { parts.push(drawn("rect", { class: "emptied", ...target, x: target.x, width: target.width * part(writing) })); return; }
      if (part(writing) > 0) parts.push(drawn("rect", { fill, class: "target", ...target, width: Math.max(LEAST, target.width * part(writing)) }));
      if (part(writing) > 0 && this.onDisk(piece.to)) head = this.headAt(piece.to, piece.blocks, part(writing));
      if (piece.from && (number === 0 || pieces.length <= 8)) parts.push(...arrow(box(piece.from), target, fill));
    });
    this.moving.replaceChildren(...parts, ...(head ?? []));
  }

  onDisk(end) { return this.steps.rows[end[0]].first !== null; }

  /** The head over a block of a row, and over the same one of all of the disk. */
  headAt([row, at], blocks, part) {
    const block = at + blocks * part;
    const whole = this.places.at(-1);
    const over = (place, block) => {
      const { x, y } = boxOf(place, block, 0);
      return drawn("path", { class: "head", d: `M${x},${y + 3}l-6,-10h12z` });
    };
    const place = this.places[row];
    const twice = whole.row.kind === "elsewhere" && whole !== place;
    return [over(place, block), ...(twice ? [over(whole, place.row.first + block)] : [])];
  }
}

/** What was written for a reason, or destroyed. */
const lying = (why, box) => drawn("rect", { fill: why === "destroyed" ? "url(#wrecked)" : reasonColour(why), class: why === "destroyed" ? why : why === "host" ? "lies new" : "lies", ...box });

/** From the middle of one rectangle to that of another, at the edges that face each other. */
function arrow(from, to, stroke) {
  const down = to.y > from.y;
  const [x1, x2] = [from, to].map((box) => box.x + box.width / 2);
  const y1 = down ? from.y + from.height : from.y;
  const y2 = down ? to.y - 2 : to.y + to.height + 2;
  const bend = (y2 - y1) / 2;
  const tip = down ? -7 : 7;
  return [
    drawn("path", { class: "arrow", stroke, d: `M${x1},${y1}C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2 + tip}` }),
    drawn("path", { fill: stroke, d: `M${x2},${y2}l-5,${tip}h10z` }),
  ];
}
