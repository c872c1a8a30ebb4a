// Server-sent events with resume, and pages that refresh themselves.

import { morph } from "./morph.js";

const KINDS = ["job.state", "job.planned", "frame.state", "frame.verified", "tile.state", "attempt.progress", "attempt.failed", "output.committed", "worker.state", "job.waits", "job.control", "job.costs", "frame.recut"];
const NOTICE_AFTER = 1500; // ms; shorter gaps are nobody's concern
const HIDDEN_AFTER = 10_000; // ms; browsers allow six streams a host, so a tab that nobody sees gives its own back

/**
 * Calls onEvent with every event after the page's own; onBack after a gap in the connection.
 * The browser resumes by Last-Event-ID; where it gave up, a new stream resumes by `after`.
 */
export function listen({ job, onEvent, onBack }) {
  let after = Number(document.body.dataset.after ?? 0);
  let source = null;
  let lost = false;
  let retry = 1000;
  let noticing = 0;
  let hiding = 0;
  let reopening = 0;

  function open() {
    clearTimeout(reopening);
    const query = new URLSearchParams({ after });
    if (job) query.set("job", job);
    source = new EventSource(`/api/events/stream?${query}`);
    source.onopen = () => {
      clearTimeout(noticing);
      noticing = 0;
      retry = 1000;
      notice(false);
      if (lost) onBack?.();
      lost = false;
    };
    source.onerror = () => {
      lost = true;
      noticing ||= setTimeout(() => notice(true), NOTICE_AFTER);
      if (source?.readyState !== EventSource.CLOSED) return;
      reopening = setTimeout(open, retry);
      retry = Math.min(retry * 2, 10_000);
    };
    for (const kind of KINDS) {
      source.addEventListener(kind, (message) => {
        const event = JSON.parse(message.data);
        after = Math.max(after, event.sequence);
        onEvent(event);
      });
    }
  }

  function close() {
    clearTimeout(reopening);
    source?.close();
    source = null;
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(close, HIDDEN_AFTER);
    else if (!source) open();
  });
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", (event) => {
    if (event.persisted && !source) open();
  });
  open();
}

function notice(shown) {
  document.getElementById("notice").hidden = !shown;
}

/**
 * Returns a function that brings every [data-live] part up to date with what the server renders at
 * url(). However often it is called, it asks at most once in `gap` ms, and once more after the last call.
 */
export function refresher({ url = () => location.href, gap = 700, onDone } = {}) {
  let timer = 0;
  let last = 0;
  let busy = false;
  let again = false;

  async function run() {
    timer = 0;
    busy = true;
    again = false;
    last = performance.now();
    const wanted = url();
    try {
      const answer = await fetch(wanted, { headers: { Accept: "text/html" } });
      // The reader may have moved on meanwhile; what comes too late is not shown.
      if (answer.ok && wanted === url()) {
        replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
        onDone?.();
      }
    } catch {
      // The farm is away: the stream notices, and refreshes when it is back.
    }
    busy = false;
    if (again || wanted !== url()) soon();
  }

  function soon(now = false) {
    if (busy) {
      again = true;
      return;
    }
    if (now) clearTimeout(timer);
    else if (timer) return;
    timer = setTimeout(run, now ? 0 : Math.max(60, last + gap - performance.now()));
  }
  return soon;
}

function replace(fresh) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const twin = fresh.getElementById(part.id);
    if (twin) morph(part, twin);
  }
  document.title = fresh.title;
}
