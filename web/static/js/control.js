// What can be done to a job from a page: pause, resume, retry, cancel (which asks in place), priority.

/** Wires every [data-do] and [data-priority] of the page; onDone after each answer of the farm. */
export function controlling(onDone) {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("button[data-do]");
    if (button) await act(button, onDone);
    const asked = event.target.closest?.(".ask button");
    if (asked?.matches("[data-ask]")) ask(asked.closest(".ask"));
    if (asked?.matches("[data-no]")) back(asked.closest(".ask"));
  });
  document.addEventListener("change", async (event) => {
    const field = event.target.closest?.("input[data-priority]");
    if (field) await prioritise(field, onDone);
  });
  document.addEventListener("keydown", (event) => {
    const open = document.activeElement?.closest(".ask");
    if (event.key === "Escape" && open) back(open);
    if (event.key === "Escape" && event.target.matches?.("input[data-priority]")) unedited(event.target);
  });
}

const shown = new WeakMap(); // what a field was last given; another value is somebody's, being typed

/** A field that nobody edits shows what the farm says; morphing sets only what it says by default. */
export function settled() {
  for (const field of document.querySelectorAll("input[data-priority]")) {
    if (field.value === (shown.get(field) ?? field.value)) unedited(field);
  }
}

async function act(button, onDone) {
  const box = button.closest(".ask") ?? button;
  const buttons = box === button ? [button] : box.querySelectorAll("button");
  buttons.forEach((one) => (one.disabled = true));
  await send(button.dataset.job, button.dataset.do, button.dataset.body);
  buttons.forEach((one) => (one.disabled = false));
  if (box !== button) back(box);
  onDone();
}

async function prioritise(field, onDone) {
  if (!field.reportValidity() || field.value === "") return unedited(field);
  if (field.value === field.defaultValue) return;
  field.disabled = true;
  const done = await send(field.dataset.job, "change", JSON.stringify({ priority: Number(field.value) }));
  field.disabled = false;
  if (done) field.defaultValue = field.value;
  unedited(field);
  onDone();
}

function unedited(field) {
  field.value = field.defaultValue;
  shown.set(field, field.value);
}

/** Asks the farm; what it refuses, and what it notes, is told in the page. True where it was done. */
async function send(job, verb, body) {
  const home = `/api/jobs/${encodeURIComponent(job)}`;
  const call = verb === "change" ? { method: "PATCH", body, headers: { "Content-Type": "application/json" } } : { method: "POST" };
  try {
    const answer = await fetch(verb === "change" ? home : `${home}/${verb}`, call);
    const said = await answer.json();
    tell(answer.ok ? said.notes.join(" ") : `${said.detail} ${said.cure}`);
    return answer.ok;
  } catch {
    tell("The farm does not answer. Try again when it is back.");
    return false;
  }
}

function tell(words) {
  const place = document.getElementById("trouble");
  place.querySelector("span").textContent = words;
  place.hidden = !words;
}

function ask(box) {
  for (const other of document.querySelectorAll(".ask .sure:not([hidden])")) back(other.closest(".ask"));
  box.querySelector("[data-ask]").hidden = true;
  box.querySelector(".sure").hidden = false;
  box.querySelector("[data-no]").focus();
}

function back(box) {
  const sure = box.querySelector(".sure");
  const open = !sure.hidden;
  sure.hidden = true;
  const first = box.querySelector("[data-ask]");
  first.hidden = false;
  if (open) first.focus();
}
