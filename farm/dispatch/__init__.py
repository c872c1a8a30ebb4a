"""The dispatcher: a pure core (events in, instructions out) and the loop that runs it."""
