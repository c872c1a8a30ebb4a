// A page that only keeps its top line live.

import { listen, refresher } from "./live.js";

const refresh = refresher({ gap: 2000 });
listen({ onEvent: (event) => event.kind !== "attempt.progress" && refresh(), onBack: refresh });
