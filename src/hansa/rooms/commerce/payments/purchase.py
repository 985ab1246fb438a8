"""Purchases: a payment is authorized, the service is called, and its answer ends the token.

- No transaction is open during the call. Token, first record under the Idempotency-Key and a job that ends the token are
  one commit before it; the end of the token and the kept answer are one commit after it.
- The job ends the token of a process that died: released while no service has verified it, else settled or released as
  `settle_on_timeout` says, exactly as after a call without an answer.
- The token leaves the process in the call alone.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NoReturn, TypeAlias
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.jobs import Job, TransactionalKind, enqueue
from hansa.foundation.plumbing.outgoing import OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, Repeatable
from hansa.foundation.plumbing.web.in_process import InCommit
from hansa.foundation.plumbing.web.sealed_answers import opened_answer, sealed_answer
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import agents, catalogue, ledger, transfers

from . import budget_store, rules, store
from .authorize import Authorized, AuthorizeOrder, Presented, authorize
from .calling import ServiceCall, call_service, call_tool
from .ending import end_unpaid
from .errors import (
    PriceAboveMaximum,
    PriceNotPayable,
    PurchaseBudgetExceeded,
    ServiceNotCallable,
)
from .quote import quote
from .rules import Token
from .service_call import (
    Interface,
    Outcome,
    ServiceAnswer,
    ServiceRequest,
    interface_of,
    read_answer,
    token_headers,
)
from .settlement_worker import SETTLEMENTS

ROUTE = "/a2a-payment/buy"
SEALED_FOR = "answer of a purchase"
ENDS = "payments: end purchases"
SETTLED_WITHIN_SECONDS = 10.0
# A call waits for its turn at a host before its own time begins.
TURN = timedelta(seconds=30)
SPARE = timedelta(seconds=30)


class PurchaseOrder(msgspec.Struct, frozen=True):
    """Purchase that an agent orders, with its maximum price in minor units."""

    payee: str
    request: ServiceRequest
    amount_max: Minor
    ttl_seconds: int
    timeout_seconds: int
    settle_on_timeout: bool = False
    approval_id: UUID | None = None
    budget_id: UUID | None = None
    """Budget of purchases that counts this one."""

    @property
    def token_seconds(self) -> int:
        """How long the token has to live, so that it does not expire during the call."""
        return max(self.ttl_seconds, self.timeout_seconds + int((TURN + SPARE).total_seconds()))


class Purchase(msgspec.Struct, frozen=True):
    """Token of a purchase and the answer of the service; `answer` is None where that is not known."""

    token: Token
    answer: ServiceAnswer | None


@dataclass(frozen=True)
class _Begun:
    authorized: Authorized = field(repr=False)
    interface: Interface


OnAnswer: TypeAlias = Callable[[Tx, Token, ServiceAnswer], Awaitable[None]]


class Purchases:
    """Buys from services in one process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._book = ledger.Book.of(runtime.settings)

    async def buy(
        self,
        agent: Agent,
        order: PurchaseOrder,
        request: Repeatable | None,
        capability_token: str | None,
        in_commit: InCommit | None = None,
        *,
        on_answer: OnAnswer | None = None,
    ) -> tuple[Purchase, bool]:
        """Return the purchase, and whether it is a repetition.

        `in_commit` is called in the transaction that makes its token, `on_answer` in the one that ends the token by the answer.

        Raises: the errors of `quote` and `authorize`, PriceAboveMaximum, PriceNotPayable, PurchaseBudgetExceeded,
        ServiceNotCallable, KeyReused, KeyInProgress, ApprovalRequired, StoredAnswerUnreadable.
        """
        presented = Presented(capability_token, request.scope if request else None)

        async def begun_or_known(tx: Tx) -> Purchase | _Begun | agents.Approval:
            if request and (known := await idempotency.recall(tx, request)) is not None:
                return await self._known(tx, request, UUID(json.loads(known)["token_id"]))
            begun = await self._begin(tx, agent, order, presented, request)
            if in_commit is not None and isinstance(begun, _Begun):
                await in_commit(tx, f"token:{begun.authorized.token.id}")
            return begun

        done = await self._runtime.database.transaction(begun_or_known)
        if isinstance(done, agents.Approval):
            _require_approval(done)
        if isinstance(done, Purchase):
            return done, True
        answer = await self._call(order, done)
        token_id = done.authorized.token.id

        async def ended(tx: Tx) -> Token:
            token = await end_purchase(
                tx, token_id, answer, settle_on_timeout=order.settle_on_timeout, book=self._book
            )
            if request:
                await self._keep(tx, request, answer)
            if on_answer is not None:
                await on_answer(tx, token, answer)
            return token

        token = await self._runtime.database.transaction(ended)
        if token.status == "settling":
            settlements = SETTLEMENTS.of(self._runtime)
            settlements.start(token.id)
            token = await settlements.outcome(token.id, SETTLED_WITHIN_SECONDS)
        return Purchase(token, answer), False

    async def _begin(
        self,
        tx: Tx,
        agent: Agent,
        order: PurchaseOrder,
        presented: Presented,
        request: Repeatable | None,
    ) -> _Begun | agents.Approval:
        quoted = await quote(tx, agent.did, order.payee, None, self._runtime.settings)
        if not quoted.amount:
            raise PriceNotPayable
        if quoted.amount > order.amount_max:
            raise PriceAboveMaximum(
                f"The price is {format_amount(quoted.amount)}; max_amount is {format_amount(order.amount_max)}.",
                context={
                    "price": format_amount(quoted.amount),
                    "max_amount": format_amount(order.amount_max),
                },
            )
        if not await agents.statuses_of(tx, [order.payee]):
            raise ServiceNotCallable("A purchase is possible only from an agent of this registry.")
        card = await catalogue.card_of_agent(tx, order.payee)
        interface = interface_of(
            card.card_data or {}, self._runtime.settings.outgoing_allow_user_hosts, order.request
        )
        payment = AuthorizeOrder(
            order.payee,
            quoted.amount,
            ttl_seconds=order.token_seconds,
            reserve=True,
            approval_id=order.approval_id,
        )
        await _require_room(tx, order.budget_id, quoted.amount)
        made = await authorize(tx, agent, payment, self._runtime.settings, presented)
        if not isinstance(made, Authorized):
            return made
        await store.mark_bought(tx, made.token.id, order.budget_id)
        if order.budget_id and not await budget_store.count_open(tx, order.budget_id, made.token.amount):
            raise PurchaseBudgetExceeded
        token_id = str(made.token.id)
        due_at = await clock.began_at(tx) + timedelta(seconds=order.timeout_seconds) + TURN + SPARE / 2
        payload = {"token_id": token_id, "settle_on_timeout": order.settle_on_timeout}
        await enqueue(tx, ENDS, token_id, payload, due_at)
        if request:
            # The answer of an earlier purchase was kept later than its key, which is free now.
            await idempotency.forget(tx, _answer_of(request).scope)
            await idempotency.remember(tx, request, json.dumps({"token_id": token_id}))
        return _Begun(made, interface)

    async def _call(self, order: PurchaseOrder, begun: _Begun) -> ServiceAnswer:
        interface, token = begun.interface, begun.authorized.token
        try:
            payment = token_headers(begun.authorized.secret, self._runtime.settings.base_url)
            call = ServiceCall(interface, order.request, str(token.id), order.timeout_seconds, payment)
            if interface.is_mcp:
                return await call_tool(self._runtime.outgoing, call)
            answer = await call_service(self._runtime.outgoing, call)
        except OutgoingTrouble as error:
            return ServiceAnswer(Outcome.UNKNOWN, trouble=error.reason)
        return read_answer(answer)

    async def _known(self, tx: Tx, request: Repeatable, token_id: UUID) -> Purchase:
        """A purchase that was begun under this key before. Raises: KeyInProgress, StoredAnswerUnreadable."""
        token = await store.find(tx, token_id)
        assert token is not None, "tokens are not deleted"
        # Read without its key: the purchase that ends at this moment must keep its answer.
        stored = await idempotency.find_answer(tx, _answer_of(request))
        if stored is None:
            if token.status in rules.OPEN:
                raise KeyInProgress
            return Purchase(token, None)
        opened = json.loads(opened_answer(self._runtime.seal, request.key, stored, SEALED_FOR))
        return Purchase(token, ServiceAnswer(**{**opened, "outcome": Outcome(opened["outcome"])}))

    async def _keep(self, tx: Tx, request: Repeatable, answer: ServiceAnswer) -> None:
        members: dict[str, Any] = {
            "outcome": answer.outcome.value,
            "body": answer.body,
            "task_id": answer.task_id,
            "trouble": answer.trouble,
        }
        sealed = sealed_answer(self._runtime.seal, request.key, json.dumps(members), SEALED_FOR)
        await idempotency.remember(tx, _answer_of(request), sealed)


async def _require_room(tx: Tx, budget_id: UUID | None, amount: Minor) -> None:
    """Refuse a price that the budget does not cover before the owner is asked. Raises: PurchaseBudgetExceeded."""
    if budget_id is not None and not (await budget_store.find_budgets(tx, [budget_id]))[budget_id].covers(
        amount
    ):
        raise PurchaseBudgetExceeded


async def end_purchase(
    tx: Tx, token_id: UUID, answer: ServiceAnswer, *, settle_on_timeout: bool, book: ledger.Book
) -> Token:
    """Settle or release the token of a purchase by its answer; one that has ended stays as it is."""
    token = await store.lock(tx, token_id)
    assert token is not None, "tokens are not deleted"
    if token.status not in rules.OPEN:
        return token
    is_due = answer.outcome is Outcome.UNKNOWN and token.status == "consumed" and settle_on_timeout
    if answer.outcome is Outcome.DELIVERED or is_due:
        begun = await store.begin_settlement_of(tx, token.id, answer.task_id)
        return begun or await end_unpaid(tx, token, "expired", book)
    return await end_unpaid(tx, token, "released", book)


async def _end_left(tx: Tx, runtime: Runtime, job: Job) -> None:
    """End the token of a purchase whose process did not come back; one that has ended is left alone."""
    left = ServiceAnswer(Outcome.UNKNOWN)
    await end_purchase(
        tx,
        UUID(job.payload["token_id"]),
        left,
        settle_on_timeout=job.payload["settle_on_timeout"],
        book=ledger.Book.of(runtime.settings),
    )


def _answer_of(request: Repeatable) -> Repeatable:
    """Idempotency record of the service's answer."""
    return Repeatable(request.caller, f"{ROUTE} answer", request.key, request.body)


def _require_approval(approval: agents.Approval) -> NoReturn:
    """Raises: ApprovalRequired. Committed all the same: the owner is asked."""
    raise transfers.ApprovalRequired(
        "The agent's owner has to approve this payment; then repeat the request with approval_id.",
        context={"approval_id": str(approval.id), "expires_at": approval.expires_at.isoformat()},
    )


PURCHASES: Slot[Purchases] = Slot("commerce: purchases", build=Purchases)
PURCHASE_ENDS = TransactionalKind(ENDS, _end_left)
