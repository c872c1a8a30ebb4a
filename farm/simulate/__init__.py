"""The dispatcher on a farm that is not there: the real core, a clock of its own, and workers that only
say that they render. Pure but for the traces that it reads and the plot that it writes."""
