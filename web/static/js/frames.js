// What the page knows of a job's frames. Only those in sight are fetched, in batches; events keep them true.

const BATCH = 200; // frames of one request
const GAP = 250; // ms between two requests
const AWAY = 2000; // ms until a farm that did not answer is asked again
const MERGE = 40; // frames known already that are fetched again to save a request

/** The plan's frames, as the farm writes them: "1-10x2,15". Indexed without being listed. */
export class Range {
  constructor(text) {
    this.parts = text.split(",").filter(Boolean).map((part) => {
      const [, first, last, step] = /^(-?\d+)(?:-(-?\d+)(?:x(\d+))?)?$/.exec(part);
      const from = Number(first);
      const by = Number(step ?? 1);
      return { from, by, length: Math.floor((Number(last ?? first) - from) / by) + 1 };
    });
    this.length = this.parts.reduce((sum, part) => sum + part.length, 0);
  }

  at(index) {
    for (const part of this.parts) {
      if (index < part.length) return part.from + index * part.by;
      index -= part.length;
    }
    return undefined;
  }

  index(frame) {
    let before = 0;
    for (const part of this.parts) {
      const at = (frame - part.from) / part.by;
      if (Number.isInteger(at) && at >= 0 && at < part.length) return before + at;
      before += part.length;
    }
    return -1;
  }
}

export class Frames extends EventTarget {
  #job;
  #known = new Map(); // index -> {frame, state, finishing, seconds, preview}
  #stale = new Set();
  #sights = new Map(); // who looks -> [first, last]
  #timer = 0;
  #busy = false;

  constructor(job, range) {
    super();
    this.#job = job;
    this.range = range;
  }

  get(index) {
    return this.#known.get(index);
  }

  /** Seconds of the frames known, as [least, most], or null. */
  extent() {
    let least = Infinity;
    let most = 0;
    for (const { seconds } of this.#known.values()) {
      if (seconds === null) continue;
      least = Math.min(least, seconds);
      most = Math.max(most, seconds);
    }
    return most ? [least, most] : null;
  }

  /** `who` shows the frames from index `first` to `last` now. */
  see(who, first, last) {
    this.#sights.set(who, [Math.max(0, first), Math.min(this.range.length - 1, last)]);
    this.#soon();
  }

  /** Takes in an event of the job; true where it was about a frame. */
  take({ kind, data }) {
    const index = data.frame === undefined ? -1 : this.range.index(data.frame);
    if (index < 0) return false;
    const known = this.#known.get(index);
    if (kind === "frame.state" && known) {
      Object.assign(known, { state: data.state, finishing: data.finishing ?? false, seconds: data.seconds ?? known.seconds });
      this.dispatchEvent(new Event("change"));
    }
    if (kind === "frame.state" || kind === "output.committed") {
      this.#stale.add(index);
      this.#soon();
    }
    return true;
  }

  /** Everything may have changed, as after a gap in the connection. */
  doubt() {
    for (const index of this.#known.keys()) this.#stale.add(index);
    this.#soon();
  }

  #soon(gap = GAP) {
    if (!this.#timer && !this.#busy) this.#timer = setTimeout(() => this.#fetch(), gap);
  }

  /** The next run of frames in sight that are not known or stale. */
  #next() {
    for (const [first, last] of this.#sights.values()) {
      let from = -1;
      let to = -1;
      for (let index = first; index <= last; index++) {
        if (this.#known.has(index) && !this.#stale.has(index)) {
          if (from >= 0 && index - to > MERGE) break;
          continue;
        }
        if (from < 0) from = index;
        if (index - from >= BATCH) break;
        to = index;
      }
      if (from >= 0) return [from, to - from + 1];
    }
    return null;
  }

  async #fetch() {
    this.#timer = 0;
    const run = this.#next();
    if (!run) {
      // What is out of sight and stale is forgotten, and fetched when it comes into sight.
      for (const index of this.#stale) this.#known.delete(index);
      this.#stale.clear();
      return;
    }
    const [first, count] = run;
    this.#busy = true;
    let gap = GAP;
    for (let index = first; index < first + count; index++) this.#stale.delete(index);
    try {
      const answer = await fetch(`/api/jobs/${encodeURIComponent(this.#job)}/frames?first=${first}&count=${count}`);
      if (!answer.ok) throw new Error(answer.statusText);
      (await answer.json()).forEach(({ frame, state, finishing, seconds, preview }, offset) => {
        this.#known.set(first + offset, { frame, state, finishing, seconds, preview });
      });
      this.dispatchEvent(new Event("change"));
    } catch {
      for (let index = first; index < first + count; index++) this.#stale.add(index);
      gap = AWAY;
    }
    this.#busy = false;
    this.#soon(gap);
  }
}
