"""Acts of enforcement that meet each other and transfers, in many orders of their statements."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms import ledger
from hansa.rooms.enforcement.developers import reinstate_developer, suspend_developer
from hansa.rooms.enforcement.suspend import reinstate_agents, revoke_agents, suspend_agents
from tests.founded import open_copy
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_some_orders
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestAgent, TestRegistry

SAMPLE = by_tier(8, 200, 2_000)
ADMINISTRATOR = Developer(
    id=1, email="a@example.org", session="test", is_verified=True, areas=frozenset(), is_admin=True
)
WHY = "For a test."

# One row for each agent: what each part of the registry says of it.
_PARTS = """
SELECT a.status, c.status AS card, l.status AS account, s.withheld_since IS NOT NULL AS withheld,
  (SELECT array_agg(soft) FROM enforcement_suspension WHERE did = a.did AND lifted_at IS NULL) AS active
FROM agents_agent a JOIN catalogue_card c USING (did) JOIN ledger_account l USING (did)
LEFT JOIN enforcement_agent s USING (did) WHERE did = $1
"""


@dataclass(frozen=True)
class Scene:
    """Alice pays Bob; Bob's developer owns nobody else."""

    registry: TestRegistry
    alice: TestAgent
    bob: TestAgent
    bobs_developer: int
    before: int

    def pay(self) -> UseCase:
        order = ledger.TransferOrder(self.alice.did, self.bob.did, parse_amount("1"))
        book = ledger.Book.of(self.registry.settings)
        return lambda tx: ledger.transfer(tx, order, book)

    def suspend(self, *, soft: bool = False) -> UseCase:
        return lambda tx: suspend_agents(tx, [self.bob.did], ADMINISTRATOR, reason=WHY, soft=soft)

    def suspend_both(self, *, backwards: bool = False) -> UseCase:
        dids = [self.alice.did, self.bob.did]
        asked = dids[::-1] if backwards else dids
        return lambda tx: suspend_agents(tx, asked, ADMINISTRATOR, reason=WHY, soft=False)

    def reinstate(self) -> UseCase:
        return lambda tx: reinstate_agents(tx, [self.bob.did], ADMINISTRATOR, reason=None, soft=False)

    def revoke(self) -> UseCase:
        return lambda tx: revoke_agents(tx, [self.bob.did], ADMINISTRATOR, reason=WHY)

    def suspend_owner(self) -> UseCase:
        return lambda tx: suspend_developer(tx, self.bobs_developer, ADMINISTRATOR, reason=WHY)

    def reinstate_owner(self) -> UseCase:
        return lambda tx: reinstate_developer(tx, self.bobs_developer, ADMINISTRATOR, reason=None)

    async def events(self) -> Counter[str]:
        rows = await self.registry.database.query(
            lambda tx: tx.fetch(
                "SELECT event_type FROM journal_event WHERE seq > $1 AND aggregate_id = $2",
                self.before,
                self.bob.did,
            )
        )
        return Counter(row["event_type"] for row in rows)


def registry_rows(*outcomes: Any) -> list[str]:
    """The answers about agents' status, sorted."""
    return sorted(row.registry for rows in outcomes for row in rows)


def is_paid(outcome: Any) -> bool:
    assert isinstance(outcome, ledger.Receipt | ledger.AccountSuspended), outcome
    return isinstance(outcome, ledger.Receipt)


Play = tuple[Callable[[Scene], list[UseCase]], Callable[[list[Any], Counter[str]], bool]]

# What the sides do; then whether these outcomes with these events about Bob are right.
MET: dict[str, Play] = {
    "a transfer comes before the suspension of its payee or after it": (
        lambda s: [s.pay(), s.suspend()],
        lambda ended, events: is_paid(ended[0]) in {True, False} and events["AgentSuspended"] == 1,
    ),
    "a transfer comes before the suspension of both or after it": (
        lambda s: [s.pay(), s.suspend_both()],
        lambda ended, events: is_paid(ended[0]) in {True, False} and events["AgentSuspended"] == 1,
    ),
    "of two suspensions one did it": (
        lambda s: [s.suspend(), s.suspend()],
        lambda ended, events: (
            registry_rows(*ended) == ["already_suspended", "suspended"] and events["AgentSuspended"] == 1
        ),
    ),
    "a soft suspension and a hard one make a hard one": (
        lambda s: [s.suspend(soft=True), s.suspend()],
        lambda ended, events: (
            registry_rows(*ended) == ["already_suspended", "suspended"] and events["AgentSuspended"] in {1, 2}
        ),
    ),
    "suspensions of the same agents in opposite orders both finish": (
        lambda s: [s.suspend_both(), s.suspend_both(backwards=True)],
        lambda ended, events: (
            registry_rows(*ended) == ["already_suspended"] * 2 + ["suspended"] * 2
            and events["AgentSuspended"] == 1
        ),
    ),
    "a reinstatement comes before the suspension or after it": (
        lambda s: [s.suspend(), s.reinstate()],
        lambda ended, events: (
            registry_rows(*ended) in [["reinstated", "suspended"], ["already_active", "suspended"]]
            and events["AgentReinstated"] == registry_rows(*ended).count("reinstated")
        ),
    ),
    "a revocation ends what was suspended before it and nothing else": (
        lambda s: [s.suspend(), s.revoke()],
        lambda ended, events: (
            registry_rows(*ended) in [["revoked", "suspended"], ["not_suspended", "suspended"]]
            and events["AgentRevoked"] == registry_rows(ended[1]).count("revoked")
        ),
    ),
    "an agent that is suspended for itself too stays so": (
        lambda s: [s.suspend(), s.suspend_owner()],
        lambda ended, events: (
            registry_rows(*ended) == ["already_suspended", "suspended"] and events["AgentSuspended"] == 1
        ),
    ),
    "a developer is suspended and reinstated one after the other": (
        lambda s: [s.suspend_owner(), s.reinstate_owner()],
        lambda ended, events: (
            registry_rows(*ended) in [["reinstated", "suspended"], ["already_active", "suspended"]]
        ),
    ),
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[TestRegistry, Director, TestAgent]]:
    async with (
        open_copy(database_farm, tmp_path_factory.mktemp("stage"), genesis_supply="1000000000") as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        # The administrator is the first developer, who owns no agent.
        await registry.developer()
        alice, book = await registry.agent(), ledger.Book.of(registry.settings)
        # She pays in every order of every meeting.
        wealth = parse_amount("1000000")
        await registry.database.transaction(
            lambda tx: ledger.grant(tx, payee=alice.did, amount=wealth, ref="test grant", book=book)
        )
        yield registry, director, alice


async def set_scene(registry: TestRegistry, alice: TestAgent) -> Scene:
    """Alice as she was; Bob and his developer are new, for revoked agents do not return."""
    bob = await registry.agent()
    card = (await registry.get(f"/agent-cards/{bob.did}")).json()

    async def as_she_was(tx: Tx) -> int:
        # Bob too: who was acted on before has a row to be locked by.
        await reinstate_agents(tx, [alice.did, bob.did], ADMINISTRATOR, reason=None, soft=False)
        before: int = await tx.fetchval("SELECT max(seq) FROM journal_event")
        return before

    before = await registry.database.transaction(as_she_was)
    return Scene(registry, alice, bob, card["developer_id"], before)


async def require_that_all_parts_agree(scene: Scene) -> None:
    for agent in (scene.alice, scene.bob):
        row = await scene.registry.database.query(lambda tx, agent=agent: tx.fetchrow(_PARTS, agent.did))
        assert row["card"] == row["status"], dict(row)
        assert row["account"] == ("suspended" if row["withheld"] else "active"), dict(row)
        active = row["active"] or []
        if row["status"] != "revoked":
            assert (row["status"] == "suspended") == bool(active), dict(row)
            assert bool(row["withheld"]) == (False in active), dict(row)


@pytest.mark.parametrize("name", MET)
async def test_however_acts_of_enforcement_meet_the_parts_of_the_registry_agree(
    name: str, stage: tuple[TestRegistry, Director, TestAgent]
):
    registry, director, alice = stage
    sides, is_right = MET[name]

    async def play(choose: Choose) -> None:
        scene = await set_scene(registry, alice)
        ended = await director.play(sides(scene), choose)
        events = await scene.events()
        assert is_right(ended, events), (ended, events)
        await require_that_all_parts_agree(scene)
        paid = isinstance(ended[0], ledger.Receipt)
        balance = await registry.database.query(lambda tx: ledger.balance_of(tx, scene.bob.did))
        assert format_amount(balance.liquid) == ("101" if paid else "100")

    await in_some_orders(play, count=SAMPLE, seed=printed_seed())
    await registry.database.read(prove_book)
