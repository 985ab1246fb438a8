"""Write the gathered calls, and keep the last 1,000 of each developer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Unavailable

from . import store
from .batch import CALLS, CALLS_KEPT

EVERY_SECONDS = 5


async def write_calls(runtime: Runtime) -> None:
    """Write the calls of this process. Those that cannot be written are lost: no request waits for them."""
    gathered = CALLS.of(runtime).take()
    if not gathered:
        return

    async def written(tx: Tx) -> None:
        await store.insert(
            tx, [(developer_id, call) for developer_id, calls in gathered.items() for call in calls]
        )
        await store.trim(tx, sorted(gathered), CALLS_KEPT)

    await runtime.database.transaction(written)


@asynccontextmanager
async def writing_the_rest(runtime: Runtime) -> AsyncIterator[None]:
    """Write the calls gathered since the last round at an orderly stop."""
    yield
    with suppress(Unavailable):
        await write_calls(runtime)


WRITE_CALLS = PeriodicTask("people: write calls", EVERY_SECONDS, write_calls)
