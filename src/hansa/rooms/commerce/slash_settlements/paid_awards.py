"""A peer shows an award of this registry that it has paid: one that a restore lost here is recorded again.

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
from hansa.rooms import federation, ledger, transfers
from hansa.rooms.commerce.slash_bond import SlashBond

from . import settlement as protocol
from . import store
from .destroying import Destroyed, Slash, destroy, record_slash
from .envelope import Paid, SignedAward
from .records import Kept
from .settlement import Direction, Receipt, Settlement, Status


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
    """Record an award that the peer has paid; return the receipt for it, None where it speaks of agents that are not its own."""
    claim, award = shown.signed.claim, shown.signed.award
    if not await transfers.observe_in_chain(tx, shown.spiffe_id, shown.paid.positions, store.reopen):
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
        # Its award is not sent again, where it was due since a restore. A receipt of it stays the evidence.
        evidence = shown.evidence if known.row["outcome"] is None else None
        await store.write(tx, known.settlement_id, known.settlement, store.Written(outcome=evidence))
        return shown.receipt(known.settlement)
    if known is not None and protocol.is_sent(known.settlement, claim, award):
        # It is still sent, and the receipt for it is kept as evidence.
        return shown.receipt(replace(known.settlement, status=Status.SETTLED))
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
