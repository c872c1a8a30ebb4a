// The list of jobs, kept live.

import { controlling, settled } from "./control.js";
import { listen, refresher } from "./live.js";
import { tick } from "./words.js";

const refresh = refresher({
  gap: 1000,
  onDone() {
    tick();
    settled();
  },
});
// A row shows whole frames; samples and tiles do not change it.
const SHOWN = new Set(["job.state", "job.planned", "frame.state", "frame.verified", "output.committed", "worker.state", "job.waits", "job.control", "job.costs"]);

tick();
settled();
controlling(() => refresh(true));
setInterval(tick, 30_000);
listen({ onEvent: (event) => SHOWN.has(event.kind) && refresh(), onBack: refresh });
