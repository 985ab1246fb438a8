"""Apply a slash that another registry asked for and that was approved: the bond first, then liquid units as far as they reach."""

from hansa.foundation.events import DisputeSlash
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.jobs import Job, TransactionalKind, sweep_of
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.money import ZERO, Minor, format_amount
from hansa.rooms import journal, ledger, transfers
from hansa.rooms.commerce.slash_bond import SLASH_BOND, BondSlash, SlashBond

from . import settlement as protocol
from . import store
from .settlement import Direction, Status
from .taking_in import SLASHES

EXPIRED_AT_ONCE = 500
SWEEP_SECONDS = 60.0


async def apply_slash(tx: Tx, settlement_id: int, slash_bond: SlashBond, settings: Settings) -> None:
    """Destroy units of the defendant and record the outcome for the peer, once."""
    found = await store.find(tx, settlement_id)
    if found is None:
        return
    await transfers.lock_chain(tx, found.peer)
    kept = await store.find(tx, settlement_id, lock=True)
    if kept is None or kept.settlement.status is not Status.SLASHING:
        return
    if kept.settlement.direction is Direction.OUTGOING:
        return
    claim, book = kept.settlement.claim, ledger.Book.of(settings)
    reference = f"{ledger.DISPUTE_REFERENCE}{kept.frame}:{claim.dispute_id}"
    most = Minor(kept.settlement.slashed or claim.amount)
    bond = await slash_bond(tx, BondSlash(claim.defendant_did, most, f"{reference}:bond"), settings)
    liquid, liquid_tx_id = ZERO, None
    if rest := Minor(most - bond.amount):
        order = ledger.orders.destroy(claim.defendant_did, rest, reference, at_most=True)
        (done,) = await ledger.apply(tx, [order], book)
        liquid, liquid_tx_id = (done.moved, done.tx_id) if done.tx_id is not None else (ZERO, None)
    tx_id = bond.tx_id if liquid_tx_id is None else liquid_tx_id
    after = protocol.applied(kept.settlement, bond.amount + liquid)
    await store.write(tx, settlement_id, after, store.Written(tx_id=tx_id, send=True))
    if tx_id is None:
        if kept.settlement.slashed:
            await store.note_uncollected(tx, settlement_id)
        return
    slashed = DisputeSlash(
        did=claim.defendant_did,
        dispute_id=claim.dispute_id,
        amount=format_amount(after.slashed),
        from_bond=format_amount(bond.amount),
        from_liquid=format_amount(liquid),
        currency=claim.currency,
        tx_id=tx_id,
        bond_tx_id=bond.tx_id,
        settlement_id=settlement_id,
        counterparty_frame=kept.frame,
    )
    await journal.append(tx, slashed)
    await store.record(tx, kept, after)


async def expire_overdue(tx: Tx) -> None:
    """End what was not decided in 24 hours; an outgoing settlement only shows it until the peer's signed outcome is here."""
    moment = await store.now(tx)
    for kept in await store.overdue(tx, EXPIRED_AT_ONCE):
        after = protocol.on_time(kept.settlement, moment)
        is_decided = kept.settlement.direction is Direction.INCOMING
        await store.write(tx, kept.settlement_id, after, store.Written(send=is_decided))


async def _run(tx: Tx, runtime: Runtime, job: Job) -> None:
    await apply_slash(tx, job.payload["settlement_id"], SLASH_BOND.of(runtime), runtime.settings)


SLASHING_JOBS = (
    TransactionalKind(SLASHES, _run),
    sweep_of("commerce: settlements without a decision", SWEEP_SECONDS, store.HAS_OVERDUE, expire_overdue),
)
