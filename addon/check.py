"""The test button: does a farm answer at this address?"""

from __future__ import annotations

from threading import Thread

from .line import Line
from .trouble import Trouble
from .words import number


class Check:
    """One question to a farm, in a thread. ``answer`` is what came of it: whether it is well, and words."""

    def __init__(self, url: str, token: str) -> None:
        self.answer: tuple[bool, str, str] | None = None  # well, what, cure
        self._url, self._token = url, token
        self._thread = Thread(target=self._run, name="tessera-test", daemon=True)

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def wait(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            line = Line(self._url, self._token)
            farm = line.ask("GET", "/api/farm", wait=10)
            workers = len(farm["workers"])
            told = f"Tessera {farm['version']} answers, with {number(workers, 'worker')}."
            if farm["dispatcher"] != "alive" or farm["storage"] != "ok":
                self.answer = (False, f"{told} A part of it is away.", f"Look at {line.url}/farm")
            else:
                self.answer = (True, told, "" if workers else "Jobs wait until a worker is there.")
        except Trouble as trouble:
            self.answer = (False, trouble.what, trouble.cure)
        except (KeyError, TypeError):
            self.answer = (False, "What answers there is not a Tessera farm.", "Check the address.")
