"""Writing a baseline: the balances of one moment, compared with the balances by the log at the same moment.

Balance of an account now: its amount in the newest baseline + every ledger event after it.
"""

from collections.abc import AsyncIterator

import msgspec

from hansa.foundation.events import HeldBalance, ProjectionSnapshot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import format_amount
from hansa.rooms.journal.append import append
from hansa.rooms.journal.ledger_readings import Held, LedgerReadings

from . import store
from .errors import ProjectionDiverges, SnapshotWithheld

BALANCES_PER_EVENT = 1000


class Baseline(msgspec.Struct, frozen=True):
    """Baseline that was written: its first event, and its content."""

    event_id: str
    sequence: int
    position: str
    balances: int
    events: int


async def write_baseline(
    tx: Tx, readings: LedgerReadings, *, frame: str, currency: str, administrator: Developer
) -> Baseline:
    """Write the balances of all accounts as the baseline of projections. `tx` is fresh, or reads one moment already.

    Raises: ProjectionDiverges, SnapshotWithheld.
    """
    await store.read_one_moment(tx)
    position = await store.present_position(tx)
    count, part, held = 0, 0, list[HeldBalance]()

    async def write(*, is_last: bool) -> None:
        event = ProjectionSnapshot(
            frame=frame, currency=currency, position=position, part=part, is_last=is_last, balances=held
        )
        await append(tx, event)

    async for one in _agreed(readings.balances(tx), projected_balances(tx)):
        if len(held) == BALANCES_PER_EVENT:
            await write(is_last=False)
            part, held = part + 1, []
        held.append(HeldBalance(one.account, one.bucket, format_amount(one.amount)))
        count += 1
    await write(is_last=True)
    written = await store.own_baseline(tx)
    if written is None:
        raise SnapshotWithheld
    await record_admin_act(tx, administrator, act="projection_snapshot.write", subject=str(written.id))
    return Baseline(str(written.id), written.sequence, position, count, part + 1)


async def _agreed(ledger: AsyncIterator[Held], log: AsyncIterator[Held]) -> AsyncIterator[Held]:
    """Yield the balances on which both sides agree, in step: each yields its balances in the same order. Raises: ProjectionDiverges."""
    async for held in ledger:
        if await anext(log, None) != held:
            raise ProjectionDiverges(context={"account": held.account, "bucket": held.bucket})
        yield held
    if (extra := await anext(log, None)) is not None:
        raise ProjectionDiverges(context={"account": extra.account, "bucket": extra.bucket})


async def projected_balances(tx: Tx, *, from_zero: bool = False) -> AsyncIterator[Held]:
    """Yield the balance of every bucket by the log, ordered by account and bucket; empty ones are left out."""
    baseline = None if from_zero else await store.newest_baseline(tx)
    async for held in store.fold_balances(tx, baseline or store.NOTHING_YET):
        yield held
