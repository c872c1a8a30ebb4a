"""A turn: everything that happened since the last one, decided by the core and committed as one."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from farm.dispatch import instructions as do
from farm.dispatch.core import Core
from farm.dispatch.fleet import Told
from farm.dispatch.furnish import furnish, needs_furnishing
from farm.dispatch.journal import Journal
from farm.dispatch.news import News, left_by_earlier, look
from farm.dispatch.policy import unknown_ahead
from farm.domain.errors import Unavailable
from farm.store import Connection, Database, events, head

log = logging.getLogger(__name__)

#: How long a turn waits until the database lets it begin to write, and between two tries. Seconds.
_PATIENCE, _PAUSE = 60.0, 0.2
#: Rows of events that only matter while it happens: how long they are kept, and how often looked for.
_KEEP_PASSING, _FORGET_EVERY = 600.0, 20.0


@dataclass(frozen=True, slots=True)
class Done:
    """What is left to do once a turn is committed."""

    effects: list[do.Effect] = field(default_factory=list)
    doomed: list[str] = field(default_factory=list)  # keys to delete


class Turns:
    """Takes one turn after the other, each in one transaction that checks the epoch.

    To be used by one thread at a time. It never waits for storage, nor for a worker. For a database that is
    locked, or starts again, it does: until the transaction begins nothing of the turn is lost by that. Where
    one fails that has begun, the core knows of what may not be in the database: this core is of no use any
    more, and the next dispatcher goes on from the database.
    """

    def __init__(
        self,
        store: Database,
        core: Core,
        epoch: int,
        clock: Callable[[], float],
        beaten: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._core = core
        self._epoch = epoch
        self._clock = clock
        self._beaten = beaten
        self._forgot = 0.0
        self._ending = False

    def take(self, messages: list[Told], *, looks: bool = True, beats: bool = True) -> Done:
        """One turn; ``looks`` for what is new in the database too. Raises `Fenced`, `Unavailable`."""
        now = self._clock()
        news = self._read(looks)
        instructions: list[do.Instruction] = []
        for job in news.jobs:
            self._core.state.ended.pop(job.id, None)
        self._core.state.ended.update(news.ended)
        for job in news.jobs:
            instructions += self._core.take_up(job)
        for event in (*news.events, *(event for message in messages for event in message.events)):
            instructions += self._core.handle(event, now)
        instructions += self._core.assign(now)
        if not (messages or instructions or news.wishes or beats):
            return Done()
        return self._commit(instructions, news, now, beats=beats)

    def end(self) -> None:
        """Give the head up. Raises `Fenced` where it is another's, `Unavailable`."""
        self._ending = True
        with self._store.write() as connection:
            head.check(connection, self._epoch)
            head.give_up(connection)

    def _read(self, looks: bool) -> News:
        state = self._core.state
        if not looks and not any(unknown_ahead(job) for job in state.jobs.values()):
            return News()
        with self._store.read() as connection:
            news = look(connection, state) if looks else News()
            wanted = [job for job in (*state.jobs.values(), *news.jobs) if unknown_ahead(job)]
            news.events[:0] = left_by_earlier(connection, wanted)
            return news

    def _commit(self, instructions: list[do.Instruction], news: News, now: float, *, beats: bool) -> Done:
        """Also where nothing is to be written: what is heard is acknowledged only by the head that counts."""
        effects: list[do.Effect] = []
        with self._writing() as connection:
            head.check(connection, self._epoch)
            journal = Journal(connection, now)
            for instruction in instructions:
                if isinstance(instruction, do.SendOrder | do.CancelAttempt | do.ProbeWorker):
                    effects.append(instruction)
                else:
                    journal.write(instruction)
            journal.flush()
            if news.wishes:
                events.take_up(connection, news.wishes)
            if beats:
                head.beat(connection, now)
                self._forget_passing(connection, now)
        if beats:
            self._beaten()
        return Done(self._furnished(effects), journal.doomed)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A transaction, as soon as one can begin; whoever watches over this process sees it wait."""
        with ExitStack() as stack:
            yield self._begun(stack)

    def _begun(self, stack: ExitStack) -> Connection:
        began = time.monotonic()
        while True:
            try:
                return stack.enter_context(self._store.write())
            except Unavailable as away:
                if self._ending or time.monotonic() - began > _PATIENCE:
                    raise
                log.warning("a turn waits: %s", away.what)
            self._beaten()
            time.sleep(_PAUSE)

    def _forget_passing(self, connection: Connection, now: float) -> None:
        if now - self._forgot >= _FORGET_EVERY:
            events.forget_passing(connection, now - _KEEP_PASSING)
            self._forgot = now

    def _furnished(self, effects: list[do.Effect]) -> list[do.Effect]:
        """Orders with what they need of the database; read after the commit, so that nobody waits for it."""
        lacking = [e for e in effects if isinstance(e, do.SendOrder) and needs_furnishing(e.order)]
        if not lacking:
            return effects
        with self._store.read() as connection:
            full = {
                id(effect): replace(effect, order=furnish(connection, effect.order)) for effect in lacking
            }
        return [full.get(id(effect), effect) for effect in effects]
