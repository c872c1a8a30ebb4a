"""The verbs, one file a noun. Every way into the farm goes through here; every call carries a Principal.

All functions are synchronous and thread-safe, and raise only `farm.domain.errors`.
"""
