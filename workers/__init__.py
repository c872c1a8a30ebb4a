"""What runs on a worker machine."""
