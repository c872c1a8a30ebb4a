"""Side-by-side measurements, each one command: ``python -m benchmarks``."""
