// Numbers as people say them; the same words as the server's (web/pages/words.py).

export function duration(seconds) {
  if (seconds < 10) return `${Math.max(seconds, 0).toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return pair(whole, 60, "min", 1, "s");
  if (whole < 86400) return pair(whole, 3600, "h", 60, "min");
  return pair(whole, 86400, "d", 3600, "h");
}

function pair(whole, big, bigUnit, small, smallUnit) {
  const rest = Math.floor((whole % big) / small);
  const first = `${Math.floor(whole / big)} ${bigUnit}`;
  return rest ? `${first} ${rest} ${smallUnit}` : first;
}

export function ago(then, now = Date.now()) {
  const past = (now - then) / 1000;
  if (past < 45) return "just now";
  if (past < 3600) return `${Math.max(1, Math.floor(past / 60))} min ago`;
  if (past < 86400) return `${Math.floor(past / 3600)} h ago`;
  const days = Math.floor(past / 86400);
  return days === 1 ? "1 day ago" : `${days} days ago`;
}

/** Keeps every <time data-ago> true, and tells it and <time data-clock> by the reader's own clock. */
export function tick() {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const then = new Date(time.dateTime);
    const words = ago(then);
    if (time.textContent !== words) time.textContent = words;
    time.title = then.toLocaleString();
  }
  for (const time of document.querySelectorAll("time[data-clock]")) {
    const then = new Date(time.dateTime);
    const today = then.toDateString() === new Date().toDateString();
    const words = then.toLocaleString([], today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
    if (time.textContent !== words) time.textContent = words;
    const cut = time.closest(".why");
    if (cut) cut.title = cut.textContent;
  }
}
