"""Everything that moves, makes or sets aside units, each act as one thing that can be asked for again under its key."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import httpx2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.values.errors import Conflict, Forbidden, Refused
from hansa.foundation.values.jwk import jwk_of
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from hansa.rooms.ledger import staking
from hansa.rooms.ledger.batch import Ticket, answer_of, post_batch
from tests.faults.traffic import request_of
from tests.registry import TestAgent, TestRegistry, card_of

UNIT = 10**8
DUE = 777


@dataclass(frozen=True)
class Outcome:
    """Outcome of one request: a status as HTTP gives it, whether it names a time to retry, and the answer."""

    status: int
    says_when: bool = False
    text: str = ""

    @property
    def is_decided(self) -> bool:
        return self.status < 500

    @property
    def is_polite(self) -> bool:
        return 200 <= self.status < 500 or (self.status == 503 and self.says_when)


Asking = Callable[[], Awaitable[list[Outcome]]]


@dataclass
class World:
    """A registry with two agents that may do everything."""

    registry: TestRegistry
    alice: TestAgent
    bob: TestAgent
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def book(self) -> ledger.Book:
        return ledger.Book.of(self.registry.settings)

    def new_key(self) -> str:
        return f"key-{next(self.numbers)}"

    async def post(self, path: str, key: str | None = None, **body: object) -> Outcome:
        headers = {**self.alice.headers, **({"Idempotency-Key": key} if key else {})}
        return outcome_of_response(await self.registry.post(path, json=body, headers=headers))

    async def execute(self, statement: str, *values: object) -> None:
        await self.registry.database.transaction(lambda tx: tx.execute(statement, *values))


@dataclass(frozen=True)
class Act:
    """`prepare` makes the object of the request ready, with a key of its own; `finals` are the statuses it ends with.

    An act that takes no key answers anew when it is asked for again.
    """

    name: str
    prepare: Callable[[World], Awaitable[Asking]]
    finals: Sequence[set[int]] = ({200},)
    takes_key: bool = True

    def __str__(self) -> str:
        return self.name


def outcome_of_response(answer: httpx2.Response) -> Outcome:
    return Outcome(answer.status_code, "retry-after" in answer.headers, answer.text)


async def outcome_of(work: Awaitable[object]) -> Outcome:
    """A use case without a route, as its route would render it."""
    try:
        return Outcome(200, text=str(await work))
    except Refused as refusal:
        return Outcome(refusal.status, "Retry-After" in refusal.headers, refusal.detail)


async def _transfer(world: World) -> Asking:
    key = world.new_key()
    return lambda: _alone(
        world.post("/teg/transfer", key, receiver_agent_id=world.bob.did, amount="1", message=key)
    )


async def _send(world: World) -> Asking:
    key = world.new_key()
    return lambda: _alone(world.post("/teg/send", key, receiver_did=world.bob.did, amount="1", message=key))


async def _bulk(world: World) -> Asking:
    return _of_lines(world, atomic=False)


async def _atomic_bulk(world: World) -> Asking:
    return _of_lines(world, atomic=True)


def _of_lines(world: World, *, atomic: bool) -> Asking:
    keys = [world.new_key() for _ in range(3)]
    lines = [{"receiver_did": world.bob.did, "amount": "1", "key": key} for key in keys]
    return lambda: _alone(world.post("/teg/transfers", transfers=lines, atomic=atomic))


async def _plain_transfer(world: World) -> Asking:
    return _posted_alone(world, Minor(UNIT))


async def _refused_transfer(world: World) -> Asking:
    return _posted_alone(world, Minor(10**17))


def _posted_alone(world: World, amount: Minor) -> Asking:
    """A transfer in a transaction of its own, as when its batch could not be written."""
    ticket = ticket_of(world, ledger.TransferOrder(world.alice.did, world.bob.did, amount), world.new_key())

    async def answered() -> str:
        database = world.registry.database
        (rows,) = await database.transaction(lambda tx: post_batch(tx, [ticket], world.book))
        return answer_of(ticket, rows).text

    return lambda: _alone(outcome_of(answered()))


async def _batch(world: World) -> Asking:
    """A transfer, one that is refused, a repetition of an older one, a stranger and a transfer back, in one commit."""
    group = ledger.GroupCommit(world.registry.database, world.book)
    there = ledger.TransferOrder(world.alice.did, world.bob.did, Minor(UNIT))
    back = ledger.TransferOrder(world.bob.did, world.alice.did, Minor(UNIT))
    too_much = ledger.TransferOrder(world.bob.did, world.alice.did, Minor(10**17))
    strange = ledger.TransferOrder(world.alice.did, "did:hansa:hansa.local:stranger", Minor(UNIT))
    asked = [(order, world.new_key()) for order in (there, too_much, there, strange, back)]
    await _through(group, *asked[2])
    return lambda: _together(*(_through(group, order, key) for order, key in asked))


async def _through(group: ledger.GroupCommit, order: ledger.TransferOrder, key: str) -> Outcome:
    async def answered() -> str:
        return (await group.transfer(order, request_of(order, key), render)).text

    return await outcome_of(answered())


async def _stake(world: World) -> Asking:
    key = world.new_key()
    return lambda: _alone(world.post("/staking/stake", key, amount="10", lock_period=0))


async def _unstake(world: World) -> Asking:
    assert (await world.post("/staking/stake", amount="10", lock_period=0)).status == 200
    key = world.new_key()
    return lambda: _alone(world.post("/staking/unstake", key, amount="10"))


async def _claim(world: World) -> Asking:
    """Rewards that are due, and none that grow while the claim is repeated."""
    assert (await world.post("/staking/stake", amount="10", lock_period=0)).status == 200
    own = "(SELECT id FROM ledger_account WHERE did = $1)"
    await world.execute(
        f"UPDATE ledger_stake_position SET rewarded_until = now() + interval '1 day' WHERE account_id = {own}",
        world.alice.did,
    )
    await world.execute(
        f"INSERT INTO ledger_stake_reward (account_id, due) VALUES ({own}, $2)"
        " ON CONFLICT (account_id) DO UPDATE SET due = excluded.due",
        world.alice.did,
        DUE,
    )
    return lambda: _alone(world.post("/staking/claim-rewards"))


async def _compound(world: World) -> Asking:
    """A reward of a hundred days; the seconds that pass while it is repeated earn less than a unit of the smallest."""
    assert (await world.post("/staking/stake", amount="10", lock_period=0)).status == 200
    own = "(SELECT id FROM ledger_account WHERE did = $1)"
    await world.execute(
        "UPDATE ledger_stake_position SET auto_compound = true, rewarded_until = now() - interval '100 days'"
        f" WHERE account_id = {own} AND remaining > 0",
        world.alice.did,
    )
    runtime = world.registry.runtime
    kept_active = ledger.KEPT_ACTIVE.of(runtime)
    return lambda: _alone(
        outcome_of(
            runtime.database.transaction(
                lambda tx: staking.compound(tx, world.alice.did, runtime.settings, kept_active)
            )
        )
    )


async def _create_agent(world: World) -> Asking:
    """A developer's first agent, with its grant; the bootstrap token is the key."""
    token = await (await world.registry.developer()).bootstrap_token()

    async def asked() -> list[Outcome]:
        answer = await world.registry.post(
            "/onboard/create_agent",
            json={"agent_did_method": world.registry.settings.did_method, "agent_card": card_of()},
            headers={"Bootstrap-Token": token, **world.registry.elsewhere()},
        )
        return [outcome_of_response(answer)]

    return asked


async def _pay_under_every_control(world: World) -> Asking:
    """A payment that takes a policy, an approval and a capability, each of which is good for this one."""
    owner, key = await world.registry.developer(), world.new_key()
    agent = await owner.agent()
    own = f"/agents/{agent.did}"
    lent = {"caveats": {"permissions": ["teg.transfer"]}, "budget_total": "1", "max_uses": 1}
    limits = {"spend_policy": {"per_day_max": "1", "approval_over": "0"}}
    payment = {"receiver_agent_id": world.bob.did, "amount": "1"}
    await world.registry.http.put(f"/api/v1{own}/authz", json=limits, headers=owner.headers)
    capability = (await world.registry.post("/agents/capabilities", json=lent, headers=agent.headers)).json()
    waiting = (await world.registry.post("/teg/transfer", json=payment, headers=agent.headers)).json()
    path = f"{own}/spend-approvals/{waiting['approval_id']}/approve"
    assert (await world.registry.post(path, headers=owner.headers)).status_code == 200
    shown = {
        "Idempotency-Key": key,
        "X-Spend-Approval": waiting["approval_id"],
        "X-Capability-Token": capability["token"],
    }
    headers = {**agent.headers, **shown}
    return lambda: _alone(
        _outcome_of_response(world.registry.post("/teg/transfer", json=payment, headers=headers))
    )


async def _rotate_key(world: World) -> Asking:
    """A new signing key that the agent brings: brought again it is one that the agent had before."""
    agent = await world.registry.agent()
    jwk = jwk_of(Ed25519PrivateKey.generate().public_key().public_bytes_raw())

    return lambda: _alone(
        _outcome_of_response(
            world.registry.post(
                "/agents/me/rotate-signing-key", json={"public_key_jwk": jwk}, headers=agent.headers
            )
        )
    )


async def _enrol(world: World) -> Asking:
    agent = await world.registry.agent()
    return lambda: _alone(
        _outcome_of_response(world.registry.post("/agent/enable-mtls", headers=agent.headers))
    )


async def _end_agent(world: World) -> Asking:
    """The end of an agent that holds nothing and has a workload identity to lose."""
    developer = await world.registry.developer()
    await developer.agent()
    agent = await developer.agent(name="Empty")
    enrolled = await world.registry.post("/agent/enable-mtls", headers=agent.headers)
    assert enrolled.status_code == 200, enrolled.text
    return lambda: _alone(
        _outcome_of_response(world.registry.http.delete("/api/v1/agents/me", headers=agent.headers))
    )


async def _outcome_of_response(answer: Awaitable[httpx2.Response]) -> Outcome:
    return outcome_of_response(await answer)


async def _mint(world: World) -> Asking:
    ref = world.new_key()
    return lambda: _alone(
        outcome_of(
            world.registry.database.transaction(
                lambda tx: ledger.mint(
                    tx, amount=Minor(UNIT), ref=ref, amount_max=Minor(10**14), book=world.book
                )
            )
        )
    )


async def _burn(world: World) -> Asking:
    ref = world.new_key()
    return lambda: _alone(
        outcome_of(
            world.registry.database.transaction(
                lambda tx: ledger.destroy(tx, amount=Minor(UNIT), ref=ref, book=world.book)
            )
        )
    )


async def _correct(world: World) -> Asking:
    correction = ledger.Correction(world.alice.did, Minor(UNIT), "debit", world.new_key())
    return lambda: _alone(
        outcome_of(world.registry.database.transaction(lambda tx: ledger.correct(tx, correction, world.book)))
    )


def ticket_of(world: World, order: ledger.TransferOrder, key: str) -> Ticket:
    return Ticket.of_transfer(order, request_of(order, key), render)


def render(receipt: ledger.Receipt) -> str:
    return f"{receipt.tx_id} {receipt.payer_balance_after}"


async def _alone(asking: Awaitable[Outcome]) -> list[Outcome]:
    return [await asking]


async def _together(*askings: Awaitable[Outcome]) -> list[Outcome]:
    return list(await asyncio.gather(*askings))


TRANSFER = Act("transfer", _transfer)
BATCH = Act("batch", _batch, ({200}, {402}, {200}, {404}, {200}))
OTHERS = (
    Act("transfer posted alone", _plain_transfer),
    Act("refused transfer posted alone", _refused_transfer, ({402},)),
    Act("send", _send),
    Act("bulk", _bulk),
    Act("bulk of all or none", _atomic_bulk),
    Act("payment under a policy, an approval and a capability", _pay_under_every_control),
    Act("stake", _stake),
    Act("unstake", _unstake),
    Act("claim of rewards", _claim, takes_key=False),
    Act("compounding of rewards", _compound, takes_key=False),
    # A client that repeats a creation whose answer was lost gets the answer that the token is used up, and a mint or burn likewise.
    Act("creation of an agent with its grant", _create_agent, ({201, Conflict.status},)),
    Act("rotation of a key", _rotate_key, ({200, Conflict.status},), takes_key=False),
    Act("enrolment for mutual TLS", _enrol, takes_key=False),
    Act("end of an agent", _end_agent, ({200, Forbidden.status},), takes_key=False),
    Act("mint", _mint, ({200, Conflict.status},)),
    Act("burn", _burn, ({200, Conflict.status},)),
    Act("correction of a balance", _correct, ({200, Conflict.status},)),
)
