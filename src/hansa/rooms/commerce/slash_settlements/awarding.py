"""A complainant of another registry is compensated there for a slash that was decided and applied here, and the reverse.

The registry that slashed repeats the signed award, with the facts of the dispute, until the other has answered. Units are
issued once for each (peer, dispute), and once for each payment and complainant, in the commit that keeps the award. The
registry that paid then shows the award, until the one that ruled has confirmed it.

A peer shows an award of this registry that it has paid: one that a restore lost here is recorded again.

The defendant's units, which the restore brought back, are destroyed again, less the units that a ruling about the same payment has
destroyed since. The registry that paid repeats it until it has a receipt.
"""

import json

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, federation, journal, ledger, transfers
from hansa.rooms.commerce.bonds import SlashBond

from . import settlement as protocol
from . import store
from .envelope import Paid, SignedAward
from .inbox import Compensated, Owed, compensate, minted
from .opening import Request, admit, is_signed_verdict, open_settlement
from .records import Kept
from .settlement import Award, Claim, Direction, Receipt, Settlement, Status
from .slashing import Destroyed, Slash, destroy, record_slash

SHOWN_AFTER_SECONDS = 12.0
"""After an award was paid it is shown to the registry that ruled, which by then has the receipt."""


class Awarded(msgspec.Struct, frozen=True):
    """Award of a ruling for a complainant of a peer against a defendant here; minor units, `tx_id` that of the slash."""

    claim: Claim
    slashed: int
    compensation: int
    tx_id: int | None
    payment: str | None


async def begin_award(tx: Tx, peer: federation.PeerRecord, ruled: Awarded) -> None:
    """Let the peer be sent the award, from the commit of the ruling on; nothing where nothing was destroyed."""
    assert peer.spiffe_id is not None
    assert peer.ledger_id is not None
    if not ruled.slashed:
        return
    timestamp = await clock.seconds(tx)
    new = protocol.awarded(ruled.claim, ruled.slashed, ruled.compensation, timestamp, ruled.payment)
    settlement_id = await store.add(tx, peer.spiffe_id, peer.ledger_id, new, None, is_due=True)
    await store.write(tx, settlement_id, new, store.Written(tx_id=ruled.tx_id))


async def take_award(tx: Tx, request: Request, signed: SignedAward, settings: Settings) -> Settlement | None:
    """Issue an award of a peer to an agent here, or find that it was issued; None where nothing is answered.

    A payment that was compensated by another award is not compensated again: the peer is shown that one, or this one is refused
    where that one cannot be shown. An award of before a restore counts for nothing.

    Raises: PeerLimitReached, MintTooLarge, SupplyExhausted: nothing was changed, and the peer sends the award again.
    """
    assert request.peer.spiffe_id is not None
    award = signed.award
    positions = signed.positions
    if await transfers.observe_in_chain(tx, request.peer.spiffe_id, positions, store.reopen) is None:
        return None
    admitted = await admit(tx, request, Direction.OWED, settings)
    if admitted is None:
        return None
    paid = await store.about(tx, request.peer.spiffe_id, Direction.OWED, request.claim, request.payment)
    is_paid = paid is not None and paid.settlement.status is Status.SETTLED
    if paid is not None and is_paid and protocol.is_other_award(paid.settlement, request.claim, award):
        return await _answer_beside(tx, paid, request.claim, award)
    if admitted.known is not None:
        return admitted.known.settlement
    refusal = await _why_refused(tx, request, award, settings)
    timestamp = await clock.seconds(tx)
    after = protocol.compensated(request.claim, award, refusal, timestamp)
    settlement_id = await open_settlement(tx, request, after, is_due=False)
    if settlement_id is None:
        return None
    await _issue(tx, request.peer, settlement_id, after, settings)
    return after


async def _answer_beside(tx: Tx, paid: Kept, claim: Claim, award: Award) -> Settlement | None:
    """None where the author is shown the award by which the payment was compensated.

    Where that one cannot be shown, this one is refused for good: its author would repeat it for ever.
    """
    if await store.show_paid(tx, paid.settlement_id, in_seconds=0):
        return None
    return protocol.compensated(claim, award, protocol.PAID_BY_ANOTHER_AWARD, await clock.seconds(tx))


async def _issue(
    tx: Tx, peer: federation.PeerRecord, settlement_id: int, after: Settlement, settings: Settings
) -> None:
    if after.status is not Status.SETTLED:
        await store.write(tx, settlement_id, after)
        return
    assert peer.ledger_id is not None
    owed, claim = Minor(after.compensation), after.claim
    reference = f"{ledger.DISPUTE_REFERENCE}{peer.ledger_id}:{claim.dispute_id}"
    issued = await compensate(tx, peer, Owed(claim.complainant_did, owed, reference), settings)
    await store.write(tx, settlement_id, after, store.Written(tx_id=issued, compensated=owed))
    issued_here = Compensated(settlement_id, peer.ledger_id, owed, issued)
    await journal.append(tx, minted(after, issued_here, settings))
    stored = await store.find(tx, settlement_id)
    assert stored is not None
    await store.record(tx, stored, after)
    await store.show_paid(tx, settlement_id, in_seconds=SHOWN_AFTER_SECONDS)


async def _why_refused(tx: Tx, request: Request, award: Award, settings: Settings) -> str | None:
    claim = request.claim
    if claim.currency != settings.settlement_currency:
        return "CURRENCY_DIFFERS"
    if not 0 < award.compensation <= award.slashed <= claim.amount:
        return "AMOUNT_INVALID"
    if not is_signed_verdict(request):
        return "VERDICT_INVALID"
    if await agents.lock_status(tx, claim.complainant_did) is None:
        return "COMPLAINANT_UNKNOWN"
    return None


class PresentedAward(msgspec.Struct, frozen=True):
    """An award with the signature of this registry, the peer that has paid it, and the message by which it is shown."""

    peer: federation.PeerRecord
    signed: SignedAward
    paid: Paid

    @property
    def evidence(self) -> str | None:
        """Statement of the peer that it paid; None where it names no award."""
        return None if self.paid.award is None else self.paid.text

    def receipt(self, after: Settlement) -> Receipt:
        """Return the receipt for the peer."""
        return Receipt(self.signed.claim, after.status, after.reason, self.signed.award)

    @property
    def spiffe_id(self) -> str:
        """That of the peer."""
        assert self.peer.spiffe_id is not None
        return self.peer.spiffe_id


async def take_paid(
    tx: Tx, shown: PresentedAward, slash_bond: SlashBond, settings: Settings
) -> Receipt | None:
    """Record an award that the peer has paid; return the receipt for it.

    None where the peer speaks of agents that are not its own, and while the receipt for the award that it was sent is awaited.
    """
    claim, award = shown.signed.claim, shown.signed.award
    observed = await transfers.observe_in_chain(tx, shown.spiffe_id, shown.paid.positions, store.reopen)
    if observed is None:
        return None
    is_own = await federation.is_own_did(tx, claim.defendant_did, settings)
    if not is_own or not await federation.speaks_for(tx, shown.peer, claim.complainant_did, settings):
        await federation.count_refusal(tx, shown.peer.id, "foreign_namespace")
        return None
    await store.lock_peer(tx, shown.spiffe_id)
    payment = award.payment
    known = await store.about(tx, shown.spiffe_id, Direction.AWARDED, claim, payment)
    if known is not None and known.settlement.payment != payment:
        await federation.count_refusal(tx, shown.peer.id, "settlement_conflict")
        return None
    if known is not None and known.settlement.status is Status.SETTLED:
        if observed.is_current:
            # Its award is not sent again, where it was due since a restore. A receipt of it stays the evidence.
            evidence = shown.evidence if known.row["outcome"] is None else None
            await store.write(tx, known.settlement_id, known.settlement, store.Written(outcome=evidence))
        return shown.receipt(known.settlement)
    if known is not None and protocol.is_sent(known.settlement, claim, award):
        # It is still sent. Before its receipt is here and in the chain, a restore would lose what was confirmed, and nothing would show it.
        return None
    left = protocol.left_to_destroy(None if known is None else known.settlement, award)
    # What was destroyed in part is a transaction of its own.
    already = 0 if known is None else known.settlement.slashed
    reference = f"{ledger.DISPUTE_REFERENCE}{claim.dispute_id}:paid:{already}"
    slash = Slash(claim, Minor(left), reference)
    done = await destroy(tx, slash, slash_bond, settings) if left else None
    timestamp = await clock.seconds(tx)
    before = replace(protocol.awarded(claim, 0, 0, timestamp, payment), status=Status.SLASHING)
    after = protocol.after_payment(
        before if known is None else known.settlement, award, 0 if done is None else done.amount
    )
    await _write(tx, shown, known, after, done)
    return shown.receipt(after)


async def _write(
    tx: Tx, shown: PresentedAward, known: Kept | None, after: Settlement, done: Destroyed | None
) -> None:
    if known is None:
        assert shown.peer.ledger_id is not None
        frame = shown.peer.ledger_id
        settlement_id = await store.add(tx, shown.spiffe_id, frame, after, None, is_due=False)
        # The dispute is lost; the facts are sent again with the award where the peer loses it as well.
        verdict = json.dumps(shown.signed.verdict, ensure_ascii=False)
        await store.keep_verdict(tx, settlement_id, verdict)
    else:
        settlement_id = known.settlement_id
    tx_id = None if done is None or not done.amount else done.tx_id
    await store.write(tx, settlement_id, after, store.Written(tx_id=tx_id, outcome=shown.evidence))
    stored = await store.find(tx, settlement_id)
    assert stored is not None
    if done is not None and done.amount:
        await record_slash(tx, stored, done)
    if after.status is Status.SETTLED:
        await store.record(tx, stored, after)
    else:
        await store.note_uncollected(tx, settlement_id)


async def paid_before(
    tx: Tx, peer: federation.PeerRecord, claim: protocol.Claim, payment: str
) -> Settlement | None:
    """The award that this peer has paid about this payment, while rulings wait for each other; None where there is none."""
    assert peer.spiffe_id is not None
    await store.lock_peer(tx, peer.spiffe_id)
    found = await store.about(tx, peer.spiffe_id, Direction.AWARDED, claim, payment)
    return None if found is None else found.settlement
