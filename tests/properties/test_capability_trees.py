"""Trees of capabilities: whatever is drawn, spent and revoked, by whomever at once, no tree spends more than its root."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.errors import Forbidden, Refused
from hansa.foundation.values.money import Minor
from hansa.foundation.values.roles import permissions_of
from hansa.rooms.agents.capabilities.issue import Recipient, attenuate, issue, revoke
from hansa.rooms.agents.capabilities.rules import Narrowing, Terms, Use, narrowed
from hansa.rooms.agents.capabilities.use import Presenter, consume
from tests.founded import open_copy
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestAgent, TestRegistry

EXAMPLES = by_tier(25, 1000, 10_000)
WORDS = ("a", "b", "c")


@dataclass(frozen=True)
class Act:
    """Spend `amount` under the capability with this number, or draw another from it, or revoke it."""

    kind: str
    number: int
    amount: int
    uses: int | None


ACTS = st.builds(
    Act,
    st.sampled_from(["spend", "spend", "spend", "spend", "draw", "draw", "revoke"]),
    st.integers(0, 7),
    st.integers(0, 12),
    st.none() | st.integers(1, 4),
)
# What stands in one list happens at the same moment.
STORIES = st.lists(st.lists(ACTS, min_size=1, max_size=5), min_size=1, max_size=5)


@pytest.fixture(scope="module")
async def registry(database_farm: DatabaseFarm, tmp_path_factory) -> AsyncIterator[TestRegistry]:
    async with open_copy(database_farm, tmp_path_factory.mktemp("trees")) as opened:
        yield opened


@pytest.fixture(scope="module")
async def actor(registry: TestRegistry) -> TestAgent:
    return await registry.agent()


@dataclass
class Tree:
    """Tree under test, with the amounts that its capabilities are said to have spent."""

    registry: TestRegistry
    did: str
    ids: list[UUID]
    accepted: list[tuple[UUID, int]]

    async def act(self, act: Act) -> None:
        named = self.ids[act.number % len(self.ids)]
        try:
            await getattr(self, act.kind)(named, act)
        except Forbidden:
            return

    async def spend(self, named: UUID, act: Act) -> None:
        use = Use(Minor(act.amount))
        presenter, config = Presenter(self.did), self.registry.settings
        await self.registry.database.transaction(lambda tx: consume(tx, named, presenter, use, config))
        self.accepted.append((named, act.amount))

    async def draw(self, named: UUID, act: Act) -> None:
        asked = Narrowing(None, None, None, None, None, False, None, Minor(act.amount or 1), act.uses)
        presenter, whom = Presenter(self.did), Recipient(None, 600)
        drawn = await self.registry.database.transaction(
            lambda tx: attenuate(tx, named, presenter, asked, whom)
        )
        self.ids.append(drawn.chain.leaf.id)

    async def revoke(self, named: UUID, act: Act) -> None:
        await self.registry.database.transaction(lambda tx: revoke(tx, named, self.did))

    async def links(self) -> dict[UUID, dict[str, object]]:
        rows = await self.registry.database.read(
            lambda tx: tx.fetch("SELECT * FROM agents_capability WHERE root_id = $1", self.ids[0])
        )
        return {row["id"]: dict(row) for row in rows}


async def planted(registry: TestRegistry, agent: TestAgent, budget: int) -> Tree:
    roles = ("trader",)
    issuer = Agent(agent.did, 1, roles, permissions_of(roles), is_governed=False)
    terms = Terms(("teg.transfer",), None, None, None, None, False, "AVT", Minor(budget), 12)
    config = registry.settings
    made = await registry.database.transaction(
        lambda tx: issue(tx, issuer, terms, Recipient(None, 600), config)
    )
    return Tree(registry, agent.did, [made.chain.root.id], [])


async def test_a_tree_never_spends_more_than_its_root(registry: TestRegistry, actor: TestAgent):
    loop = asyncio.get_running_loop()

    @seed(printed_seed())
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(STORIES, st.integers(1, 40))
    def lived_once(story: Sequence[Sequence[Act]], budget: int) -> None:
        asyncio.run_coroutine_threadsafe(lived(story, budget), loop).result()

    async def lived(story: Sequence[Sequence[Act]], budget: int) -> None:
        tree = await planted(registry, actor, budget)
        for together in story:
            await asyncio.gather(*(tree.act(act) for act in together))
        await require_sound(tree)

    await asyncio.to_thread(lived_once)


async def require_sound(tree: Tree) -> None:
    """Require that each capability counts exactly the amounts spent under it and drawn from it, within its own bounds."""
    links = await tree.links()
    assert set(links) == set(tree.ids)
    for one, link in links.items():
        below = {other for other, child in links.items() if one in child["path"]}
        spent = [amount for named, amount in tree.accepted if named in below]
        assert (link["spent"], link["uses"]) == (sum(spent), len(spent))
        assert link["spent"] <= link["budget_total"]
        assert link["uses"] <= (link["max_uses"] or len(spent))


SUBSETS = st.none() | st.lists(st.sampled_from(WORDS), unique=True).map(tuple)
BOUNDS = st.none() | st.integers(1, 5).map(Minor)
PERMITTED = st.lists(st.sampled_from(WORDS), unique=True, min_size=1).map(tuple)
TERMS = st.builds(
    Terms, PERMITTED, BOUNDS, SUBSETS, SUBSETS, SUBSETS, st.booleans(), st.just("AVT"), BOUNDS, BOUNDS
)
NARROWINGS = st.builds(
    Narrowing,
    st.none() | PERMITTED,
    BOUNDS,
    SUBSETS,
    SUBSETS,
    SUBSETS,
    st.booleans(),
    st.sampled_from([None, "AVT", "EUR"]),
    BOUNDS,
    BOUNDS,
)


@seed(printed_seed())
@settings(max_examples=by_tier(100, 20_000, 200_000), deadline=None, database=None)
@given(TERMS, NARROWINGS)
def test_what_is_drawn_allows_nothing_that_its_parent_does_not(parent: Terms, asked: Narrowing):
    try:
        child = narrowed(parent, asked)
    except Refused:
        return
    for name in ("permissions", "allowed_currencies", "counterparty_allow", "operations"):
        outer, inner = getattr(parent, name), getattr(child, name)
        assert outer is None or (inner is not None and set(inner) <= set(outer)), name
    for name in ("max_per_tx", "budget_total", "max_uses"):
        outer, inner = getattr(parent, name), getattr(child, name)
        assert outer is None or (inner is not None and inner <= outer), name
    assert child.currency == parent.currency
