"""Acts on payment tokens, each of which can be repeated; afterwards the world states the tokens."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

import httpx2

from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import parse_amount
from hansa.rooms import ledger
from hansa.rooms.commerce.payments import SettleOrder, expire_due_tokens, resume_settlements
from hansa.rooms.commerce.payments.settle import settle
from hansa.rooms.commerce.payments.settlement_worker import settle_token
from hansa.rooms.commerce.x402.networks import Networks
from tests.faults.acts import Outcome
from tests.paying import Payments
from tests.registry import TestAgent, TestRegistry
from tests.wallets import TestWallet, receive_address, required, signed

RESERVED = {"reserve": True}
BY_PAYEE = {"capture_by": "payee"}

_SETTLING = """
UPDATE commerce_payment_token SET status = 'settling', settling_at = clock_timestamp() - $2 * interval '1 second'
WHERE id = $1
"""


@dataclass
class PaymentWorld:
    """A caller under a spend policy that shows a capability, and a service."""

    payments: Payments
    capability: str
    number: int = 0
    wallet: TestWallet | None = None
    administrator: Developer | None = None
    """An administrator who suspends and reinstates the agents."""

    @classmethod
    async def of(cls, registry: TestRegistry) -> "PaymentWorld":
        owner = await registry.developer()
        caller, service = await owner.agent(name="Caller"), await registry.agent(name="Service")
        limits = {"spend_policy": {"per_day_max": "100000"}}
        answer = await registry.http.put(
            f"/api/v1/agents/{caller.did}/authz", json=limits, headers=owner.headers
        )
        assert answer.status_code == 200, answer.text
        lent = {"caveats": {"permissions": ["payment.pay"]}, "budget_total": "100000"}
        made = await registry.post("/agents/capabilities", json=lent, headers=caller.headers)
        assert made.status_code in {200, 201}, made.text
        return cls(Payments(registry, caller, service), made.json()["token"])

    @property
    def registry(self) -> TestRegistry:
        return self.payments.registry

    def new_key(self) -> str:
        self.number += 1
        return f"key-{self.number}"

    async def post(self, path: str, by: TestAgent | None, body: object, **headers: str) -> Outcome:
        return of_answer(await self.payments.post(path, by, body, **headers))

    async def ask(self, key: str, **more: object) -> httpx2.Response:
        body = {"target_agent_did": self.payments.service.did, "amount": "1", **more}
        headers = {"Idempotency-Key": key, "X-Capability-Token": self.capability}
        return await self.payments.post("authorize", self.payments.caller, body, **headers)

    async def authorized(self, **more: object) -> dict[str, str]:
        answer = await self.ask(self.new_key(), **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def paid_back_by_the_service(self) -> dict[str, str]:
        """A token of the service, which nobody bounds."""
        body = {"target_agent_did": self.payments.caller.did, "amount": "1"}
        answer = await self.payments.post("authorize", self.payments.service, body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def execute(self, statement: str, *values: object) -> None:
        await self.registry.database.transaction(lambda tx: tx.execute(statement, *values))

    async def past_expiry(self, *token_ids: str) -> None:
        """Let the time of these be over, on the day on which they were counted."""
        await self.execute(
            "UPDATE commerce_payment_token SET expires_at = clock_timestamp() WHERE id = ANY($1::uuid[])",
            token_ids,
        )

    async def left_settling(self, token_id: str, seconds: int) -> None:
        """Leave the token as a process does that died so long ago."""
        await self.execute(_SETTLING, token_id, seconds)

    async def clear(self) -> None:
        """End every open object, so that the caller has all its slots again."""
        await self.execute(
            "UPDATE commerce_payment_token SET expires_at = clock_timestamp()"
            " WHERE status IN ('authorized', 'consumed')"
        )
        await expire_due_tokens(self.registry.runtime)


PaymentAsking = Callable[[], Awaitable[Outcome]]


@dataclass(frozen=True)
class PaymentAct:
    """`prepare` makes the act ready; `ends` are the tokens after it, by number; `status` is its answer.

    `repeated` is a further status, of an act that was done before and whose answer was lost.
    """

    name: str
    prepare: Callable[[PaymentWorld], Awaitable[PaymentAsking]]
    ends: Counter[str]
    repeated: int = 200

    def __str__(self) -> str:
        return self.name


def of_answer(answer: httpx2.Response) -> Outcome:
    return Outcome(answer.status_code, "retry-after" in answer.headers, answer.text)


async def done(work: Awaitable[object]) -> Outcome:
    """Work without a route, as a route would answer it."""
    try:
        await work
    except Refused as refusal:
        return Outcome(refusal.status, "Retry-After" in refusal.headers, refusal.detail)
    return Outcome(200)


async def _authorize(world: PaymentWorld) -> PaymentAsking:
    return _authorizing(world)


async def _authorize_reserved(world: PaymentWorld) -> PaymentAsking:
    return _authorizing(world, **RESERVED)


def _authorizing(world: PaymentWorld, **more: object) -> PaymentAsking:
    key = world.new_key()

    async def ask() -> Outcome:
        return of_answer(await world.ask(key, **more))

    return ask


async def _verify(world: PaymentWorld) -> PaymentAsking:
    """A use that repeats its question is the first use again."""
    made, use_id = await world.authorized(), world.new_key()

    async def verify() -> Outcome:
        outcome = await world.post("verify", None, {"token": made["token"], "use_id": use_id})
        assert outcome.status != 200 or '"first_use":true' in outcome.text, outcome
        return outcome

    return verify


async def _verify_expired(world: PaymentWorld) -> PaymentAsking:
    made = await world.authorized(**RESERVED)
    await world.past_expiry(made["token_id"])
    return lambda: world.post("verify", None, {"token": made["token"]})


async def _settle(world: PaymentWorld) -> PaymentAsking:
    return _settling(world, await world.authorized(), world.payments.caller)


async def _settle_reserved(world: PaymentWorld) -> PaymentAsking:
    return _settling(world, await world.authorized(**RESERVED), world.payments.caller)


async def _capture_a_part(world: PaymentWorld) -> PaymentAsking:
    return _settling(world, await world.authorized(**BY_PAYEE), world.payments.service, "0.4")


def _settling(
    world: PaymentWorld, made: dict[str, str], by: TestAgent, part: str | None = None
) -> PaymentAsking:
    """Both steps, one after the other: the state, and the transfer that runs beside the answer."""
    amount = None if part is None else parse_amount(part)
    order = SettleOrder(made["token"], by.did, capture_amount=amount)
    book, runtime = ledger.Book.of(world.registry.settings), world.registry.runtime

    async def both() -> None:
        await runtime.database.transaction(lambda tx: settle(tx, order, book))
        await settle_token(runtime, UUID(made["token_id"]))

    return lambda: done(both())


async def _authorize_in_the_batch(world: PaymentWorld) -> PaymentAsking:
    """The service is bounded by nobody."""
    body, key = {"target_agent_did": world.payments.caller.did, "amount": "1"}, world.new_key()
    headers = {"Idempotency-Key": key}
    return lambda: world.post("authorize", world.payments.service, body, **headers)


async def _settle_in_the_batch(world: PaymentWorld) -> PaymentAsking:
    made = await world.authorized()
    body, headers = {"token": made["token"]}, {"Prefer": "wait=20"}
    return lambda: world.post("settle", world.payments.caller, body, **headers)


async def _release_in_the_batch(world: PaymentWorld) -> PaymentAsking:
    made = await world.paid_back_by_the_service()
    return lambda: world.post("release", world.payments.service, {"token": made["token"]})


async def _authorize_by_quote(world: PaymentWorld) -> PaymentAsking:
    query = f"target_agent_did={world.payments.service.did}&amount=1&firm=true"
    headers = world.payments.caller.headers
    quoted = await world.registry.get(f"/a2a-payment/quote?{query}", headers=headers)
    assert quoted.status_code == 200, quoted.text
    return _authorizing(world, quote_token=quoted.json()["quote_token"])


async def _settle_wallet(world: PaymentWorld) -> PaymentAsking:
    """The same signed payment again returns the outcome."""
    if world.wallet is None:
        world.wallet = TestWallet()
        assert (await world.wallet.bind(world.payments.service)).status_code == 200
    networks = Networks.of(world.registry.settings)
    terms = required(networks, await receive_address(world.payments.caller), 10**8)
    body = signed(world.wallet, networks, terms)

    async def settle() -> Outcome:
        answer = await world.registry.http.post("/x402/settle", json=body)
        # An outcome that is not known yet is asked for again.
        return Outcome(503, says_when=True) if "settlement_pending" in answer.text else of_answer(answer)

    return settle


async def _settle_unpaid(world: PaymentWorld) -> PaymentAsking:
    made = await world.authorized(**RESERVED)
    await world.payments.verify(made["token"])
    body = {"token": made["token"], "success": False}
    return lambda: world.post("settle", world.payments.caller, body)


async def _settle_late(world: PaymentWorld) -> PaymentAsking:
    made = await world.authorized(**RESERVED)
    await world.past_expiry(made["token_id"])
    return lambda: world.post("settle", world.payments.caller, {"token": made["token"]})


async def _settle_short(world: PaymentWorld) -> PaymentAsking:
    """The caller has spent its units meanwhile."""
    made = await world.authorized()
    await world.execute("UPDATE commerce_payment_token SET amount = 10 ^ 15 WHERE id = $1", made["token_id"])
    await world.execute("UPDATE agents_spending SET spent = spent - 10 ^ 8 + 10 ^ 15")
    await world.execute(
        "UPDATE agents_capability SET spent = 10 ^ 15 - 10 ^ 8 + spent, budget_total = 10 ^ 17"
    )
    return _settling(world, made, world.payments.caller)


async def _release(world: PaymentWorld) -> PaymentAsking:
    made = await world.authorized(**RESERVED)
    return lambda: world.post("release", world.payments.caller, {"token": made["token"]})


async def _release_by_id(world: PaymentWorld) -> PaymentAsking:
    made, key = await world.authorized(**BY_PAYEE), world.new_key()
    path = f"release-by-id/{made['token_id']}"
    return lambda: world.post(path, world.payments.service, None, **{"Idempotency-Key": key})


async def _expire(world: PaymentWorld) -> PaymentAsking:
    """Two that hold units or a budget, and one that does not."""
    made = [await world.authorized(), await world.authorized(**RESERVED)]
    plain = Payments(world.registry, world.payments.service, world.payments.caller)
    made.append(await plain.authorized())
    await world.past_expiry(*(one["token_id"] for one in made))
    return lambda: done(expire_due_tokens(world.registry.runtime))


async def _resume(world: PaymentWorld) -> PaymentAsking:
    """One that can be paid, and one that has had its time."""
    paid, late = await world.authorized(), await world.authorized(**RESERVED)
    await world.left_settling(paid["token_id"], 60)
    await world.left_settling(late["token_id"], 91)
    return lambda: done(resume_settlements(world.registry.runtime))


PAYMENT_ACTS = (
    PaymentAct("authorize", _authorize, Counter(authorized=1)),
    PaymentAct("authorize with a reserve", _authorize_reserved, Counter(authorized=1)),
    PaymentAct("verify", _verify, Counter(consumed=1)),
    PaymentAct("verify after the expiry", _verify_expired, Counter(expired=1)),
    PaymentAct("settle", _settle, Counter(settled=1)),
    PaymentAct("settle from a reserve", _settle_reserved, Counter(settled=1)),
    PaymentAct("capture of a part", _capture_a_part, Counter(settled=1)),
    PaymentAct("authorize in the batch", _authorize_in_the_batch, Counter(authorized=1)),
    PaymentAct("settle in the batch", _settle_in_the_batch, Counter(settled=1)),
    PaymentAct("release in the batch", _release_in_the_batch, Counter(released=1), repeated=400),
    PaymentAct("authorize by a firm quote", _authorize_by_quote, Counter(authorized=1)),
    PaymentAct("settle of a wallet's payment", _settle_wallet, Counter(settled=1)),
    PaymentAct("settle without success", _settle_unpaid, Counter(released=1), repeated=400),
    PaymentAct("settle after the expiry", _settle_late, Counter(expired=1), repeated=400),
    PaymentAct("settle beyond the balance", _settle_short, Counter(failed=1)),
    PaymentAct("release", _release, Counter(released=1), repeated=400),
    PaymentAct("release by id", _release_by_id, Counter(released=1)),
    PaymentAct("sweep of expired tokens", _expire, Counter(expired=3)),
    PaymentAct("resumption of settlements", _resume, Counter(settled=1, failed=1)),
)
