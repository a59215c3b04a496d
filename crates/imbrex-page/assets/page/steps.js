// What the disk does, step by step: a stage, a sentence for each step, and what plays them.

/** How long a step is shown, in ms: longer where it takes longer, but not in proportion, since some take a thousand times as long. */
const shownFor = (scene) => Math.min(3200, 1100 + 600 * Math.log10(1 + scene.took_ms));

class Player {
  constructor(steps, number) {
    Object.assign(this, { steps, at: steps.start, done: 1, speed: 1, playing: null });
    this.stage = new Stage();
    this.says = element("p", { class: "says", "aria-live": "polite" });
    this.when = element("output", { class: "faint", for: `step-${number}` });
    this.slider = element("input", {
      type: "range", min: 0, max: steps.scenes.length - 1, step: 1, id: `step-${number}`, "aria-label": "step",
      oninput: () => this.step(Number(this.slider.value)),
    });
    this.node = element("figure", { class: "steps", id: `figure-steps-${number}`, onkeydown: (event) => this.key(event) },
      element("figcaption", {}, element("strong", {}, `What the disk does: ${steps.name ?? steps.layer}`)),
      this.says, this.controls(), this.box = element("div", { class: "scene" }, this.stage.node), this.legend(), this.text());
    new ResizeObserver(() => this.fit()).observe(this.box);
    this.startWhenSeen();
  }

  controls() {
    const button = (name, act, label) => element("button", { type: "button", onclick: act, "aria-label": label }, name);
    this.play = button("Play", () => (this.playing ? this.pause() : this.start()));
    const speed = choice("Speed", [["0.5", "½ ×"], ["1", "1 ×"], ["2", "2 ×"], ["4", "4 ×"]], (value) => { this.speed = Number(value); });
    speed.select.value = "1";
    return element("div", { class: "bar controls" }, button("Back", () => this.step(this.at - 1), "one step back"), this.play,
      button("Forward", () => this.step(this.at + 1), "one step forward"), this.slider, this.when, speed.node);
  }

  /** The colours of the reasons that there are. */
  legend() {
    const { scenes, rows } = this.steps;
    const isThere = (why) => scenes.some((scene) => scene.why === why);
    const has = (kind) => rows.some((row) => row.kind === kind);
    const explains = [
      "The triangle is the head.",
      has("sequential") && "Slanted lines are tracks that overlap: such a place is written from its beginning to its end, and emptied as a whole.",
      has("bottom") && "Top tracks lie over the edges of bottom tracks: a write to a bottom track destroys what lies over it (hatched).",
      has("buffer") && "The buffer is shaded as far as it is full.",
      !this.steps.cleans && "Nothing was cleaned or rewritten here; --watch-disk-at begins later.",
    ];
    return element("p", { class: "reasons" }, Object.keys(DOINGS).filter(isThere).map((why) => element("span", {}, swatch(reasonColour(why)), DOINGS[why])),
      element("span", { class: "faint" }, explains.filter(Boolean).join(" ")));
  }

  text() {
    const line = (scene) => element("li", {}, `${scene.says} `, element("span", { class: "faint" }, `(${time(scene.took_ms)})`));
    return element("details", {}, element("summary", {}, "All steps in words"), element("ol", {}, this.steps.scenes.map(line)));
  }

  /** Plays when it is first seen, unless the reader wants nothing to move. */
  startWhenSeen() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const seen = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return;
      seen.disconnect();
      if (!this.wasTouched) this.start();
    }, { threshold: 0.6 });
    seen.observe(this.stage.node);
  }

  fit() {
    const width = Math.round(this.box.clientWidth);
    if (!width || width === this.width) return;
    this.width = width;
    this.stage.lay(this.steps, width);
    this.show();
  }

  /** Shows the step that it is at. */
  show() {
    const { scenes } = this.steps;
    const scene = scenes[this.at];
    this.says.textContent = scene.says;
    this.slider.value = this.at;
    this.when.textContent = `${this.at + 1} of ${scenes.length}: at ${time(scene.begun_ms)}, takes ${time(scene.took_ms)}`;
    this.slider.setAttribute("aria-valuetext", `step ${this.at + 1} of ${scenes.length}`);
    if (!this.width) return;
    this.stage.node.setAttribute("aria-label", `Step ${this.at + 1} of ${scenes.length}: ${scene.says}`);
    this.stage.begin(this.at);
    this.stage.show(this.done);
  }

  /** A step that the reader chooses is told, and shown as it ends. */
  step(at) {
    this.pause();
    this.at = Math.max(0, Math.min(this.steps.scenes.length - 1, at));
    this.done = 1;
    this.show();
  }

  start() {
    // What changes by itself is not read out.
    this.says.setAttribute("aria-live", "off");
    this.play.textContent = "Pause";
    this.wasTouched = true;
    this.done = 0;
    if (this.at === this.steps.scenes.length - 1) this.at = 0;
    this.show();
    let last = null;
    const frame = (now) => {
      if (last !== null) this.advance((now - last) * this.speed);
      last = now;
      if (this.playing) this.playing = requestAnimationFrame(frame);
    };
    this.playing = requestAnimationFrame(frame);
  }

  pause() {
    this.wasTouched = true;
    if (this.playing) cancelAnimationFrame(this.playing);
    this.playing = null;
    this.play.textContent = "Play";
    this.says.setAttribute("aria-live", "polite");
  }

  /** Plays for some ms: the last third of a step stands still, so that the sentence can be read. */
  advance(ms) {
    const { scenes } = this.steps;
    this.done += ms / shownFor(scenes[this.at]);
    if (this.done < 1.6) { this.stage.show(Math.min(1, this.done)); return; }
    if (this.at === scenes.length - 1) { this.done = 1; this.pause(); return; }
    Object.assign(this, { at: this.at + 1, done: 0 });
    this.show();
  }

  /** Arrows step wherever the focus is, but in what has arrows of its own. */
  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || ["INPUT", "SELECT"].includes(event.target.tagName)) return;
    event.preventDefault();
    this.step(this.at + by);
  }
}

function swatch(fill) {
  return drawn("svg", { class: "swatch", width: 14, height: 14, "aria-hidden": "true" }, drawn("rect", { width: 14, height: 14, rx: 3, fill }));
}

/** Players of all runs whose disks were watched. */
const stepsSection = (all) => element("div", { class: "figures wide" }, all.filter((steps) => steps.scenes.length).map((steps, number) => new Player(steps, number).node));
