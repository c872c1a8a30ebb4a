"""Pure values and rules; imports nothing of ours."""
