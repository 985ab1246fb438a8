"""Payment by an approval: from the hold of a funded contract, or by an ordinary transfer of the contractor."""

from uuid import UUID

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, ledger
from hansa.rooms.commerce import payments

from .contract import Contract, Payment
from .errors import TokenForFunded
from .payment_reference import message_of

PERMISSION = "payment.pay"
OPERATION = "contract"
OWNER_KIND = "contract"


class Consent(msgspec.Struct, frozen=True):
    """Consent of an agent's owner to a payment, as the request names it, and the scope of its Idempotency-Key."""

    approval_id: UUID | None = None
    request_scope: bytes | None = None


def payment_of(
    payee: str, amount: Minor, consent: Consent, settings: Settings, *, is_bound: bool = False
) -> agents.Payment:
    """A payment as a spend policy judges it; with `is_bound` the policy counted it with the proposal, and a grant alone judges it."""
    return agents.Payment(
        payee,
        amount,
        settings.settlement_currency,
        PERMISSION,
        OPERATION,
        approval_id=consent.approval_id,
        request_scope=consent.request_scope,
        is_bound=is_bound,
    )


async def clear(
    tx: Tx,
    agent: Agent,
    payee: str,
    amount: Minor,
    *,
    consent: Consent,
    settings: Settings,
    is_bound: bool = False,
) -> agents.Approval | None:
    """Count a payment against the agent's spend policy and grant, or ask its owner. Raises: the refusals of the limits."""
    payment = payment_of(payee, amount, consent, settings, is_bound=is_bound)
    if await agents.clear_payment(tx, agent, payment, settings) is agents.Clearance.NEEDS_APPROVAL:
        return await agents.ask_owner(tx, agent, payment)
    return None


async def pay_part(tx: Tx, contract: Contract, settings: Settings) -> Payment:
    """Pay the part that the next approval is for.

    Raises: InsufficientBalance, AccountSuspended; HoldExpired or HoldEnded when the hold was freed long after its dates.
    """
    assert contract.provider_did is not None
    book, message = ledger.Book.of(settings), message_of(contract)
    if contract.hold_id is not None:
        capture = ledger.Capture(contract.hold_id, final=contract.is_last_part)
        result = await ledger.capture_hold(tx, capture, contract.part, book, message=message)
        assert result.tx_id is not None
        return Payment(result.tx_id, contract.part, result.fee)
    order = ledger.TransferOrder(contract.contractor_did, contract.provider_did, contract.part, message)
    receipt = await ledger.transfer(tx, order, book)
    assert receipt.tx_id is not None
    return Payment(receipt.tx_id, receipt.amount, receipt.fee)


async def settle_token(tx: Tx, contract: Contract, secret: str, settings: Settings) -> Payment:
    """Settle a payment token of the contractor for the part that the next approval pays, in the approval's commit.

    Raises: TokenForFunded, and the errors of `payments.settle_within`.
    """
    assert contract.provider_did is not None
    if contract.funded:
        raise TokenForFunded
    terms = payments.Terms(contract.contractor_did, contract.provider_did, contract.part, contract.id)
    book = ledger.Book.of(settings)
    token = await payments.settle_within(tx, secret, terms, book, message_of(contract), is_part=True)
    assert token.tx_id is not None
    assert token.fee is not None
    return Payment(token.tx_id, contract.part, token.fee)


async def free_hold(tx: Tx, contract: Contract, settings: Settings) -> None:
    """Return the units of the hold to the contractor; a hold that has ended is left alone."""
    if contract.hold_id is None:
        return
    try:
        await ledger.release_hold(tx, contract.hold_id, ledger.Book.of(settings))
    except ledger.HoldEnded:
        return
