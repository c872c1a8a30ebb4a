"""``python -m tests.integration.dispatch.one_head URL``: a dispatcher as a process, with scripted workers.

It begins as `farm.dispatch.__main__` does and ends with its exit codes; two workers take a while for
each frame.
"""

from __future__ import annotations

import asyncio
import sys

from farm.dispatch.headship import AnotherHead, wait_until_free
from farm.dispatch.loop import Dispatcher
from farm.domain.work import Failure, Order, Result
from farm.storage import MemoryStorage
from farm.store import Database
from farm.store.head import Fenced
from tests.fakes.cluster import ScriptedCluster, obedient


async def steady(order: Order) -> Result | Failure:
    await asyncio.sleep(0.2)
    return await obedient(order)


async def dispatch(url: str) -> None:
    store = Database(url)
    wait_until_free(store)
    dispatcher = Dispatcher(store, MemoryStorage(), ScriptedCluster(2, steady))
    await dispatcher.run()


if __name__ == "__main__":
    try:
        asyncio.run(dispatch(sys.argv[1]))
    except Fenced:
        sys.exit(3)
    except AnotherHead as error:
        sys.stdout.write(f"{error.what} {error.cure}\n")
        sys.exit(4)
