"""Authorizing, settling and releasing tokens together with transfers, in the commits of the ledger's batch.

An act belongs here if the row of the token and the ledger alone decide it. The batch only accepts: where it does not, the act
is judged by itself, in the order of the specification, and that says why.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.idempotency import Answer, KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.sealed_answers import StoredAnswerUnreadable
from hansa.foundation.values.secrets import fingerprint, new_hex
from hansa.rooms import agents, ledger

from . import rules, store
from .authorize import NO_BUDGET, TOKEN_PREFIX, AuthorizeOrder, new_token
from .extensions import AUTHORIZE, RELEASE, SETTLE, Authorization, Release, Settlement, payment_line, settled
from .rules import Token
from .settle import SettleOrder
from .stored_answer import AuthorizeAnswer
from .verify import VERIFIED_TOKENS


class PaymentBatch:
    """The acts on tokens of one process that gather with its transfers."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._book = ledger.Book.of(runtime.settings)
        self._found = BatchLoader[bytes, Token](self._load)
        self._known = VERIFIED_TOKENS.of(runtime)

    async def authorize(
        self, agent: Agent, answer: AuthorizeAnswer, capability_token: str | None
    ) -> Answer | None:
        """The answer with a new token for a payee that was judged, or a repetition; None where it has to be judged by itself.

        Raises: CallerChanged, KeyReused, KeyInProgress, StoredAnswerUnreadable, Unavailable.
        """
        if not _is_plain(agent, answer.order, capability_token):
            return None
        secret = new_hex(TOKEN_PREFIX)
        authorization = _authorization(agent, answer, secret)

        def render(receipts: Sequence[ledger.Receipt]) -> str:
            written = AUTHORIZE.outcome_of(receipts[0])
            if written.sealed == authorization.sealed:
                return answer.shown(secret, authorization.id, written.expires_at)
            return answer.repeated_receipt(receipts[0])

        group = ledger.GROUP_COMMIT.of(self._runtime)
        written = AUTHORIZE.alone(authorization).compared(agent.did, agent.version)
        submitted = group.submit([written], answer.request, render, answer.repeated)
        return await ledger.try_in_batch(submitted, final=(KeyReused, KeyInProgress, StoredAnswerUnreadable))

    async def settle(self, order: SettleOrder, caller_version: int | None) -> Token | None:
        """The token, settled; None where it has to be judged by itself. Raises: CallerChanged, Unavailable."""
        token_sha256 = fingerprint(order.secret)
        found = self._known.take(token_sha256) or await self._found.find(token_sha256)
        if found is None or not rules.settles_plainly(found, order.by, order.capture_amount):
            return None
        token = replace(found, task_id=order.task_id, capture_amount=order.capture_amount)
        payload = Settlement(
            token.id, self._book.frame, self._book.currency, order.task_id, order.capture_amount
        )
        payment = payment_line(token, rules.memo_of(order.task_id))
        paid = SETTLE.on(payment, payload).compared(order.by, caller_version)
        receipt = await self._carried_out(paid)
        return settled(token, receipt) if receipt else None

    async def release(self, secret: str, by: str) -> Token | None:
        """The token, released; None where it has to be judged by itself. Raises: Unavailable."""
        token = await self._found.find(fingerprint(secret))
        if token is None or not rules.releases_plainly(token, by):
            return None
        payload = Release(token.id)
        if token.hold_id is None:
            receipt = await self._carried_out(RELEASE.alone(payload))
        else:
            receipt = await self._carried_out(RELEASE.on(ledger.orders.release(token.hold_id), payload))
        if receipt is None:
            return None
        return replace(token, status="released", ended_at=RELEASE.outcome_of(receipt).ended_at)

    async def _carried_out(self, order: ledger.Order) -> ledger.Receipt | None:
        receipts = await ledger.try_in_batch(ledger.GROUP_COMMIT.of(self._runtime).carry_out([order]))
        return None if receipts is None else receipts[0]

    async def _load(self, hashes: Sequence[bytes]) -> dict[bytes, Token]:
        return await self._runtime.database.query(lambda tx: store.find_by_hashes(tx, hashes))


PAYMENT_BATCH: Slot[PaymentBatch] = Slot("commerce: payment tokens in the batch", build=PaymentBatch)


def _is_plain(agent: Agent, order: AuthorizeOrder, capability_token: str | None) -> bool:
    """Return whether neither a budget nor a reserve is in play."""
    return not order.is_reserved and agents.pays_plainly(agent, capability_token)


def _authorization(agent: Agent, answer: AuthorizeAnswer, secret: str) -> Authorization:
    """The token to be written, for a balance that covers the highest fee."""
    order = answer.order
    new = new_token(agent.did, order, secret, NO_BUDGET, None)
    return Authorization(
        *(getattr(new, name) for name in new.__struct_fields__),
        required=order.amount + ledger.highest_fee(order.amount),
        sealed=answer.sealed(f"{secret} {new.id}") if answer.request else None,
    )
