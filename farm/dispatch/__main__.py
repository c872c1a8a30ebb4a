"""``python -m farm.dispatch``: the dispatcher as a process.

Ends with 0 when asked to (SIGTERM), and with another code when something it needs is away or when
another dispatcher has taken over; whoever supervises it starts it again.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys

from farm.cluster.rays import RayCluster
from farm.dispatch.loop import Dispatcher
from farm.domain.errors import TesseraError
from farm.settings import Settings
from farm.storage import open_storage
from farm.store import Database
from farm.store.head import Fenced

log = logging.getLogger("farm.dispatch")


async def dispatch(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT."""
    store = Database(settings.database)
    cluster = RayCluster(settings)
    dispatcher = Dispatcher(store, open_storage(settings.storage), cluster)
    running = asyncio.create_task(dispatcher.run())
    loop = asyncio.get_running_loop()
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
    try:
        asyncio.run(dispatch(Settings()))
    except Fenced as error:
        log.error("another dispatcher has taken over: %s", error)
        return 3
    except TesseraError as error:
        log.error("%s %s", error.what, error.cure)
        return 1
    except OSError as error:
        log.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
