"""Tessera's head: decides, remembers, serves."""

__version__ = "0.1.0"
