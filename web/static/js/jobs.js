// The list of jobs, kept live.

import { listen, refresher } from "./live.js";
import { tick } from "./words.js";

const refresh = refresher({ gap: 1000, onDone: tick });
// A row shows whole frames; samples and tiles do not change it.
const SHOWN = new Set(["job.state", "job.planned", "frame.state", "frame.verified", "output.committed", "worker.state"]);

tick();
setInterval(tick, 30_000);
listen({ onEvent: (event) => SHOWN.has(event.kind) && refresh(), onBack: refresh });
