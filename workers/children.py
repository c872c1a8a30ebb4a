"""A child process of the worker: started, spoken to, watched and killed."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import sys
from collections.abc import Callable
from typing import Any

from farm.domain.work import Cause
from workers import families
from workers.deaths import explained, oom_kills
from workers.failures import AttemptFailed, said_by_child
from workers.launch import Launch
from workers.logs import AttemptLog
from workers.protocol import (
    MAX_LINE,
    Beat,
    Count,
    Done,
    Failed,
    ProtocolFault,
    Ready,
    Request,
    decode,
    encode,
)
from workers.vigil import Patience, Vigil

OnCount = Callable[[Count], None]
_TICK_SECONDS = 1.0
_LAST_WORDS_SECONDS = 2.0  # between the end of a child's messages and its own end
_WRAPPER_SECONDS = 1.0  # for bubblewrap to follow its dead child
_REAP_SECONDS = 5.0


class Child:
    """One child process and its pipes. Made by `start`; one request at a time.

    Guarantee: once `kill` has returned, the process and all it started are dead, and reaped where they
    are ours to reap. Every failure of `ask` is an `AttemptFailed`; the child is dead then, unless it
    answered `Failed`, which is an answer like any other. To be used from one event loop.
    """

    def __init__(self, launch: Launch, log: AttemptLog, patience: Patience) -> None:
        self.log = log  # of the attempt that runs; set anew for each attempt
        self.ready = Ready(program="")
        self.peak_memory = 0  # bytes
        self._launch = launch
        self.patience = patience  # with the answers to come; set anew for each attempt
        self._process: asyncio.subprocess.Process | None = None
        self._readers: asyncio.Future[Any] | None = None
        self._answer: asyncio.Future[Ready | Done | Failed | None] | None = None  # None: there is none
        self._vigil: Vigil | None = None
        self._on_count: OnCount | None = None
        self._fault: AttemptFailed | None = None
        self._ended = False  # its messages have come to an end
        self._struck: list[Any] = []
        self._ooms = oom_kills()

    @classmethod
    async def start(cls, launch: Launch, log: AttemptLog, patience: Patience) -> Child:
        """Start a child and wait until it says what it is; raises `AttemptFailed`."""
        child = cls(launch, log, patience)
        try:
            await child._spawn()
            ready = await child._awaited(None)
            if not isinstance(ready, Ready):
                raise AttemptFailed(Cause.INTERNAL, f"{launch.program} answered before it was asked.")
        except BaseException:
            await child.kill()
            raise
        child.ready = ready
        return child

    @property
    def pid(self) -> int:
        """Of the process that was started: bubblewrap's, where there is a sandbox."""
        return self._process.pid if self._process else 0

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None and not self._ended

    def memory(self) -> int:
        """Resident bytes of the process and all it started, now."""
        return families.memory(self.pid) if self.alive else 0

    async def ask(self, request: Request, on_count: OnCount | None = None) -> Done:
        """Send a request and wait for its answer; raises `AttemptFailed` with the reason."""
        if self._answer is not None:
            raise RuntimeError("a child is asked one thing at a time")
        self._on_count = on_count
        try:
            answer = await self._awaited(request)
            if isinstance(answer, Ready):
                raise AttemptFailed(
                    Cause.INTERNAL, f"{self._launch.program} said who it is instead of answering."
                )
        except BaseException:
            await self.kill()
            raise
        finally:
            self._on_count = None
        if isinstance(answer, Failed):
            raise said_by_child(answer.cause, answer.what, answer.cure, answer.pieces, self.peak_memory)
        self.peak_memory = max(self.peak_memory, answer.peak_memory)
        return answer

    def strike(self) -> None:
        """Kill the process and all it started, at once and without waiting."""
        if self._process is not None and self._process.returncode is None:
            self._struck += families.strike(self._process.pid, wrapped=self._launch.sandboxed)

    async def kill(self) -> None:
        """`strike`, then reap. May be called twice, and goes on where the caller is cancelled."""
        self.strike()
        await asyncio.shield(asyncio.ensure_future(self._reap()))

    async def _spawn(self) -> None:
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._launch.argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=dict(self._launch.env),
                cwd=self._launch.folder,
                limit=MAX_LINE,
                start_new_session=True,
            )
        except OSError as error:
            raise AttemptFailed(
                Cause.INTERNAL,
                f"{self._launch.program} could not be started ({error.strerror}: {error.filename}).",
                "Run “farm doctor” on the worker.",
            ) from error
        if sys.platform == "linux":  # an aborting Blender would leave gigabytes of core dump
            with contextlib.suppress(OSError):
                resource.prlimit(self._process.pid, resource.RLIMIT_CORE, (0, 0))
        self._readers = asyncio.gather(
            self._read_messages(self._process), self._read_log(self._process), return_exceptions=True
        )

    async def _awaited(self, request: Request | None) -> Ready | Done | Failed:
        """The next answer (the first, without a request), while the child is watched."""
        loop = asyncio.get_running_loop()
        if self._process is None or not self.alive:
            raise await self._death()
        vigil = self._vigil = Vigil(
            self._launch.program,
            self.patience,
            lambda: families.computed(self.pid),
            loop.time(),
            starting=request is None,
        )
        answer: asyncio.Future[Ready | Done | Failed | None] = loop.create_future()
        self._answer = answer
        try:
            if request is not None and self._process.stdin is not None:
                self._process.stdin.write(encode(request))  # not drained: it may be past reading
            tick = min(_TICK_SECONDS, self.patience.silence / 4, self.patience.idle / 10)
            while not answer.done():
                await asyncio.wait([answer], timeout=tick)
                if not answer.done():
                    vigil.check(loop.time())
            found = answer.result()
        finally:
            self._answer = self._vigil = None
        if found is None:
            raise await self._death()
        return found

    async def _death(self) -> AttemptFailed:
        """Reap a child that is at its end, and say why it is."""
        if self._process is None:
            return AttemptFailed(Cause.INTERNAL, f"{self._launch.program} was not started.")
        if self._fault is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _LAST_WORDS_SECONDS)
        code = self._process.returncode
        await self.kill()
        if self._fault is not None:
            return self._fault
        if code is None:
            return AttemptFailed(
                Cause.CRASH, f"{self._launch.program} closed its pipes in the middle of its work."
            )
        return explained(
            self._launch.program,
            code,
            self.log.tail,
            sandboxed=self._launch.sandboxed,
            oom_killed=oom_kills() > self._ooms,
            peak_memory=self.peak_memory,
        )

    async def _reap(self) -> None:
        if self._process is None or self._readers is None:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _WRAPPER_SECONDS)
        if self._process.returncode is None:
            families.strike(self._process.pid)
        try:
            async with asyncio.timeout(_REAP_SECONDS):
                await self._process.wait()
                await asyncio.wait([self._readers])
        except TimeoutError:  # somebody who got away holds the pipes open: nothing more is wanted of them
            self._readers.cancel()
            self._process._transport.close()  # type: ignore[attr-defined]  # there is no public way
        await families.gone(self._struck, _REAP_SECONDS)

    async def _read_messages(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None  # noqa: S101  it was asked for
        try:
            while line := await process.stdout.readline():
                self._take(line)
                await asyncio.sleep(0)  # a flood of messages must not starve the worker
        except (ProtocolFault, ValueError) as error:  # ValueError: a line beyond MAX_LINE
            self._fault = AttemptFailed(
                Cause.INTERNAL,
                f"{self._launch.program} sent something that is not a message ({str(error)[:200]}).",
                "The scene may have made Blender write into its own pipes; the log may name the reason.",
            )
            self.strike()
        finally:
            self._ended = True
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(None)

    async def _read_log(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None  # noqa: S101  it was asked for
        while data := await process.stderr.read(65536):
            self.log.write(data)

    def _take(self, line: bytes) -> None:
        """Act on a message; raises `ProtocolFault` for one that a child may not send now."""
        message = decode(line)
        now = asyncio.get_running_loop().time()
        if self._vigil is not None:
            self._vigil.heard(now)
        match message:
            case Beat():
                self.peak_memory = max(self.peak_memory, message.peak_memory)
            case Count():
                if self._vigil is not None:
                    self._vigil.counted(now)
                if self._on_count is not None:
                    self._on_count(message)
            case Ready() | Done() | Failed():
                if self._answer is None or self._answer.done():
                    raise ProtocolFault("an answer to nothing")
                self._answer.set_result(message)
            case _:
                raise ProtocolFault(f"a {type(message).__name__}, which only a worker may send")
