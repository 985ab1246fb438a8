"""Job that carries out requests whose delay has ended, each in a transaction of its own."""

from functools import partial
from uuid import UUID

from hansa.foundation.plumbing.jobs import scheduled
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .acts import carry_out_delayed
from .kinds import kinds_of

EVERY_SECONDS = 10
AT_ONCE = 100


async def carry_out_due(runtime: Runtime) -> None:
    """Carry out the requests that are due. One that is refused waits for an act of a member."""
    for organization_id, request_id in await runtime.database.query(lambda tx: store.due(tx, limit=AT_ONCE)):
        await runtime.database.transaction(partial(_carry_out, runtime, organization_id, request_id))


async def _carry_out(runtime: Runtime, organization_id: UUID, request_id: UUID, tx: Tx) -> None:
    await carry_out_delayed(tx, runtime, kinds_of(runtime), organization_id, request_id)


async def _has_due(tx: Tx) -> bool:
    return bool(await store.due(tx, limit=1))


DELAYED_REQUESTS = scheduled(
    "organizations: delayed requests", EVERY_SECONDS, carry_out_due, has_work=_has_due
)
