"""``python -m farm.dispatch``: the dispatcher as a process.

Ends with 0 when asked to (SIGTERM), with 1 when something that it needs is away, with 3 when another
dispatcher has taken over, and with 4, at its start, when another one lives on its database; whoever
supervises it starts it again.

``--beat FILE`` has it touch a file after each beat that was committed, for whoever watches over it.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from farm.cluster.rays import RayCluster
from farm.dispatch.headship import AnotherHead, wait_until_free
from farm.dispatch.loop import Dispatcher
from farm.domain.errors import TesseraError
from farm.settings import Settings
from farm.storage import open_storage
from farm.store import Database
from farm.store.head import Fenced

log = logging.getLogger("farm.dispatch")

#: Seconds after which it is told that SQLite is locked; the turn goes on waiting. Less than it may go without
#: a beat.
_LOCKED = 6.0


async def dispatch(settings: Settings, beaten: Callable[[], None] = lambda: None) -> None:
    """Run until SIGTERM or SIGINT. Raises `AnotherHead` where another dispatcher lives."""
    store = Database(settings.database, _LOCKED)
    loop = asyncio.get_running_loop()
    free = loop.run_in_executor(None, wait_until_free, store)  # while the cluster is sought
    cluster = RayCluster(settings)
    await free
    dispatcher = Dispatcher(store, open_storage(settings.storage), cluster, beaten=beaten)
    running = asyncio.create_task(dispatcher.run())
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, running.cancel)
    try:
        await running
    except asyncio.CancelledError:
        log.info("asked to stop; the workers go on")
    finally:
        await dispatcher.close()
        cluster.close()
        store.close()


def main() -> int:
    """Exit code of the process."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    parser = argparse.ArgumentParser(prog="python -m farm.dispatch")
    parser.add_argument("--beat", type=Path, help="a file to touch after each beat")
    beat: Path | None = parser.parse_args().beat
    try:
        asyncio.run(dispatch(Settings(), beat.touch if beat else lambda: None))
    except Fenced as error:
        log.error("another dispatcher has taken over: %s", error)
        return 3
    except AnotherHead as error:
        log.error("%s %s", error.what, error.cure)
        return 4
    except TesseraError as error:
        log.error("%s %s", error.what, error.cure)
        return 1
    except OSError as error:
        log.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
