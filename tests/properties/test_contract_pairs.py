"""Every two acts on a contract that meet leave the same state as one of them after the other: in every state, in many orders.

The whole outcome is compared: contract, milestones, hold, disputes, token, history, and the units of each party.
"""

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from tests.paying import Payments
from tests.properties.contract_scene import Scene, administrator_of, caller_of
from tests.properties.interleaving import Director, directing
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.commerce.agreements import DAY, in_days
from tests.rooms.commerce.disputing import Disputing, open_disputing

PAIRS = by_tier(4, 30, 1_000)
ORDERS = by_tier(1, 3, 15)

_OUTCOME = """
SELECT c.status, c.ended_because, c.amount_paid, c.fee_paid, cardinality(c.stops) AS stops, c.due_at IS NOT NULL AS is_timed,
  (SELECT array_agg(m.state ORDER BY m.index) FROM commerce_contract_milestone m WHERE m.contract_id = c.id) AS milestones,
  (SELECT array_agg(h.act ORDER BY h.act) FROM commerce_contract_history h WHERE h.contract_id = c.id) AS acts,
  (SELECT array_agg(concat(d.status, ' ', d.ruling, ' ', d.slash_applied, ' ', (SELECT count(*)
    FROM commerce_dispute_evidence e WHERE e.dispute_id = d.id)) ORDER BY d.id)
    FROM commerce_dispute d WHERE d.contract_id = c.id) AS disputes,
  (SELECT array_agg(concat(h.remaining, ' ', h.captured, ' ', h.frozen_at IS NULL))
    FROM ledger_hold h WHERE h.owner_kind = 'contract' AND h.owner_id = c.id::text) AS holds
FROM commerce_contract c WHERE c.id = $1
"""

_HELD = "SELECT liquid, escrow FROM ledger_account WHERE did = $1"


@dataclass(frozen=True)
class State:
    """How a contract came to where its acts meet, and the acts that do something there."""

    acts: tuple[str, ...]
    path: tuple[str, ...] = ()
    dispute: str | None = None
    seconds: float = 0
    by_token: bool = False
    has_milestones: bool = False


_PARTIES = ("suspend", "reinstate", "revoke")
_UNDER_WAY = ("submit", "submit_together", "fail", "file", *_PARTIES)
_IN_REVIEW = ("approve", "gather", "return", "fail", "file", "file_back", *_PARTIES)
_WORK, _REVIEW = ("accept",), ("accept", "submit")

STATES = {
    "proposed": State(("accept", "accept_together", "cancel", *_PARTIES)),
    "proposed, due": State(("deadline", *_PARTIES), seconds=2 * DAY + 1),
    "accepted": State(_UNDER_WAY, _WORK),
    "accepted, due": State(("deadline", *_PARTIES), _WORK, seconds=2 * DAY + 1),
    "submitted": State(_IN_REVIEW, _REVIEW),
    "submitted, due": State(("deadline", *_PARTIES), _REVIEW, seconds=4 * DAY + 1),
    "a milestone submitted": State(_IN_REVIEW, _REVIEW, has_milestones=True),
    "submitted, with a token": State((*_IN_REVIEW, "settle"), _REVIEW, by_token=True),
    "completed": State(("file", "file_back"), (*_REVIEW, "approve-completion")),
    "failed": State(("file", "file_back", *_PARTIES), (*_REVIEW, "mark-failed")),
    "failed, due": State(("deadline", *_PARTIES), (*_REVIEW, "mark-failed"), seconds=3 * DAY + 1),
    "disputed": State(("evidence", "open_voting", *_PARTIES), _REVIEW, "OPEN"),
    "disputed, due": State(("dispute_deadline", "open_voting", "rule"), _REVIEW, "OPEN", 3 * DAY + 1),
    "in voting": State(("rule", "rule_back", "dismiss", *_PARTIES), _REVIEW, "VOTING"),
    "in voting, due": State(("dispute_deadline", *_PARTIES), _REVIEW, "VOTING", 31 * DAY),
    "failed and in voting": State(
        ("rule", "rule_back", "dismiss", *_PARTIES), (*_REVIEW, "mark-failed"), "VOTING"
    ),
    "completed and in voting": State(
        ("rule", "rule_back", "dismiss"), (*_REVIEW, "approve-completion"), "VOTING"
    ),
}
ACTS = sorted({act for state in STATES.values() for act in state.acts})


@dataclass(frozen=True)
class Stage:
    """A registry, and two agents that make one contract after the other."""

    disputing: Disputing
    director: Director
    draw: random.Random
    alice: TestAgent
    bob: TestAgent

    async def with_other_agents(self) -> "Stage":
        """The agents of earlier contracts have as many proposals, disputes and tokens open as one agent may."""
        agreements = self.disputing.agreements
        bob = await agreements.provider()
        # What a slash takes does not depend on what was earned before.
        await agreements.purses.grant(bob, "1000")
        return replace(self, alice=await agreements.contractor(), bob=bob)

    async def scene(self, state: State) -> Scene:
        agreements = self.disputing.agreements
        terms: dict[str, Any] = {"submit_by": in_days(2), "review_by": in_days(4)}
        if state.has_milestones:
            terms["milestones"] = [{"title": "First", "amount": "0.4"}, {"title": "Second", "amount": "0.6"}]
        made = await agreements.propose(self.alice, self.bob, amount="1", funded=not state.by_token, **terms)
        payments = Payments(self.disputing.registry, self.alice, self.bob)
        token = (await payments.authorized("1"))["token"] if state.by_token else None
        for act in state.path:
            await agreements.act(self.bob if act in _REVIEW else self.alice, made, act)
        dispute_id = await self._disputed(made, state)
        if state.seconds and state.dispute is None:
            await agreements.move_clock(made, state.seconds)
        registry = self.disputing.registry
        callers = [await caller_of(registry, agent) for agent in (self.alice, self.bob)]
        return Scene(
            self.disputing, made["id"], dispute_id, *callers, await administrator_of(self.disputing), token
        )

    async def _disputed(self, made: Any, state: State) -> int:
        if state.dispute is None:
            return 0
        filed = await self.disputing.file(self.alice, self.bob, contract_id=made["id"])
        if state.dispute == "VOTING":
            await self.disputing.open_voting(filed)
        if state.seconds:
            await self.disputing.move_clock(filed, state.seconds)
        return int(filed["id"])

    async def outcome(self, state: State, *turns: tuple[str, ...]) -> tuple[Any, ...]:
        """Return the outcome of a contract in this state and of its parties' units; the acts of a turn meet."""
        scene = await self.scene(state)
        before = await self._held()
        for acts in turns:
            for one in await self.director.play([scene.act(act) for act in acts], self.draw.randrange):
                assert not isinstance(one, BaseException) or isinstance(one, Refused), repr(one)
        row = await self.disputing.registry.database.query(
            lambda tx: tx.fetchrow(_OUTCOME, scene.contract_id)
        )
        moved = [after - units for units, after in zip(before, await self._held(), strict=True)]
        return (*row.values(), *moved)

    async def _held(self) -> list[int]:
        async def held(tx: Tx) -> list[int]:
            return [units for one in (self.alice, self.bob) for units in await tx.fetchrow(_HELD, one.did)]

        return await self.disputing.registry.database.query(held)


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    async with (
        open_disputing(
            database_farm,
            tmp_path_factory.mktemp("met"),
            genesis_supply="1000000000",
            rate_limit_writes="off",
        ) as disputing,
        directing(disputing.registry.runtime.database.dsn, 2) as director,
    ):
        agreements = disputing.agreements
        parties = await agreements.contractor(), await agreements.provider()
        yield Stage(disputing, director, random.Random(printed_seed()), *parties)


@pytest.mark.parametrize("name", STATES)
async def test_two_acts_that_meet_leave_what_one_leaves_after_the_other(name: str, stage: Stage) -> None:
    state = STATES[name]
    pairs = [pair for pair in combinations_with_replacement(ACTS, 2) if set(pair) & set(state.acts)]
    pairs = [pair for pair in pairs if state.by_token or "settle" not in pair]
    for first, second in stage.draw.sample(pairs, min(PAIRS, len(pairs))):
        stage = await stage.with_other_agents()
        allowed = [
            await stage.outcome(state, (first,), (second,)),
            await stage.outcome(state, (second,), (first,)),
        ]
        for _ in range(ORDERS):
            assert await stage.outcome(state, (first, second)) in allowed, (first, second)
    await stage.disputing.agreements.prove()
