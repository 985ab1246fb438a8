"""Payment that a complaint is about: a contract, a payment token or a transaction leads to the same one.

Tokens and transactions that have ended are only read, because they do not change any more; a contract is locked, because a dispute changes it.
"""

from datetime import timedelta
from uuid import UUID

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO
from hansa.rooms import ledger
from hansa.rooms.commerce import contracts, payments

from . import rules
from .dispute import Complaint, Funds, Subject
from .errors import PayerOnly, PaymentNotEnded, PaymentUnknown
from .funds import funds_of


async def find_subject(tx: Tx, complaint: Complaint, settings: Settings) -> Subject | None:
    """The subject of a complaint; None where it names none.

    Raises: contracts.ContractUnknown, PaymentUnknown, NotAParty, contracts.WrongState, contracts.DeadlinePassed,
    NothingSubmitted, PaymentNotEnded, PayerOnly, TooLate.
    """
    window = timedelta(hours=settings.dispute_window_hours)
    if complaint.contract_id is not None:
        return await _contract(tx, complaint, complaint.contract_id, window)
    if complaint.token_id is not None:
        return await _token(tx, complaint, complaint.token_id, window)
    if complaint.tx_id is not None:
        return await _transaction(tx, complaint, complaint.tx_id, window)
    return None


async def _contract(tx: Tx, complaint: Complaint, contract_id: int, window: timedelta) -> Subject:
    contract = await contracts.take(tx, contract_id)
    if complaint.complainant_did not in contract.parties:
        raise contracts.ContractUnknown
    rules.require_parties(complaint, contract.parties)
    overpaid_at = await contracts.overpaid_at(tx, contract_id)
    if complaint.complainant_did == contract.provider_did:
        rules.require_submitted(is_stated=await contracts.is_last_submission_stated(tx, contract_id))
    rules.require_disputable(contract, window, overpaid_at)
    await contracts.require_in_time(tx, contract)
    funds = await funds_of(tx, contract)
    return rules.subject_of(contract, funds, await contracts.rulings_about(tx, contract_id))


async def _token(tx: Tx, complaint: Complaint, token_id: UUID, window: timedelta) -> Subject:
    token = await payments.token_of_id(tx, token_id)
    if token is None or complaint.complainant_did not in (token.caller, token.payee):
        raise PaymentUnknown
    if token.tx_id is not None and (contract_id := await contracts.paid_by(tx, token.tx_id)) is not None:
        return await _contract(tx, complaint, contract_id, window)
    rules.require_parties(complaint, (token.caller, token.payee))
    if token.ended_at is None:
        raise PaymentNotEnded(
            f"The payment token is {token.status}; a dispute may be filed when it has ended."
        )
    if token.tx_id is None and not await payments.was_used(tx, token.id):
        raise PaymentNotEnded("The payment token was never used and paid nothing.")
    rules.require_recent(token.ended_at + window, await clock.now(tx))
    return Subject(
        f"token:{token.id}",
        token.caller,
        token.paid,
        token.fee or ZERO,
        Funds(ZERO if token.tx_id is None else token.paid, ZERO),
        token_id=token.id,
        tx_id=token.tx_id,
    )


async def _transaction(tx: Tx, complaint: Complaint, tx_id: int, window: timedelta) -> Subject:
    paid = await ledger.find_payment(tx, tx_id) or await ledger.find_payment_abroad(tx, tx_id)
    if paid is None or complaint.complainant_did not in (paid.payer, paid.payee):
        raise PaymentUnknown
    if (contract_id := await contracts.paid_by(tx, tx_id)) is not None:
        return await _contract(tx, complaint, contract_id, window)
    if (token := await payments.token_of_payment(tx, tx_id)) is not None:
        return await _token(tx, complaint, token.id, window)
    rules.require_parties(complaint, (paid.payer, paid.payee))
    if complaint.complainant_did != paid.payer:
        raise PayerOnly
    rules.require_recent(paid.recorded_at + window, await clock.now(tx))
    return Subject(
        f"transaction:{tx_id}", paid.payer, paid.amount, paid.fee, Funds(paid.amount, ZERO), tx_id=tx_id
    )
