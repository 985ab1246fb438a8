"""Settling tokens whose payee is an agent of another registry: the units cross under the id of the token.

- The id of a transfer is used once, so that a token is paid at most once, also after a restore in which its commit is replayed.
- Once the transfer is reserved, the sender's side of the protocol alone ends the token: settled in the commit that records
  COMMIT, failed in the one that records ABORT. Its deadline is the 90 seconds of the token.
- A token for which nothing is reserved yet fails at once where nothing can cross, and by time.
"""

from uuid import UUID

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import ledger, transfers

from . import rules, store
from .ending import end_unpaid
from .errors import TokenExpired, TokenUnknown
from .rules import Terms, Token


async def reserve_across(runtime: Runtime, token: Token) -> bool:
    """Reserve the transfer of a settling token, or fail the token. Returns whether it was reserved now. Raises: Unavailable."""
    database = runtime.database
    if await database.query(lambda tx: transfers.find_payment(tx, token.id)) is not None:
        return False
    try:
        corridor = await database.query(lambda tx: transfers.corridor_to(tx, token.payee, runtime))
        return await database.transaction(lambda tx: reserve_or_time_out(tx, corridor, token.id))
    except Unavailable:
        raise
    except Refused as refusal:
        reason = rules.reason_of(refusal.code)
        await database.transaction(lambda tx: _fail_unreserved(tx, token.id, runtime.settings, reason))
        return False


async def reserve_or_time_out(tx: Tx, corridor: transfers.Corridor, token_id: UUID) -> bool:
    """Reserve the transfer of a settling token, once, or fail a token whose time is over.

    Returns whether it was reserved. Raises: as `reserve_payment`.
    """
    token = await _unreserved(tx, token_id)
    if token is None:
        return False
    seconds = await store.seconds_to_settle(tx, token_id)
    if seconds <= 0:
        await end_unpaid(tx, token, "failed", corridor.book, rules.TIMEOUT)
        return False
    order = ledger.TransferOrder(token.caller, token.payee, token.paid, rules.memo_of(token.task_id))
    await transfers.reserve_payment(
        tx, corridor, transfers.CrossingPayment(token.id, order, seconds, transfers.PAYMENT_TOKEN)
    )
    return True


async def _fail_unreserved(tx: Tx, token_id: UUID, settings: Settings, reason: str) -> None:
    token = await _unreserved(tx, token_id)
    if token is not None:
        await end_unpaid(tx, token, "failed", ledger.Book.of(settings), reason)


async def _unreserved(tx: Tx, token_id: UUID) -> Token | None:
    """The settling token, locked; None where it has ended or its transfer is reserved."""
    token = await store.lock(tx, token_id)
    if token is None or token.status != "settling":
        return None
    return None if await transfers.find_payment(tx, token_id) is not None else token


async def begin_within(tx: Tx, secret: str, terms: Terms, memo: str) -> transfers.CrossingPayment:
    """Let a token settle in the commit of its purpose, as the approval of a contract; returns the transfer to be reserved in that commit.

    Raises: TokenUnknown, TokenMismatch, CapturedByPayee, SettlementInProgress, TokenStatus, TokenExpired.
    """
    token = await store.lock_by_hash(tx, fingerprint(secret))
    if token is None:
        raise TokenUnknown
    rules.require_matching(token, terms)
    begun = await store.begin_settlement_of(tx, token.id, None)
    if begun is None:
        raise TokenExpired
    order = ledger.TransferOrder(token.caller, token.payee, token.paid, memo)
    return transfers.CrossingPayment(token.id, order, rules.SETTLING_SECONDS, transfers.CONTRACT)


async def end_by_decision(tx: Tx, decision: transfers.CrossingDecision, settings: Settings) -> None:
    """End the token that has the id of a transfer, if there is one, as the transfer was decided.

    COMMIT is binding whatever the row says: a restored registry may have ended the token otherwise before it was replayed.
    """
    token, book = await store.lock(tx, decision.transfer_id), ledger.Book.of(settings)
    if token is None:
        return
    if decision.tx_id is not None:
        await store.settle_paid_across(tx, token.id, decision.tx_id, book)
    elif token.status == "settling":
        await end_unpaid(tx, token, "failed", book, rules.reason_of(decision.code or ""))
