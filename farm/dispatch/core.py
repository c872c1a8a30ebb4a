"""The pure core of the dispatcher: events in, instructions out."""
