"""Take a message of a peer about a settlement in: row, event and units in one transaction.

Payments that a slash of a peer may rest on without an administrator (Specification 6 W 19).

- A token or a contract that this complainant paid to this defendant, by a transfer that this registry credited itself. A plain transfer
  is no payment: anybody can send one to a stranger.
- The slash is at most the paid amount. A payment is used once, whichever number its dispute has (`commerce_slashed_payment`).
"""

from collections.abc import Sequence
from fractions import Fraction
from uuid import UUID

import msgspec

from hansa.foundation.events import DisputeCompensationMinted, DisputeCompensationRefused
from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import UNIT, Minor, format_amount, parse_amount
from hansa.rooms import agents, federation, journal, ledger, transfers
from hansa.rooms.commerce import contracts

from . import settlement as protocol
from . import store
from .envelope import Confirmation, SignedReceipt
from .opening import Request, admit, is_signed_verdict, open_settlement
from .records import Kept
from .settlement import Claim, Direction, Outcome, Settlement, Status

SLASHES = "commerce: slashes for peers"
AUTO_APPROVED_IN_A_DAY = Fraction(10)
"""Of a peer, as a multiple of its auto_slash_max_avt."""
TRANSFER, CONTRACT = "transfer:", "contract:"


async def take_request(tx: Tx, request: Request, settings: Settings) -> int | None:
    """Open a settlement at the defendant's registry, or find it again; its number, None where nothing is answered."""
    admitted = await admit(tx, request, Direction.INCOMING, settings)
    if admitted is None:
        return None
    if request.shown is not None and request.shown.status in protocol.DECIDED:
        return await _take_shown(tx, request, admitted.known, request.shown)
    if admitted.known is not None:
        return admitted.known.settlement_id
    refusal = await _why_refused(tx, request, settings)
    assert request.peer.spiffe_id is not None
    before = await store.slashed_before(tx, request.peer.spiffe_id, request.claim, request.payment)
    is_auto = refusal is None and before is None and await _is_auto_approved(tx, request)
    timestamp = await clock.seconds(tx)
    new = protocol.claimed(request.claim, refusal, timestamp, is_auto=is_auto, payment=request.payment)
    if before is not None and refusal is None:
        new = protocol.approved(new)
    settlement_id = await open_settlement(tx, request, new, is_due=new.status is Status.FAILED)
    if settlement_id is not None and new.status is Status.SLASHING:
        await order_slash(tx, settlement_id)
    return settlement_id


async def _take_shown(tx: Tx, request: Request, known: Kept | None, shown: Outcome) -> int | None:
    """Restore the decision of this registry from its signed outcome, which the peer shows because a restore lost it."""
    before = None if known is None else known.settlement
    after = protocol.decided_before(shown.claim, before, shown, await clock.seconds(tx))
    if known is None:
        assert after is not None
        settlement_id = await open_settlement(tx, request, after, is_due=False)
    else:
        settlement_id = known.settlement_id
        if after is not None:
            await store.write(tx, settlement_id, after)
    if after is not None and settlement_id is not None and after.status is Status.SLASHING:
        await order_slash(tx, settlement_id)
    return settlement_id


async def order_slash(tx: Tx, settlement_id: int) -> None:
    """Let the slash be applied once the transaction has committed; no other slash rests on the same payment."""
    stored = await store.find(tx, settlement_id)
    assert stored is not None
    await use(tx, stored)
    await jobs.enqueue(tx, SLASHES, str(settlement_id), {"settlement_id": settlement_id})


async def take_outcome(
    tx: Tx, peer: federation.PeerRecord, confirmation: Confirmation, settings: Settings
) -> Settlement | None:
    """Apply the statement of the defendant's registry; a signed slash compensates the complainant in the same commit.

    A statement of before a restore counts for nothing. A late one, which may be of a fork that a restore ended, confirms nothing: a slash in it
    is compensated, and then shown to its author.

    Raises: PeerLimitReached, MintTooLarge, SupplyExhausted: nothing was changed, and the peer is asked again.
    """
    assert peer.spiffe_id is not None
    outcome = confirmation.outcome
    observed = await transfers.observe_in_chain(tx, peer.spiffe_id, confirmation.positions, store.reopen)
    if observed is None or not (observed.is_current or outcome.status in protocol.SLASHED_STATES):
        return None
    stored = await store.of_dispute(tx, peer.spiffe_id, Direction.OUTGOING, outcome.claim.dispute_id)
    if stored is None:
        return None
    after = protocol.on_outcome(stored.settlement, outcome)
    if after == stored.settlement:
        is_shown = stored.row["next_at"] is not None
        if is_shown and observed.is_current and protocol.agrees(after, outcome):
            await store.write(tx, stored.settlement_id, after)
        elif is_shown and protocol.is_uncollected(after, outcome):
            await store.note_uncollected(tx, stored.settlement_id)
        return after
    owed = Minor(protocol.owed(after)) if after.is_closed else Minor(0)
    reference = f"{ledger.DISPUTE_REFERENCE}{after.claim.dispute_id}"
    due = Owed(after.claim.complainant_did, owed, reference)
    issued = await compensate(tx, peer, due, settings) if owed else None
    more = store.Written(
        tx_id=issued, outcome=confirmation.text, compensated=owed or None, send=not observed.is_current
    )
    await store.write(tx, stored.settlement_id, after, more)
    if after.status is Status.SETTLED:
        await store.note_slashed(tx, after.claim.dispute_id, after.slashed)
    if after.status is Status.SETTLED:
        await store.record(tx, stored, after)
    if issued is not None:
        issued_here = Compensated(stored.settlement_id, stored.frame, owed, issued)
        await journal.append(tx, minted(after, issued_here, settings))
    return after


class Sent(msgspec.Struct, frozen=True):
    """Settlement that a receipt is for: its direction, and the positions of the chains when it was sent."""

    direction: Direction
    positions: transfers.Message


async def take_receipt(tx: Tx, peer: federation.PeerRecord, signed: SignedReceipt, sent: Sent) -> None:
    """The registry that decided the dispute has the outcome, or that of the complainant has the award, which it may have refused.

    Its author may have lost the confirmed text since, where a new epoch began or more of its chain was seen: it is sent again, and confirmed
    by another receipt.
    """
    assert peer.spiffe_id is not None
    observed = await transfers.observe_in_chain(tx, peer.spiffe_id, signed.positions, store.reopen)
    if observed is None or not observed.is_current:
        return
    if not await transfers.lock_chain_of_epochs(tx, peer.spiffe_id, sent.positions):
        return
    receipt, direction = signed.stated, sent.direction
    stored = await store.of_dispute(tx, peer.spiffe_id, direction, receipt.claim.dispute_id)
    if stored is None or not protocol.is_of(receipt, stored.settlement):
        return
    if stored.settlement.is_closed and stored.row["next_at"] is None:
        return
    if stored.settlement.status not in protocol.DECIDED:
        return
    if direction is Direction.OWED:
        await _take_receipt_of_paid(tx, stored, signed)
        return
    after = protocol.acknowledged(stored.settlement, receipt)
    await store.write(tx, stored.settlement_id, after, store.Written(outcome=signed.text))
    if direction is Direction.AWARDED and after.status is Status.FAILED:
        await journal.append(tx, compensation_refused(stored, after))
    elif direction is Direction.AWARDED and stored.settlement.status is Status.SLASHED:
        await store.record(tx, stored, after)


async def _take_receipt_of_paid(tx: Tx, kept: Kept, signed: SignedReceipt) -> None:
    """Apply the receipt for a paid award: the registry that ruled has recorded it, or could not destroy the lost units again."""
    if signed.stated.status is Status.SETTLED:
        await store.write(tx, kept.settlement_id, kept.settlement, store.Written(outcome=signed.text))
    elif signed.stated.reason == protocol.NO_FUNDS:
        await store.note_uncollected(tx, kept.settlement_id)


def compensation_refused(kept: Kept, after: Settlement) -> DisputeCompensationRefused:
    """The event of an award that was not paid."""
    claim = after.claim
    return DisputeCompensationRefused(
        dispute_id=claim.dispute_id,
        complainant_did=claim.complainant_did,
        defendant_did=claim.defendant_did,
        compensation_amount=format_amount(after.compensation),
        slashed_amount=format_amount(after.slashed),
        currency=claim.currency,
        reason=after.reason or protocol.COMPENSATION_REFUSED,
        settlement_id=kept.settlement_id,
        counterparty_frame=kept.frame,
    )


async def _why_refused(tx: Tx, request: Request, settings: Settings) -> str | None:
    claim = request.claim
    if claim.currency != settings.settlement_currency:
        return "CURRENCY_DIFFERS"
    if not is_signed_verdict(request):
        return "VERDICT_INVALID"
    if not request.peer.is_open or not federation.may_cross(request.peer, settings):
        return "PEER_CLOSED"
    if await agents.lock_status(tx, claim.defendant_did) is None:
        return "DEFENDANT_UNKNOWN"
    return None


async def _is_auto_approved(tx: Tx, request: Request) -> bool:
    """Return whether automatic approval is enabled and covers the claim: the bounds of one slash and of a day, and the unused payment.

    The payment is one of the complainant to the defendant, for a token or a contract.
    """
    peer, claim = request.peer, request.claim
    assert peer.spiffe_id is not None
    assert peer.ledger_id is not None
    most = peer.auto_slash_max_avt * UNIT
    if not peer.auto_slash_enabled or claim.amount > most:
        return False
    if await store.approved_in_a_day(tx, peer.spiffe_id) + claim.amount > most * AUTO_APPROVED_IN_A_DAY:
        return False
    paid = await unused_amount(tx, peer.spiffe_id, peer.ledger_id, claim, request.payment)
    return claim.amount <= paid


class Owed(msgspec.Struct, frozen=True):
    """Units to be issued to a complainant here; `reference` is used once in the ledger."""

    did: str
    amount: Minor
    reference: str


async def compensate(tx: Tx, peer: federation.PeerRecord, owed: Owed, settings: Settings) -> int:
    """Issue units to a complainant here on the word of a peer, once for each reference; the transaction.

    Raises: PeerLimitReached, MintTooLarge, SupplyExhausted.
    """
    limit = peer.net_in_limit
    assert peer.ledger_id is not None
    asked = ledger.Compensation(
        owed.did,
        owed.amount,
        peer.ledger_id,
        owed.reference,
        parse_amount(settings.teg_mint_max_avt),
        None if limit is None else Minor(limit),
    )
    issued = await ledger.compensate(tx, asked, ledger.Book.of(settings))
    assert issued.tx_id is not None
    return issued.tx_id


class Compensated(msgspec.Struct, frozen=True):
    """Units issued for a settlement with the registry of this ledger id."""

    settlement_id: int
    frame: str
    amount: Minor
    tx_id: int


def minted(after: Settlement, done: Compensated, settings: Settings) -> DisputeCompensationMinted:
    """The event of a compensation."""
    return DisputeCompensationMinted(
        did=after.claim.complainant_did,
        dispute_id=after.claim.dispute_id,
        amount=format_amount(done.amount),
        currency=settings.settlement_currency,
        tx_id=done.tx_id,
        settlement_id=done.settlement_id,
        counterparty_frame=done.frame,
        counterparty_tx_id=after.peer_tx_id,
    )


async def unused_amount(tx: Tx, peer: str, frame: str, claim: Claim, payment: str | None) -> int:
    """Units that were paid under this name of a peer, and on which no slash rests yet; minor units of this registry."""
    paid = await _paid(tx, peer, frame, claim, payment)
    used = await store.used(tx, peer, [one.transfer_id for one in paid])
    return sum(one.amount for one in paid if one.transfer_id not in used)


async def use(tx: Tx, kept: Kept) -> None:
    """The slash of this settlement rests on the payment that the peer named."""
    settlement = kept.settlement
    paid = await _paid(tx, kept.peer, kept.frame, settlement.claim, settlement.payment)
    await store.use(tx, kept.peer, kept.settlement_id, [one.transfer_id for one in paid])


async def _paid(
    tx: Tx, peer: str, frame: str, claim: Claim, payment: str | None
) -> list[transfers.PaymentReceived]:
    found = await transfers.payments_received(tx, peer, _transfers(payment, frame))
    parties = (claim.complainant_did, claim.defendant_did)
    return [one for one in found if (one.sender_did, one.receiver_did) == parties]


def _transfers(payment: str | None, frame: str) -> Sequence[UUID]:
    """The transfers that a name of a payment means: that of a token, or those of the parts of a contract."""
    if payment is None:
        return ()
    if payment.startswith(TRANSFER):
        return _id(payment.removeprefix(TRANSFER))
    number, _, created_at = payment.removeprefix(CONTRACT).partition(":")
    is_number = number.isascii() and number.isdecimal() and len(number) <= contracts.DIGITS_MAX
    if not payment.startswith(CONTRACT) or not is_number:
        return ()
    return contracts.names_of_parts(frame, int(number), created_at)


def _id(text: str) -> Sequence[UUID]:
    try:
        return (UUID(text),)
    except ValueError:
        return ()
