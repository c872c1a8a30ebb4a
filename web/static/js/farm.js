// The farm's workers, kept live. A part that goes away sends no event, so it is asked now and then.

import { listen, refresher } from "./live.js";

const refresh = refresher({ gap: 1000 });

setInterval(() => document.hidden || refresh(), 5000);
listen({ onEvent: () => refresh(), onBack: refresh });
