"""Drawn histories of one tree of children: every answer, status, purse and limit is that of the model, and the books are exact."""

import random
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import UNIT, Minor
from hansa.foundation.values.roles import permissions_of
from hansa.rooms import agents, ledger, spawn
from hansa.rooms.agents.authz.roles import NewAuthz, replace_authz
from hansa.rooms.agents.lineage import narrowing
from hansa.rooms.enforcement import suspend as enforcement
from hansa.rooms.spawn.ending import end_due
from hansa.rooms.transfers.governed import GovernedTransfer, transfer_governed
from tests.founded import open_copy
from tests.organizations import id_of
from tests.properties.interleaving import within_transaction
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier, printed_seed
from tests.properties.spawn_model import TTL_MAX, Model, Refusal
from tests.properties.test_spawn_interleavings import BROKEN
from tests.properties.test_suspension_interleavings import ADMINISTRATOR, WHY
from tests.registry import DatabaseFarm, TestAgent, TestRegistry

HISTORIES = by_tier(40, 3_000, 30_000)
PLANTED_HISTORIES = 300
ACTS = 14

_PASS = """
UPDATE agents_spawn SET spawned_at = spawned_at - $1 * interval '1 second', expires_at = expires_at - $1 * interval '1 second',
  next_at = next_at - $1 * interval '1 second', ending_at = ending_at - $1 * interval '1 second'
"""
_DUE = "UPDATE agents_spawn SET next_at = clock_timestamp() WHERE ended_at IS NULL AND ending_at IS NOT NULL"
_NO_PACE = "UPDATE ledger_account SET pace = '{}' WHERE pace <> '{}'"
_TREE = """
SELECT a.did, a.status, l.liquid, p.per_tx_max AS "limit", s.ending_at IS NOT NULL AS is_ending
FROM agents_agent a JOIN ledger_account l USING (did) LEFT JOIN agents_spend_policy p ON p.agent_id = a.id
LEFT JOIN agents_spawn s USING (did) WHERE a.did = ANY ($1)
"""


class Undone(Exception):
    """The end of a history, which leaves nothing."""


class Stage:
    """A registry with a root, an agent outside of its tree, and the owner of the root."""

    def __init__(
        self, registry: TestRegistry, root: TestAgent, outside: TestAgent, person: Developer
    ) -> None:
        self.registry, self.root, self.outside, self.person = registry, root, outside, person


class Scene:
    """The use cases, on agents by their number in the history."""

    def __init__(self, stage: Stage, tx: Tx) -> None:
        self.stage, self.tx = stage, tx
        self.runtime = within_transaction(stage.registry.runtime, tx)
        self.dids = [stage.root.did]

    async def spawn(self, number: int, funding: int, ttl: int | None, limit: int | None) -> str:
        identity = agents.new_identity(self.stage.registry.settings, None)
        policy = {} if limit is None else {"per_tx_max": Minor(limit)}
        order = spawn.SpawnOrder(
            card={"name": "Helper"},
            is_listed=False,
            roles=None,
            funding=Minor(funding),
            policy=policy,
            ttl_seconds=ttl,
            identity=identity,
        )
        await spawn.spawn(self.tx, self.stage.person, self.dids[number], order, self.runtime)
        self.dids.append(identity.did)
        return "done"

    async def pay(self, number: int, amount: int) -> str:
        settings, did = self.stage.registry.settings, self.dids[number]
        payer = await agents.active_agent(self.tx, did)
        if "teg.transfer" not in permissions_of(payer.roles):
            return "403"
        order = ledger.TransferOrder(did, self.stage.outside.did, Minor(amount))
        payment = agents.Payment(order.payee, order.amount, "AVT", "teg.transfer", "teg.transfer")
        asked = GovernedTransfer(order, payment, None, lambda _: "paid")
        await transfer_governed(self.tx, payer, asked, settings)
        return "done"

    async def limit(self, number: int, most: int) -> str:
        policy = agents.SpendPolicy(Minor(most), None, None, None)
        await replace_authz(
            self.tx, self.stage.person, self.dids[number], NewAuthz(None, policy, sets_policy=True)
        )
        return "done"

    async def suspend(self, number: int) -> str:
        did = self.dids[number]
        (row,) = await enforcement.suspend_agents(self.tx, [did], ADMINISTRATOR, reason=WHY, soft=False)
        return row.registry

    async def reinstate(self, number: int) -> str:
        did = self.dids[number]
        (row,) = await enforcement.reinstate_agents(self.tx, [did], ADMINISTRATOR, reason=None, soft=False)
        return row.registry

    async def revoke(self, number: int) -> str:
        (row,) = await enforcement.revoke_agents(self.tx, [self.dids[number]], ADMINISTRATOR, reason=WHY)
        return row.registry

    async def end(self, number: int) -> str:
        ended = await spawn.end_child(self.tx, self.stage.person, self.dids[number], self.runtime)
        return ended.child.state

    async def work(self) -> str:
        await self.tx.execute(_DUE)
        # Each turn takes one child; a parent that waited for a child is due once more after it.
        for _ in range(3):
            while await agents.HAS_CHILD_DUE(self.tx):
                await end_due(self.tx, self.runtime)
            await self.tx.execute(_DUE)
        return "done"

    async def pass_time(self, seconds: int) -> str:
        await self.tx.execute(_PASS, float(seconds))
        return "done"


class History:
    """One life of a tree, played by the model and by the use cases."""

    def __init__(self, stage: Stage, tx: Tx, chance: random.Random) -> None:
        self.tx, self.chance = tx, chance
        self.scene = Scene(stage, tx)
        self.model = Model(100 * UNIT)
        self.given: list[Any] = []

    async def live(self) -> None:
        acts = [self._spawn, self._spawn, self._pay, self._end, self._work]
        acts += self.chance.sample([self._limit, self._suspend, self._reinstate, self._revoke], 3)
        try:
            await self._spawn()
            for _ in range(ACTS):
                await self.chance.choice(acts)()
            await self.both("pass_time", 60 * 86_400)
            await self.both("work")
            assert [tuple(row) for row in await self.tx.fetch(BROKEN)] == []
        except AssertionError:
            print(*self.given, sep="\n")
            raise

    async def both(self, name: str, *given: Any) -> None:
        """Let the model and the use case do the same, and compare what they answer and what is stored."""
        self.given.append((name, *given))
        try:
            expected = getattr(self.model, name)(*given)
        except Refusal as refusal:
            (expected,) = map(str, refusal.args)
        await self.tx.execute(_NO_PACE)
        savepoint = self.tx.transaction()
        await savepoint.start()
        try:
            answered = await getattr(self.scene, name)(*given)
        except Refused as refusal:
            await savepoint.rollback()
            answered = str(refusal.status)
        else:
            await savepoint.commit()
        assert answered == expected
        await self._compare()

    async def _compare(self) -> None:
        rows = {row["did"]: row for row in await self.tx.fetch(_TREE, self.scene.dids)}
        for did, member in zip(self.scene.dids, self.model.members, strict=True):
            row = rows[did]
            assert (row["status"], row["liquid"]) == (member.status, member.liquid)
            assert row["is_ending"] == member.ending
            if not member.ending and not member.revoked:
                assert row["limit"] == member.limit

    def _anyone(self) -> int:
        return self.chance.randrange(len(self.model.members))

    async def _spawn(self) -> None:
        funding = self.chance.choice([1, 3 * UNIT, 10 * UNIT, 33_333_333, 60 * UNIT])
        ttl = self.chance.choice([None, None, 60, 3600, 86_400, TTL_MAX])
        limit = self.chance.choice([None, None, None, UNIT, 20 * UNIT])
        await self.both("spawn", self._anyone(), funding, ttl, limit)

    async def _pay(self) -> None:
        await self.both("pay", self._anyone(), self.chance.choice([1, UNIT, 2 * UNIT + 1, 9 * UNIT]))

    async def _end(self) -> None:
        await self.both("end", self._anyone())

    async def _work(self) -> None:
        await self.both("pass_time", self.chance.choice([30, 61, 3600, 90_000]))
        await self.both("work")

    async def _limit(self) -> None:
        await self.both("limit", self._anyone(), self.chance.choice([0, UNIT, 5 * UNIT, 50 * UNIT]))

    async def _suspend(self) -> None:
        await self.both("suspend", self._anyone())

    async def _reinstate(self) -> None:
        await self.both("reinstate", self._anyone())

    async def _revoke(self) -> None:
        await self.both("revoke", self._anyone())


async def live(stage: Stage, seed: str, numbers: Iterable[int]) -> None:
    """Play these histories, each undone at its end."""

    async def play(tx: Tx, number: int) -> None:
        await History(stage, tx, random.Random(f"{seed} {number}")).live()
        raise Undone

    for number in numbers:
        with pytest.raises(Undone):
            await stage.registry.database.transaction(lambda tx, number=number: play(tx, number))


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    async with open_copy(database_farm, tmp_path_factory.mktemp("tree")) as registry:
        # The administrator is the first developer, who owns no agent.
        await registry.developer()
        yield await set_stage(registry)


async def set_stage(registry: TestRegistry) -> Stage:
    """A new root, which holds the genesis grant."""
    owner = await registry.developer()
    root, outside = await owner.agent(), await registry.agent()
    person = Developer(await id_of(owner), owner.email, "session", True, frozenset(), False)
    return Stage(registry, root, outside, person)


async def test_a_tree_of_children_and_its_model_answer_every_history_alike(stage: Stage):
    await live(stage, str(printed_seed()), range(HISTORIES))


async def test_the_books_and_the_auditor_find_a_history_sound(stage: Stage):
    """One that is committed, as the auditor reads what others have committed."""
    seed, another = printed_seed(), await set_stage(stage.registry)
    await stage.registry.database.transaction(
        lambda tx: History(another, tx, random.Random(f"{seed}")).live()
    )
    await stage.registry.database.read(prove_book)
    verdict = await stage.registry.supply()
    assert (verdict["status"], verdict["delta"]) == ("OK", "0")


async def _nobody(*_: Any, **__: Any) -> list[str]:
    return []


async def _nothing(*_: Any, **__: Any) -> None:
    return None


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a suspension stops at the agent that it names": lambda patch: patch.setattr(
        enforcement.agents, "living_children_of", _nobody
    ),
    "limits of a parent do not reach its children": lambda patch: patch.setattr(
        narrowing.store, "living_children", _nobody
    ),
    "a child may outlive its parent": lambda patch: patch.setattr(
        spawn.spawning.agents, "lifetime", lambda asked, _: asked or 86_400
    ),
    "a child is swept though it is suspended": lambda patch: patch.setattr(
        spawn.ending, "obstacles_of", _nobody
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_planted_fault_is_found(stage: Stage, fault: str, monkeypatch: pytest.MonkeyPatch):
    FAULTS[fault](monkeypatch)
    with pytest.raises(AssertionError):
        await live(stage, "planted", range(PLANTED_HISTORIES))
