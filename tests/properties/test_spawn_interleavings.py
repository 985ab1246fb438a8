"""Children that are spawned, pay and end beside each other, and beside acts of enforcement, in many orders of their statements."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import parse_amount
from hansa.rooms import agents, auditor, commerce, ledger, spawn
from hansa.rooms.commerce.contracts.accept import accept
from hansa.rooms.commerce.contracts.reading import ContractShown
from hansa.rooms.enforcement.suspend import reinstate_agents, revoke_agents, suspend_agents
from hansa.rooms.spawn.ending import end_due
from tests.founded import open_copy
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_some_orders
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier, printed_seed
from tests.properties.test_suspension_interleavings import ADMINISTRATOR, WHY
from tests.registry import DatabaseFarm, TestAgent, TestRegistry

SAMPLE = by_tier(6, 100, 1_000)
DUE = """
UPDATE agents_spawn SET spawned_at = spawned_at - interval '2 days', expires_at = expires_at - interval '2 days', next_at = clock_timestamp()
WHERE did = $1
"""

# Rows that contradict the lineage: each with the rule that it breaks.
BROKEN = """
WITH child AS (
  SELECT s.*, a.status, a.roles, p.status AS status_of_parent, p.roles AS roles_of_parent, ps.ended_at AS parent_ended_at,
    l.liquid + l.staked + l.escrow AS held, l.status AS account, c.status AS card
  FROM agents_spawn s JOIN agents_agent a USING (did) JOIN agents_agent p ON p.did = s.parent_did
  JOIN ledger_account l ON l.did = s.did JOIN catalogue_card c ON c.did = s.did
  LEFT JOIN agents_spawn ps ON ps.did = s.parent_did
)
SELECT 'ended and not revoked, or revoked and not ended' AS rule, did FROM child WHERE (ended_at IS NOT NULL) <> (status = 'revoked')
UNION ALL SELECT 'living below an agent that has ended', did FROM child WHERE ended_at IS NULL AND status_of_parent = 'revoked'
UNION ALL SELECT 'acts while its parent is suspended', did FROM child
  WHERE ended_at IS NULL AND status_of_parent = 'suspended' AND status <> 'suspended'
UNION ALL SELECT 'swept and not empty', did FROM child WHERE swept IS NOT NULL AND held <> 0
UNION ALL SELECT 'ending with roles', did FROM child WHERE ending_at IS NOT NULL AND roles <> '{}'
UNION ALL SELECT 'more roles than its parent', did FROM child WHERE ended_at IS NULL AND NOT roles <@ roles_of_parent
UNION ALL SELECT 'status of card and agent differ', did FROM child WHERE card <> status
UNION ALL SELECT 'swept twice or without its reference', did FROM child
  WHERE swept > 0 AND 1 <> (SELECT count(*) FROM ledger_transaction t WHERE t.ref = 'spawn-end-' || right(child.did, 36))
UNION ALL SELECT 'ended with a contract that binds it', did FROM child JOIN commerce_contract c ON c.provider_did = did
  WHERE child.ended_at IS NOT NULL AND c.status = 'ACCEPTED'
UNION ALL SELECT 'more than fifty living', root_did FROM agents_spawn WHERE ended_at IS NULL GROUP BY root_did HAVING count(*) > 50
"""


async def prove_lineage(tx: Tx) -> None:
    """Every child agrees with its agent, its parent, its account and its card."""
    broken = [tuple(row) for row in await tx.fetch(BROKEN)]
    assert broken == []


@dataclass(frozen=True)
class Family:
    """A parent of 100 units, a child of 10, and an agent that both pay."""

    registry: TestRegistry
    parent: Agent
    child: Agent
    payee: TestAgent
    contract: int = 0
    """A proposal of the payee to the child; 0 where the play has none."""

    def spawn_from(self, parent: Agent, funding: str = "1") -> UseCase:
        order = spawn_order(self.registry, funding)
        return lambda tx: spawn.spawn(tx, parent, parent.did, order, self.registry.runtime)

    def pay(self, amount: str = "2") -> UseCase:
        order = ledger.TransferOrder(self.child.did, self.payee.did, parse_amount(amount))
        return lambda tx: ledger.transfer(tx, order, ledger.Book.of(self.registry.settings))

    def receive(self) -> UseCase:
        order = ledger.TransferOrder(self.payee.did, self.child.did, parse_amount("2"))
        return lambda tx: ledger.transfer(tx, order, ledger.Book.of(self.registry.settings))

    def end(self) -> UseCase:
        return lambda tx: spawn.end_child(tx, self.parent, self.child.did, self.registry.runtime)

    def end_by_job(self) -> UseCase:
        return lambda tx: end_due(tx, self.registry.runtime)

    def accept(self) -> UseCase:
        admits, settings = commerce.BOND_ADMITS.of(self.registry.runtime), self.registry.settings
        return lambda tx: accept(tx, self.child.did, self.contract, settings, admits)

    def suspend(self, agent: Agent) -> UseCase:
        return lambda tx: suspend_agents(tx, [agent.did], ADMINISTRATOR, reason=WHY, soft=False)

    def reinstate(self, agent: Agent) -> UseCase:
        return lambda tx: reinstate_agents(tx, [agent.did], ADMINISTRATOR, reason=None, soft=False)

    def revoke(self, agent: Agent) -> UseCase:
        async def revoked(tx: Tx) -> Any:
            await suspend_agents(tx, [agent.did], ADMINISTRATOR, reason=WHY, soft=False)
            return await revoke_agents(tx, [agent.did], ADMINISTRATOR, reason=WHY)

        return revoked


def spawn_order(registry: TestRegistry, funding: str, **more: Any) -> spawn.SpawnOrder:
    return spawn.SpawnOrder(
        card={"name": "Helper"},
        is_listed=False,
        roles=None,
        funding=parse_amount(funding),
        policy={},
        ttl_seconds=None,
        identity=agents.new_identity(registry.settings, None),
        **more,
    )


def is_spawned(outcome: Any) -> bool:
    assert isinstance(outcome, spawn.Spawned | Refused), outcome
    return isinstance(outcome, spawn.Spawned)


def is_ended(outcome: Any) -> bool:
    assert isinstance(outcome, spawn.Ended), outcome
    return outcome.child.state == "ended"


def is_paid(outcome: Any) -> bool:
    assert isinstance(outcome, ledger.Receipt | Refused), outcome
    return isinstance(outcome, ledger.Receipt)


Play = tuple[Callable[[Family], list[UseCase]], Callable[[list[Any]], bool]]

MET: dict[str, Play] = {
    "a child is swept before its payment or after it": (
        lambda f: [f.pay(), f.end()],
        lambda ended: is_paid(ended[0]) in {True, False} and is_ended(ended[1]),
    ),
    "a child is swept before it receives units or after it, or waits": (
        lambda f: [f.receive(), f.end()],
        lambda ended: is_paid(ended[0]) or is_ended(ended[1]),
    ),
    "of two ends one sweeps": (
        lambda f: [f.end(), f.end()],
        lambda ended: is_ended(ended[0]) and is_ended(ended[1]) and ended[0].child == ended[1].child,
    ),
    "an end by the job and one by the parent sweep once": (
        lambda f: [f.end_by_job(), f.end()],
        lambda ended: ended[0] is None and is_ended(ended[1]),
    ),
    "a spawn comes before the suspension of the parent or is refused": (
        lambda f: [f.spawn_from(f.parent), f.suspend(f.parent)],
        lambda ended: is_spawned(ended[0]) in {True, False} and ended[1][0].registry == "suspended",
    ),
    "a spawn comes before the revocation of the parent or is refused": (
        lambda f: [f.spawn_from(f.parent), f.revoke(f.parent)],
        lambda ended: is_spawned(ended[0]) in {True, False} and ended[1][0].registry == "revoked",
    ),
    "a spawn of a child comes before the suspension of its grandparent or is refused": (
        lambda f: [f.spawn_from(f.child), f.suspend(f.parent)],
        lambda ended: is_spawned(ended[0]) in {True, False} and ended[1][0].registry == "suspended",
    ),
    "a spawn of a child comes before the end of the child, or is refused": (
        lambda f: [f.spawn_from(f.child), f.end()],
        lambda ended: is_spawned(ended[0]) != isinstance(ended[1], spawn.Ended),
    ),
    "a parent is suspended while its child pays": (
        lambda f: [f.pay(), f.suspend(f.parent)],
        lambda ended: is_paid(ended[0]) in {True, False} and ended[1][0].registry == "suspended",
    ),
    "a child is swept before its parent is suspended, or waits": (
        lambda f: [f.end(), f.suspend(f.parent)],
        lambda ended: is_ended(ended[0]) in {True, False} and ended[1][0].registry == "suspended",
    ),
    "a child and its parent are suspended and reinstated one after the other": (
        lambda f: [f.suspend(f.child), f.reinstate(f.parent)],
        lambda ended: ended[0][0].registry == "suspended",
    ),
    "a contract is accepted before the life of the child ends, and keeps it, or is refused": (
        lambda f: [f.accept(), f.end_by_job()],
        lambda ended: isinstance(ended[0], ContractShown | Refused) and ended[1] is None,
    ),
    "a contract is accepted before the end by the parent, and keeps the child, or is refused": (
        lambda f: [f.accept(), f.end()],
        lambda ended: isinstance(ended[0], Refused) == is_ended(ended[1]),
    ),
    "two children of one parent are spawned": (
        lambda f: [f.spawn_from(f.parent), f.spawn_from(f.child)],
        lambda ended: is_spawned(ended[0]) and is_spawned(ended[1]),
    ),
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[TestRegistry, Director, TestAgent]]:
    async with (
        open_copy(database_farm, tmp_path_factory.mktemp("stage")) as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        # The administrator is the first developer, who owns no agent.
        await registry.developer()
        yield registry, director, await registry.agent()


async def propose(payee: TestAgent, child: str) -> int:
    """The id of a proposal to the child."""
    answer = await payee.registry.post(
        "/contracts",
        json={
            "provider_did": child,
            "title": "Work",
            "contract_type": "service",
            "amount": "1",
            "terms": "Some work.",
            "acceptance_criteria": "It is done.",
        },
        headers=payee.headers,
    )
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


async def set_family(registry: TestRegistry, payee: TestAgent, *, is_due: bool = False) -> Family:
    """A new family; the life of a child that `is_due` is over."""
    made = await registry.agent()
    found = await registry.database.query(lambda tx: agents.active_agent(tx, made.did))
    order = spawn_order(registry, "10")

    async def born(tx: Tx) -> Agent:
        await spawn.spawn(tx, found, found.did, order, registry.runtime)
        if is_due:
            await tx.execute(DUE, order.identity.did)
        return await agents.active_agent(tx, order.identity.did)

    return Family(registry, found, await registry.database.transaction(born), payee)


@pytest.mark.parametrize("name", MET)
async def test_however_acts_of_a_family_meet_books_and_lineage_agree(
    name: str, stage: tuple[TestRegistry, Director, TestAgent]
):
    registry, director, payee = stage
    sides, is_right = MET[name]

    async def play(choose: Choose) -> None:
        family = await set_family(registry, payee, is_due="job" in name or "life" in name)
        if "contract" in name:
            family = replace(family, contract=await propose(payee, family.child.did))
        ended = await director.play(sides(family), choose)
        assert is_right(ended), ended
        await registry.database.read(prove_lineage)
        # Those that are left living would be the first that the job finds.
        await registry.database.transaction(
            lambda tx: tx.execute("UPDATE agents_spawn SET next_at = NULL WHERE ended_at IS NULL")
        )

    await in_some_orders(play, count=SAMPLE, seed=printed_seed())
    await registry.database.read(prove_book)
    verdict = await registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert (verdict.status, verdict.supply.delta) == ("OK", 0)
