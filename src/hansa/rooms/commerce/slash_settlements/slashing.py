"""Apply a slash that another registry asked for and that was approved: the bond first, then liquid units as far as they reach.

Destroy units of a defendant here: its bond first, then liquid units as far as they reach.
"""

import msgspec

from hansa.foundation.events import DisputeSlash
from hansa.foundation.plumbing.jobs import Job, TransactionalKind, sweep_of
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor, format_amount
from hansa.rooms import journal, ledger, transfers
from hansa.rooms.commerce.bonds import SLASH_BOND, BondSlash, SlashBond

from . import settlement as protocol
from . import store
from .inbox import SLASHES
from .records import Kept
from .settlement import Claim, Direction, Status

EXPIRED_AT_ONCE = 500
SWEEP_SECONDS = 60.0


async def apply_slash(tx: Tx, settlement_id: int, slash_bond: SlashBond, settings: Settings) -> None:
    """Destroy units of the defendant and record the outcome for the peer, once.

    Units destroyed for the same payment under another number count: the peer has lost that ruling, and made it again.
    """
    found = await store.find(tx, settlement_id)
    if found is None:
        return
    await transfers.lock_chain(tx, found.peer)
    kept = await store.find(tx, settlement_id, lock=True)
    if kept is None or kept.settlement.status is not Status.SLASHING:
        return
    if kept.settlement.direction is Direction.OUTGOING:
        return
    claim = kept.settlement.claim
    most = Minor(kept.settlement.slashed or claim.amount)
    before = await store.slashed_before(tx, kept.peer, claim, kept.settlement.payment)
    if before is not None:
        after = protocol.applied(kept.settlement, min(before.settlement.slashed, most))
        more = store.Written(tx_id=before.row["tx_id"], send=True)
        await store.write(tx, settlement_id, after, more)
        await store.record(tx, kept, after)
        return
    reference = f"{ledger.DISPUTE_REFERENCE}{kept.frame}:{claim.dispute_id}"
    done = await destroy(tx, Slash(claim, most, reference), slash_bond, settings)
    after = protocol.applied(kept.settlement, done.amount)
    await store.write(tx, settlement_id, after, store.Written(tx_id=done.tx_id, send=True))
    if not done.amount:
        if kept.settlement.slashed:
            await store.note_uncollected(tx, settlement_id)
        return
    await record_slash(tx, kept, done)
    await store.record(tx, kept, after)


async def expire_overdue(tx: Tx) -> None:
    """End the settlements that were not decided in 24 hours; an outgoing one only shows it until the peer's signed outcome is here."""
    timestamp = await clock.seconds(tx)
    for stored in await store.overdue(tx, EXPIRED_AT_ONCE):
        after = protocol.on_time(stored.settlement, timestamp)
        is_decided = stored.settlement.direction is Direction.INCOMING
        await store.write(tx, stored.settlement_id, after, store.Written(send=is_decided))


async def _run(tx: Tx, runtime: Runtime, job: Job) -> None:
    await apply_slash(tx, job.payload["settlement_id"], SLASH_BOND.of(runtime), runtime.settings)


class Slash(msgspec.Struct, frozen=True):
    """How much is destroyed at most; minor units. `reference` is used once in the ledger."""

    claim: Claim
    most: Minor
    reference: str


class Destroyed(msgspec.Struct, frozen=True):
    """Destroyed units; `tx_id` is None where there were none."""

    claim: Claim
    from_bond: Minor
    from_liquid: Minor
    bond_tx_id: int | None
    tx_id: int | None

    @property
    def amount(self) -> Minor:
        """In all."""
        return Minor(self.from_bond + self.from_liquid)


async def destroy(tx: Tx, slash: Slash, slash_bond: SlashBond, settings: Settings) -> Destroyed:
    """Destroy them, once for each reference."""
    did = slash.claim.defendant_did
    bond = await slash_bond(tx, BondSlash(did, slash.most, f"{slash.reference}:bond"), settings)
    liquid, tx_id = ZERO, None
    if rest := Minor(slash.most - bond.amount):
        order = ledger.orders.destroy(did, rest, slash.reference, at_most=True)
        (done,) = await ledger.apply(tx, [order], ledger.Book.of(settings))
        liquid, tx_id = (done.moved, done.tx_id) if done.tx_id is not None else (ZERO, None)
    return Destroyed(slash.claim, bond.amount, liquid, bond.tx_id, bond.tx_id if tx_id is None else tx_id)


async def record_slash(tx: Tx, kept: Kept, done: Destroyed) -> None:
    """Write the event of the units destroyed for a settlement."""
    assert done.tx_id is not None
    slashed = DisputeSlash(
        did=done.claim.defendant_did,
        dispute_id=done.claim.dispute_id,
        amount=format_amount(done.amount),
        from_bond=format_amount(done.from_bond),
        from_liquid=format_amount(done.from_liquid),
        currency=done.claim.currency,
        tx_id=done.tx_id,
        bond_tx_id=done.bond_tx_id,
        settlement_id=kept.settlement_id,
        counterparty_frame=kept.frame,
    )
    await journal.append(tx, slashed)


SLASHING_JOBS = (
    TransactionalKind(SLASHES, _run),
    sweep_of("commerce: settlements without a decision", SWEEP_SECONDS, store.HAS_OVERDUE, expire_overdue),
)
