// The cancel button, which asks in place.

export function cancelling(onDone) {
  document.addEventListener("click", async (event) => {
    const ask = event.target.closest?.("#cancel");
    if (!ask) return;
    const sure = ask.querySelector(".sure");
    const first = ask.querySelector("[data-ask]");
    if (event.target.closest("[data-ask]")) {
      first.hidden = true;
      sure.hidden = false;
      sure.querySelector("[data-no]").focus();
    } else if (event.target.closest("[data-no]")) {
      back(ask);
    } else if (event.target.closest("[data-yes]")) {
      await cancel(ask, onDone);
    }
  });
  document.addEventListener("keydown", (event) => {
    const ask = document.getElementById("cancel");
    if (event.key === "Escape" && ask?.contains(document.activeElement)) back(ask);
  });
}

function back(ask) {
  ask.querySelector(".sure").hidden = true;
  const first = ask.querySelector("[data-ask]");
  first.hidden = false;
  first.focus();
}

async function cancel(ask, onDone) {
  const buttons = ask.querySelectorAll("button");
  const trouble = ask.querySelector(".trouble");
  buttons.forEach((button) => (button.disabled = true));
  try {
    const answer = await fetch(`/api/jobs/${encodeURIComponent(ask.dataset.job)}/cancel`, { method: "POST" });
    const problem = answer.ok ? null : await answer.json();
    trouble.textContent = problem ? `${problem.detail} ${problem.cure}` : "";
  } catch {
    trouble.textContent = "The farm does not answer. Try again when it is back.";
  }
  buttons.forEach((button) => (button.disabled = false));
  back(ask);
  onDone();
}
