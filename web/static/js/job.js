// The page of one job: hero, film strip and heat map, kept live.

import { controlling, settled } from "./control.js";
import { Frames, Range } from "./frames.js";
import { Heat } from "./heat.js";
import { listen, refresher } from "./live.js";
import { Strip } from "./strip.js";
import { tick } from "./words.js";

const film = document.getElementById("film");
const job = film.dataset.job;
const home = `/jobs/${job}`;
let frames = null;
let strip = null;
let heat = null;

const shown = () => document.getElementById("hero").dataset.frame;
const follows = () => location.pathname === home;
const refresh = refresher({ url: () => location.pathname, gap: 500, onDone: settle });

/** Makes the film agree with the rendered page: after a plan came, or another frame is shown. */
function settle() {
  tick();
  settled();
  if (!frames && film.dataset.frames && Number(film.dataset.total) > 1) {
    frames = new Frames(job, new Range(film.dataset.frames));
    strip = new Strip(document.getElementById("strip"), frames, Number(film.dataset.aspect), pick);
    heat = new Heat(document.getElementById("heat"), document.getElementById("legend"), frames, pick);
  }
  if (frames && shown() !== undefined) {
    strip.select(Number(shown()));
    heat.select(Number(shown()));
  }
}

function pick(frame) {
  history.replaceState(null, "", `${home}/frames/${frame}`);
  strip?.select(frame);
  heat?.select(frame);
  refresh(true);
}

function follow() {
  history.replaceState(null, "", home);
  refresh(true);
}

function step(by) {
  if (!frames || shown() === undefined) return;
  const current = Number(follows() ? shown() : location.pathname.split("/").at(-1));
  const frame = frames.range.at(frames.range.index(current) + by);
  if (frame !== undefined) pick(frame);
}

function onEvent(event) {
  frames?.take(event);
  const { kind, data } = event;
  // Samples of a frame that nobody looks at change nothing here.
  if (kind === "attempt.progress" && !follows() && String(data.frame) !== shown()) return;
  refresh();
}

function onBack() {
  frames?.doubt();
  refresh();
}

document.addEventListener("click", (event) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  const link = event.target.closest?.("a[data-frame], a[data-follow]");
  if (!link) return;
  event.preventDefault();
  if (link.dataset.frame) pick(Number(link.dataset.frame));
  else if (follows()) pick(Number(shown()));
  else follow();
});
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.("input, textarea, select, pre, .ask")) return;
  const moves = { ArrowLeft: () => step(-1), ArrowRight: () => step(1), l: follow, L: follow };
  if (!moves[event.key]) return;
  event.preventDefault();
  moves[event.key]();
});

settle();
setInterval(tick, 30_000);
controlling(() => refresh(true));
listen({ job, onEvent, onBack });
