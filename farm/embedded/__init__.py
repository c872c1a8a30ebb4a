"""The one-machine farm: one supervisor for storage, Ray, the dispatcher and the page.

::

    farm up ──► guardian ──► supervisor ──► storage (weed), ray, dispatcher, web

Each part is started through `launcher`, so that the kernel ends it when the supervisor dies; the
guardian is the kernel's reaper for whatever those leave behind, so nothing outlives the farm.
"""
