// The heat map: one cell a frame, colour by seconds, marks for what failed. One canvas, only the rows in sight.

import { duration } from "./words.js";

const CELL = 12;
const GAP = 2;
const MOST = 232; // px; as .heat in job.css
// From little to much, by lightness too, so that it reads without colour vision (after cividis).
const RAMP = [[33, 64, 116], [92, 104, 124], [138, 136, 121], [190, 172, 98], [245, 215, 75]];

export class Heat {
  constructor(box, legend, frames, onPick) {
    this.box = box;
    this.legend = legend;
    this.frames = frames;
    this.selected = -1;
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.tall = document.createElement("div");
    this.tall.className = "tall";
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    box.replaceChildren(this.tall, this.canvas, this.tip);
    box.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(box);
    frames.addEventListener("change", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.canvas.addEventListener("click", (event) => {
      const index = this.#under(event);
      if (index >= 0) onPick(this.frames.range.at(index));
    });
    this.canvas.addEventListener("pointermove", (event) => this.#hint(event));
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
  }

  select(frame) {
    this.selected = this.frames.range.index(frame);
    this.draw();
  }

  draw() {
    cancelAnimationFrame(this.pending);
    this.pending = requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    const width = this.box.clientWidth;
    if (!width) return;
    const pitch = CELL + GAP;
    const total = this.frames.range.length;
    this.columns = Math.max(1, Math.floor((width + GAP) / pitch));
    const rows = Math.ceil(total / this.columns);
    const height = Math.min(MOST, rows * pitch);
    this.tall.style.height = `${rows * pitch}px`;
    const first = Math.floor(this.box.scrollTop / pitch);
    const last = Math.min(rows - 1, Math.ceil((this.box.scrollTop + height) / pitch));
    this.frames.see("heat", first * this.columns, (last + 1) * this.columns - 1);

    const scale = devicePixelRatio;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, -this.box.scrollTop * scale);
    pen.clearRect(0, this.box.scrollTop, width, height);
    const look = colours();
    const extent = this.frames.extent();
    for (let index = first * this.columns; index < Math.min(total, (last + 1) * this.columns); index++) {
      this.#cell(pen, index, look, extent);
    }
    this.#tell(extent, look);
  }

  #cell(pen, index, look, extent) {
    const x = (index % this.columns) * (CELL + GAP);
    const y = Math.floor(index / this.columns) * (CELL + GAP);
    const known = this.frames.get(index);
    const state = known?.state ?? "waiting";
    pen.lineWidth = 1.5;
    if (state === "done") {
      pen.fillStyle = heat(known.seconds ?? extent?.[0] ?? 0, extent);
      pen.fillRect(x, y, CELL, CELL);
    } else if (state === "running") {
      pen.fillStyle = known.finishing ? look.finishing : look.running;
      pen.fillRect(x + 3, y + 3, CELL - 6, CELL - 6);
      pen.strokeStyle = pen.fillStyle;
      pen.strokeRect(x + 0.75, y + 0.75, CELL - 1.5, CELL - 1.5);
    } else if (state === "failed") {
      pen.fillStyle = look.failed;
      pen.fillRect(x, y, CELL, CELL);
      pen.strokeStyle = look.cut;
      pen.beginPath();
      pen.moveTo(x + 3, y + 3);
      pen.lineTo(x + CELL - 3, y + CELL - 3);
      pen.moveTo(x + CELL - 3, y + 3);
      pen.lineTo(x + 3, y + CELL - 3);
      pen.stroke();
    } else {
      pen.fillStyle = look.well;
      pen.fillRect(x, y, CELL, CELL);
      if (state === "cancelled") {
        pen.strokeStyle = look.waiting;
        pen.beginPath();
        pen.moveTo(x + 3, y + CELL - 3);
        pen.lineTo(x + CELL - 3, y + 3);
        pen.stroke();
      }
    }
    if (index === this.selected) {
      pen.strokeStyle = look.text;
      pen.lineWidth = 2;
      pen.strokeRect(x, y, CELL, CELL);
    }
  }

  #tell(extent, look) {
    const words = extent ? `${duration(extent[0])} to ${duration(extent[1])}` : "none done yet";
    this.canvas.setAttribute("aria-label", `Seconds of each frame: ${words}. The film strip above lists the frames.`);
    const key = `${words}${look.text}`;
    if (this.told === key) return;
    this.told = key;
    if (!extent) {
      this.legend.replaceChildren();
      return;
    }
    const scale = document.createElement("canvas");
    scale.width = 96;
    scale.height = 1;
    const pen = scale.getContext("2d");
    for (let x = 0; x < 96; x++) {
      pen.fillStyle = heat(x, [0, 95]);
      pen.fillRect(x, 0, 1, 1);
    }
    const line = document.createElement("span");
    line.append(duration(extent[0]), scale, duration(extent[1]));
    this.legend.replaceChildren(line);
  }

  #under(event) {
    const column = Math.floor(event.offsetX / (CELL + GAP));
    const row = Math.floor((event.offsetY + this.box.scrollTop) / (CELL + GAP));
    const index = row * this.columns + column;
    return column < this.columns && index < this.frames.range.length ? index : -1;
  }

  #hint(event) {
    const index = this.#under(event);
    this.tip.hidden = index < 0;
    if (index < 0) return;
    const known = this.frames.get(index);
    const state = known ? (known.finishing && known.state === "running" ? "finishing" : known.state) : "";
    const seconds = known?.seconds != null ? duration(known.seconds) : "";
    this.tip.textContent = [`Frame ${this.frames.range.at(index)}`, state, seconds].filter(Boolean).join(", ");
    const left = Math.min(event.clientX + 12, innerWidth - this.tip.offsetWidth - 8);
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${event.clientY - 32}px`;
  }
}

function heat(seconds, extent) {
  const [least, most] = extent ?? [0, 1];
  const place = most > least ? ((seconds - least) / (most - least)) * (RAMP.length - 1) : 1;
  const at = Math.min(RAMP.length - 2, Math.max(0, Math.floor(place)));
  const share = Math.min(1, Math.max(0, place - at));
  const mixed = RAMP[at].map((value, channel) => Math.round(value + (RAMP[at + 1][channel] - value) * share));
  return `rgb(${mixed})`;
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["running", "finishing", "failed", "waiting", "well", "text", "cut"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}
