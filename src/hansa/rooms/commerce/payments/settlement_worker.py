"""The transfers of settling tokens: run at once in the process that answered, taken up by any process after a crash.

- A token that can be paid as it is never shows as settling: it is paid in the ledger's batch (`payment_batch.py`).
- The row of the token is the work: `settling` until one transaction pays it, or fails it with a reason.
- That transaction locks the token and looks at its status again, so that no transfer follows a failure.
- A transfer that is known to be impossible fails at once; one without an outcome in 90 seconds fails as `timeout`, in a round of its own that waits for
  no payment.

The units for a payee of another registry cross under the id of the token.

- The id of a transfer is used once, so that a token is paid at most once, also after a restore in which its commit is replayed.
- Once the transfer is reserved, the sender's side of the protocol alone ends the token: settled in the commit that records
  COMMIT, failed in the one that records ABORT. Its deadline is the 90 seconds of the token.
- A token for which nothing is reserved yet fails at once where nothing can cross, and by time.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import structlog

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import federation, ledger, transfers

from . import overdue_store, rules, store
from .ending import count_end, end_unpaid, pay
from .errors import TokenExpired, TokenUnknown
from .overdue_store import SettlingToken
from .payment_batch import PAYMENT_BATCH
from .rules import TIMEOUT, Terms, Token
from .settle import SettleOrder

LEFT_SECONDS = 2.0
# Connections to the database that settlements of one process use at once.
PLACES = 4
AT_ONCE = 200
FIRST_LOOK_SECONDS, LONGEST_PAUSE_SECONDS = 0.01, 0.25
_log = structlog.get_logger()


class Settlements:
    """The settlements under way in one process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._places = asyncio.Semaphore(PLACES)
        self._under_way: dict[UUID, asyncio.Task[None]] = {}
        # Many wait for outcomes at the same moment, those of one bulk above all.
        self._looked_at = BatchLoader[UUID, Token](self._load)

    async def at_once(self, order: SettleOrder, caller_version: int | None = None) -> Token | None:
        """The token, settled in the ledger's batch; None where it has to be judged by itself. Raises: CallerChanged, Unavailable."""
        return await PAYMENT_BATCH.of(self._runtime).settle(order, caller_version)

    def start(self, token_id: UUID) -> None:
        """Pay a settling token beside the request that made it so."""
        task = asyncio.create_task(self._settle(token_id))
        self._under_way[token_id] = task
        task.add_done_callback(lambda _: self._under_way.pop(token_id, None))

    async def outcome(self, token_id: UUID, seconds: float) -> Token:
        """The token once it has ended, or as it is after so long."""
        own = self._under_way.get(token_id)
        pause = FIRST_LOOK_SECONDS
        try:
            async with asyncio.timeout(seconds):
                if own is not None:
                    # Most end at once; one that asks another registry may be decided while that is silent.
                    await asyncio.wait([own], timeout=LONGEST_PAUSE_SECONDS)
                while (token := await self._found(token_id)).status == "settling":
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
                return token
        except TimeoutError:
            return await self._found(token_id)

    async def _settle(self, token_id: UUID) -> None:
        try:
            async with self._places:
                is_reserved = await settle_token(self._runtime, token_id)
            # A peer that stays silent keeps no place from the others.
            if is_reserved:
                await transfers.ask_to_prepare(self._runtime, token_id)
        except Unavailable:
            # The row says that it is settling: the next round takes it up.
            _log.warning("payment left for the next round", token_id=str(token_id))

    async def _found(self, token_id: UUID) -> Token:
        token = await self._looked_at.find(token_id)
        assert token is not None, "tokens are not deleted"
        return token

    async def _load(self, ids: Sequence[UUID]) -> dict[UUID, Token]:
        # The status is answered, and the payment that it states is another transaction's.
        return await self._runtime.database.read_replicated(lambda tx: store.find_many(tx, ids))


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


SETTLEMENTS: Slot[Settlements] = Slot("commerce: settlements under way", build=Settlements)


async def settle_token(runtime: Runtime, token_id: UUID) -> bool:
    """Pay one settling token, or fail it; a token that has ended is left alone. Raises: Unavailable.

    Returns whether a transfer to another registry was reserved for it: that one is to be asked, now or by the job of transfers.
    """
    book = ledger.Book.of(runtime.settings)
    token = await runtime.database.query(lambda tx: store.find(tx, token_id))
    if token is None:
        return False
    try:
        is_abroad = await transfers.is_elsewhere(runtime, token.payee)
    except federation.FrameUnavailable:
        await runtime.database.transaction(lambda tx: _unpaid(tx, token_id, book))
        raise
    if is_abroad:
        return await reserve_across(runtime, token)
    try:
        await runtime.database.transaction(lambda tx: _pay_or_time_out(tx, token_id, book))
    except Unavailable:
        raise
    except Refused as refusal:
        reason = rules.reason_of(refusal.code)
        await runtime.database.transaction(lambda tx: _fail(tx, token_id, book, reason))
    return False


HAS_LEFT = overdue_store.has_settling(LEFT_SECONDS)
"""Whether a process left tokens settling."""


async def resume_settlements(runtime: Runtime) -> None:
    """Take up the tokens that a process left settling. No peer is waited for: a silent one would hold up all behind it."""
    last: SettlingToken | None = None
    while left := await runtime.database.query(
        lambda tx, after=last: overdue_store.settling(tx, LEFT_SECONDS, after, AT_ONCE)  # type: ignore[misc]
    ):
        for token in left:
            await _resume(runtime, token.id)
        last = left[-1]


async def _resume(runtime: Runtime, token_id: UUID) -> None:
    try:
        await settle_token(runtime, token_id)
    except Unavailable:
        _log.warning("payment left for the next round", token_id=str(token_id))
    except Exception:  # noqa: BLE001
        # Those behind it go on; it is tried again in the next round, and fails when its time is over.
        _log.exception("payment cannot be settled", token_id=str(token_id))


HAS_OVERDUE = overdue_store.has_settling(rules.SETTLING_SECONDS)
"""Whether the time of a settling token is over."""


async def end_overdue(runtime: Runtime) -> None:
    """Fail the tokens whose 90 seconds are over, also those whose payment waits for the ledger or another registry."""
    book = ledger.Book.of(runtime.settings)
    last: SettlingToken | None = None
    while left := await runtime.database.query(
        lambda tx, after=last: overdue_store.settling(tx, rules.SETTLING_SECONDS, after, AT_ONCE)  # type: ignore[misc]
    ):
        for token in left:
            await _end_overdue(runtime, token.id, book)
        last = left[-1]


async def _end_overdue(runtime: Runtime, token_id: UUID, book: ledger.Book) -> None:
    try:
        await runtime.database.transaction(lambda tx: _time_out(tx, token_id, book))
    except Unavailable:
        _log.warning("payment left for the next round", token_id=str(token_id))


async def _time_out(tx: Tx, token_id: UUID, book: ledger.Book) -> None:
    token = await store.lock_idle(tx, token_id)
    if token is None or token.status != "settling":
        return
    # A transfer that is reserved ends its token itself.
    is_crossing = await transfers.find_payment(tx, token_id) is not None
    if not is_crossing and await store.seconds_to_settle(tx, token_id) <= 0:
        await end_unpaid(tx, token, "failed", book, TIMEOUT)


async def _pay_or_time_out(tx: Tx, token_id: UUID, book: ledger.Book) -> None:
    token = await _unpaid(tx, token_id, book)
    if token is not None:
        await pay(tx, token, book, rules.memo_of(token.task_id))


async def _unpaid(tx: Tx, token_id: UUID, book: ledger.Book) -> Token | None:
    """The settling token, locked; None where it has ended, or fails here because its time is over."""
    token = await store.lock(tx, token_id)
    if token is None or token.status != "settling":
        return None
    if await store.seconds_to_settle(tx, token_id) <= 0:
        await end_unpaid(tx, token, "failed", book, TIMEOUT)
        return None
    return token


async def _fail(tx: Tx, token_id: UUID, book: ledger.Book, reason: str) -> None:
    token = await store.lock(tx, token_id)
    if token is not None and token.status == "settling":
        await end_unpaid(tx, token, "failed", book, reason)


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
        if token.status in {*rules.OPEN, "settling"}:
            await count_end(tx, token, token.paid)
    elif token.status == "settling":
        await end_unpaid(tx, token, "failed", book, rules.reason_of(decision.code or ""))
