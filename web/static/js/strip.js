// The film strip: as long as the job, with only the cells in sight in the page.

const HEIGHT = 64;
const SPACE = 8;

export class Strip {
  constructor(box, frames, aspect, onPick) {
    this.box = box;
    this.frames = frames;
    this.width = Math.round(Math.min(160, Math.max(40, HEIGHT * aspect)));
    this.onPick = onPick;
    this.cells = new Map();
    this.selected = -1;
    this.reel = document.createElement("div");
    this.reel.className = "reel";
    this.reel.setAttribute("role", "presentation");
    this.reel.style.width = `${frames.range.length * (this.width + SPACE)}px`;
    box.replaceChildren(this.reel);
    box.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(box);
    frames.addEventListener("change", () => this.draw());
  }

  select(frame) {
    const index = this.frames.range.index(frame);
    if (index === this.selected) return;
    this.selected = index;
    const left = index * (this.width + SPACE);
    if (left < this.box.scrollLeft || left + this.width > this.box.scrollLeft + this.box.clientWidth) {
      this.box.scrollLeft = left - this.box.clientWidth / 2;
    }
    this.draw();
  }

  draw() {
    const pitch = this.width + SPACE;
    const first = Math.max(0, Math.floor(this.box.scrollLeft / pitch) - 2);
    const last = Math.min(this.frames.range.length - 1, Math.ceil((this.box.scrollLeft + this.box.clientWidth) / pitch) + 2);
    this.frames.see("strip", first, last);
    for (const [index, cell] of this.cells) {
      if (index < first || index > last) {
        cell.remove();
        this.cells.delete(index);
      }
    }
    for (let index = first; index <= last; index++) this.#fill(index, this.cells.get(index) ?? this.#add(index));
  }

  #add(index) {
    const frame = this.frames.range.at(index);
    const cell = document.createElement("button");
    cell.type = "button";
    cell.className = "cell";
    cell.tabIndex = -1;
    cell.id = `cell-${index}`;
    cell.setAttribute("role", "option");
    cell.style.left = `${index * (this.width + SPACE) + 2}px`;
    cell.style.width = `${this.width}px`;
    const pic = document.createElement("span");
    pic.className = "pic";
    const no = document.createElement("span");
    no.className = "no";
    no.textContent = frame;
    cell.append(pic, no);
    cell.addEventListener("click", () => this.onPick(frame));
    this.reel.append(cell);
    this.cells.set(index, cell);
    return cell;
  }

  #fill(index, cell) {
    const known = this.frames.get(index);
    const selected = index === this.selected;
    cell.setAttribute("aria-selected", selected);
    if (selected) this.box.setAttribute("aria-activedescendant", cell.id);
    const look = known ? (known.finishing && known.state === "running" ? "finishing" : known.state) : "waiting";
    cell.setAttribute("aria-label", `Frame ${this.frames.range.at(index)}, ${look}`);
    const shown = known?.preview != null ? `/api/outputs/${known.preview}` : look;
    if (cell.dataset.shown === shown) return;
    cell.dataset.shown = shown;
    cell.firstChild.replaceChildren(known?.preview != null ? picture(shown) : icon(look));
  }
}

function picture(source) {
  const image = new Image();
  image.decoding = "async";
  image.alt = "";
  image.src = source;
  return image;
}

function icon(look) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", `icon s-${look}`);
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#i-${look}`);
  svg.append(use);
  return svg;
}
