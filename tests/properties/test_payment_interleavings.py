"""Two acts on one payment token that meet, in many orders of their statements."""

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any
from uuid import UUID

import pytest

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import parse_positive
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import ledger
from hansa.rooms.agents.secret import rotate_secret
from hansa.rooms.commerce.payments import (
    Authorized,
    AuthorizeOrder,
    Presented,
    Token,
    authorize,
    expire_due_tokens,
    store,
)
from hansa.rooms.commerce.payments.ending import expire, release
from hansa.rooms.commerce.payments.extensions import RELEASE, SETTLE, Release, Settlement, payment_line
from hansa.rooms.commerce.payments.purchase import end_purchase
from hansa.rooms.commerce.payments.service_call import Outcome, ServiceAnswer
from hansa.rooms.commerce.payments.settle import Settled, SettleOrder, settle
from hansa.rooms.commerce.payments.settlement_worker import settle_token
from hansa.rooms.enforcement.suspend import reinstate_agents, suspend_agents
from tests.faults.payment_acts import PaymentWorld
from tests.payment_proof import prove_tokens
from tests.properties.interleaving import (
    Choose,
    Director,
    UseCase,
    in_some_orders,
    within_transaction,
)
from tests.properties.payment_stage import payment_stage
from tests.properties.proof import prove_book, prove_supply
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm

SAMPLE = by_tier(2, 40, 400)
SOON_SECONDS = 0.03
ACTS = (
    "verify",
    "settle",
    "settle without success",
    "release",
    "expire",
    "suspend the payer",
    "suspend the payee",
    "rotate the secret",
)
# The transfer of a settle is a transaction of its own, which meets a token that settles already.
TRANSFERS = [("transfer", act) for act in (*ACTS, "transfer")]
# What the batch does with a token is one statement.
PAYMENT_BATCH = [
    *(("settle in the batch", act) for act in (*ACTS, "transfer", "settle in the batch")),
    *(("release in the batch", act) for act in ("verify", "settle", "expire", "release in the batch")),
    ("settle in the batch", "release in the batch"),
]
# What ends the token of a purchase, by the service's answer or without one.
PURCHASES = [
    (end, act)
    for end in ("end of a purchase", "end of a purchase without an answer")
    for act in (*ACTS, "transfer", "settle in the batch", "release in the batch", end)
]
KINDS: tuple[dict[str, Any], ...] = ({}, {"reserve": True}, {"capture_by": "payee"})


@dataclass(frozen=True)
class Meeting:
    """One token, and the acts on it."""

    world: PaymentWorld
    secret: str
    token_id: UUID
    settler: str
    owner: Developer

    @property
    def book(self) -> ledger.Book:
        return ledger.Book.of(self.world.registry.settings)

    def runtime(self, tx: Tx) -> Runtime:
        return within_transaction(self.world.registry.runtime, tx)

    async def _paid(self, tx: Tx) -> None:
        assert not await settle_token(self.runtime(tx), self.token_id), (
            "the payee is an agent of this registry"
        )

    def act(self, name: str) -> UseCase:
        return {
            "verify": lambda tx: store.verify(tx, [fingerprint(self.secret)], [None], ["store.1"]),
            "settle": lambda tx: settle(tx, SettleOrder(self.secret, self.settler), self.book),
            "transfer": self._paid,
            "end of a purchase": lambda tx: self._purchase_ended(tx, Outcome.DELIVERED),
            "end of a purchase without an answer": lambda tx: self._purchase_ended(tx, Outcome.UNKNOWN),
            "settle in the batch": self._settled_in_the_batch,
            "release in the batch": self._released_in_the_batch,
            "settle without success": lambda tx: settle(
                tx, SettleOrder(self.secret, self.settler, success=False), self.book
            ),
            "release": lambda tx: release(tx, self.secret, self.settler, self.book),
            "expire": lambda tx: expire(self.runtime(tx), self.token_id),
            "suspend the payer": lambda tx: self._suspended(tx, self.world.payments.caller.did),
            "suspend the payee": lambda tx: self._suspended(tx, self.world.payments.service.did),
            "rotate the secret": lambda tx: rotate_secret(
                tx, self.owner, self.world.payments.caller.did, "new secret"
            ),
        }[name]

    async def _purchase_ended(self, tx: Tx, outcome: Outcome) -> Token:
        answer = ServiceAnswer(outcome)
        return await end_purchase(tx, self.token_id, answer, settle_on_timeout=True, book=self.book)

    async def _settled_in_the_batch(self, tx: Tx) -> str:
        token = await self.token()
        payload = Settlement(token.id, self.book.frame, self.book.currency)
        return await self._carried_out(tx, SETTLE.on(payment_line(token, None), payload))

    async def _released_in_the_batch(self, tx: Tx) -> str:
        token = await self.token()
        payload = Release(token.id)
        hold = token.hold_id
        order = RELEASE.on(ledger.orders.release(hold), payload) if hold else RELEASE.alone(payload)
        return await self._carried_out(tx, order)

    async def _carried_out(self, tx: Tx, order: ledger.Order) -> str:
        try:
            await ledger.apply(tx, [order], self.book)
        except ledger.ClaimRefused as refusal:
            return refusal.code
        return "done"

    async def _suspended(self, tx: Tx, did: str) -> str:
        assert self.world.administrator is not None
        [stopped] = await suspend_agents(
            tx, [did], self.world.administrator, reason="For a test.", soft=False
        )
        return stopped.registry

    async def token(self) -> Token:
        found = await self.world.registry.database.query(lambda tx: store.find(tx, self.token_id))
        assert found is not None
        return found


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[PaymentWorld, Director, Developer]]:
    async with payment_stage(database_farm, tmp_path_factory.mktemp("met")) as opened:
        yield opened


async def meeting(
    world: PaymentWorld, owner: Developer, acts: tuple[str, str], draw: random.Random
) -> Meeting:
    """A token of some kind, verified or not, whose time is nearly over where one of the acts is its expiry."""
    parties = [world.payments.caller.did, world.payments.service.did]
    administrator = world.administrator
    assert administrator is not None
    await world.registry.database.transaction(
        lambda tx: reinstate_agents(tx, parties, administrator, reason=None, soft=False)
    )
    is_purchase = any("purchase" in act for act in acts)
    kind = {} if is_purchase else draw.choice(KINDS)
    # The batch releases what was counted against no budget.
    made = await authorized(world, owner, kind, is_governed="release in the batch" not in acts)
    if draw.random() < 0.3:
        await world.payments.verify(made.secret)
    if "transfer" in acts:
        await world.left_settling(str(made.token.id), 91 if draw.random() < 0.2 else 1)
    if "expire" in acts:
        await world.execute(
            "UPDATE commerce_payment_token SET expires_at = clock_timestamp() + $2 * interval '1 second' WHERE id = $1",
            made.token.id,
            draw.random() * SOON_SECONDS,
        )
    return Meeting(world, made.secret, made.token.id, made.token.settler, owner)


async def authorized(
    world: PaymentWorld, owner: Developer, kind: dict[str, Any], *, is_governed: bool
) -> Authorized:
    """A token without a request: a secret that is rotated ends the caller's own token."""
    caller = Agent(
        world.payments.caller.did, owner.id, ("client",), frozenset({"payment.pay"}), is_governed=is_governed
    )
    order = AuthorizeOrder(world.payments.service.did, parse_positive("1"), **kind)
    presented = Presented(world.capability if is_governed else None)
    settings = world.registry.settings
    made = await world.registry.database.transaction(
        lambda tx: authorize(tx, caller, order, settings, presented)
    )
    assert isinstance(made, Authorized)
    return made


@pytest.mark.parametrize(
    "acts",
    [*combinations_with_replacement(ACTS, 2), *TRANSFERS, *PAYMENT_BATCH, *PURCHASES],
    ids=" and ".join,
)
async def test_however_two_acts_meet_a_token_ends_once(
    acts: tuple[str, str], stage: tuple[PaymentWorld, Director, Developer]
):
    world, director, owner = stage
    seed = printed_seed()
    draw = random.Random(seed)

    async def play(choose: Choose) -> None:
        met = await meeting(world, owner, acts, draw)
        outcomes = await director.play([met.act(act) for act in acts], choose)
        for outcome in outcomes:
            assert outcome is None or isinstance(outcome, Refused | Settled | Token | list | str), repr(
                outcome
            )
        await world.registry.database.read(prove_tokens)
        await _completed(met)
        ended = await met.token()
        assert ended.status in {"settled", "released", "expired", "failed"}, (acts, outcomes)
        if "transfer" in acts or _has_begun(outcomes):
            assert ended.status in {"settled", "failed"}, (acts, outcomes)
        await world.registry.database.read(prove_tokens)

    await in_some_orders(play, count=SAMPLE, seed=seed)


@pytest.fixture(scope="module", autouse=True)
async def proven(stage: tuple[PaymentWorld, Director, Developer]) -> AsyncIterator[None]:
    """After all meetings the book adds up."""
    yield
    registry = stage[0].registry
    await registry.database.read(prove_book)
    await prove_supply(registry.supply)


def _has_begun(outcomes: list[Any]) -> bool:
    return any(
        one.status == "settling" if isinstance(one, Token) else getattr(one, "verdict", None) == "settling"
        for one in outcomes
    )


async def _completed(met: Meeting) -> None:
    """Bring every open object after the meeting to its end: it is paid, or its time passes."""
    runtime = met.world.registry.runtime
    await settle_token(runtime, met.token_id)
    await met.world.past_expiry(str(met.token_id))
    await expire_due_tokens(runtime)
