"""Drawn histories of stakes, proposals and votes: every answer and every state is that of the model, and no stake is below its pins."""

import random
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms import governance, ledger
from hansa.rooms.governance import rules, store, voting
from hansa.rooms.governance.deadlines import meet_deadline
from hansa.rooms.governance.proposing import cancel, propose
from hansa.rooms.governance.records import Ballot, NewProposal, Proposal
from hansa.rooms.governance.tallying import tally
from hansa.rooms.ledger import staking
from hansa.rooms.ledger.staking import stakes_then
from tests.founded import open_copy
from tests.properties.contract_scene import caller_of
from tests.properties.governance_model import PROPOSAL_MIN, Model, Refusal
from tests.properties.scale import by_tier, part_of, printed_seed
from tests.registry import DatabaseFarm, TestRegistry

HISTORIES = by_tier(30, 10_000, 100_000)
PLANTED_HISTORIES = 400
ACTS, AGENTS, HELD = 18, 4, 100

_LATER = """
UPDATE governance_proposal SET created_at = created_at - $1::interval, snapshot_at = snapshot_at - $1::interval,
  ends_at = ends_at - $1::interval, ended_at = ended_at - $1::interval
"""
_STAKES_LATER = "UPDATE ledger_transaction SET recorded_at = recorded_at - $1::interval WHERE tx_type IN ('stake', 'unstake')"


class Undone(Exception):
    """The end of a history, which leaves nothing."""


class History:
    """One life of an assembly of agents, played by the model and by the use cases in one transaction."""

    def __init__(self, settings: Settings, agents: list[Agent], tx: Tx, chance: random.Random) -> None:
        self.settings, self.agents, self.tx, self.chance = settings, agents, tx, chance
        self.model = Model([HELD * UNIT] * AGENTS, UNIT)
        self.ids: list[int] = []
        self.given: list[Any] = []

    async def live(self) -> None:
        acts = [
            self.stake,
            self.unstake,
            self.vote,
            self.vote,
            self.vote,
            self.tally,
            self.pass_time,
            self.propose,
        ]
        acts += self.chance.choice([[], [self.cancel], [self.unstake, self.pass_time]])
        try:
            for who in range(AGENTS):
                await self.both("stake", who, self.amount())
            if self.chance.random() < 0.8:
                await self.later(24)
            await self.propose()
            for _ in range(ACTS):
                await self.chance.choice(acts)()
            assert await governance.vote_gaps(self.tx, is_whole=True, most=10) == []
        except AssertionError:
            print(*self.given, sep="\n")
            raise

    async def both(self, name: str, *given: Any, **named: Any) -> None:
        """Let the model and the use case do the same, and compare what they answer and what is stored."""
        self.given.append((name, *given, named))
        try:
            expected = getattr(self.model, name)(*given, **named)
        except Refusal as refusal:
            (expected,) = refusal.args
        try:
            async with self.tx.transaction():
                answered = await getattr(self, f"do_{name}")(*given, **named)
        except Refused as refusal:
            answered = refusal.code
        assert answered == expected
        await self.compare()

    async def do_stake(self, who: int, amount: int) -> str:
        order = staking.StakeOrder(self.agents[who].did, Minor(amount), 0)
        await staking.stake(
            self.tx, order, staking.StakingPolicy.of(self.settings), ledger.Book.of(self.settings)
        )
        return "done"

    async def do_unstake(self, who: int, amount: int) -> str:
        order = staking.UnstakeOrder(self.agents[who].did, Minor(amount))
        await staking.unstake(self.tx, order, ledger.Book.of(self.settings), store.pinned_until)
        return "done"

    async def do_propose(self, who: int, hours: int, *, is_change: bool) -> str:
        diff = {"bond_maturity_days": {"from": 14, "to": 15}} if is_change else None
        new = NewProposal("A title", "", hours * 3600, "policy_change" if is_change else "signal", diff)
        self.ids.append((await propose(self.tx, self.agents[who], new, self.settings)).id)
        return "done"

    async def do_vote(self, who: int, number: int, choice: Any) -> str:
        ballot = Ballot(self.ids[number], self.agents[who].did, choice, None)
        (outcome,) = await voting.cast(self.tx, [ballot])
        if isinstance(outcome, Refused):
            raise outcome
        return "done"

    async def do_tally(self, number: int) -> str:
        return (await tally(self.tx, self.ids[number], self.settings)).state

    async def do_cancel(self, who: int, number: int) -> str:
        return (await cancel(self.tx, self.agents[who], self.ids[number])).state

    async def compare(self) -> None:
        stored = await self.tx.fetch(
            "SELECT * FROM governance_proposal WHERE id = ANY ($1) ORDER BY id", self.ids
        )
        assert len(stored) == len(self.model.proposals)
        for row, one in zip(stored, self.model.proposals, strict=True):
            assert (row["execution"] or row["status"]) == one.state
            sums = [one.sum(choice) for choice in ("for", "against", "abstain")]
            assert [row["votes_for"], row["votes_against"], row["votes_abstain"]] == sums
            assert (row["total_voters"], row["is_extended"]) == (len(one.votes), one.is_extended)
            assert (row["eligible_weight"], row["quorum_weight"]) == (one.eligible, one.quorum)
        balances = await ledger.balances_of(self.tx, [agent.did for agent in self.agents])
        held = [(balances[agent.did].liquid, balances[agent.did].staked) for agent in self.agents]
        assert held == [(one.liquid, one.now) for one in self.model.holders]
        for who, one in enumerate(self.model.holders):
            assert one.now >= self.model.pin(who)

    def amount(self) -> int:
        return self.chance.choice([10, 15, 20, 30, 40, 60]) * UNIT

    def who(self) -> int:
        return self.chance.randrange(AGENTS)

    def number(self) -> int:
        """A proposal, mostly one of the last."""
        return max(0, len(self.ids) - 1 - self.chance.choice([0, 0, 0, 1, 2]))

    async def stake(self) -> None:
        await self.both("stake", self.who(), self.amount())

    async def unstake(self) -> None:
        await self.both("unstake", self.who(), self.chance.choice([1, 5, 10, 20, 60]) * UNIT)

    async def propose(self) -> None:
        is_change = self.chance.random() < 0.6
        hours = self.chance.choice([72, 72, 96, 71] if is_change else [1, 24, 48])
        await self.both("propose", self.who(), hours, is_change=is_change)

    async def vote(self) -> None:
        if self.ids:
            choice = self.chance.choice(["for", "for", "against", "abstain"])
            await self.both("vote", self.who(), self.number(), choice)

    async def tally(self) -> None:
        if self.ids:
            await self.both("tally", self.number())

    async def cancel(self) -> None:
        if self.ids:
            number = self.number()
            who = self.chance.choice([self.model.proposals[number].proposer, self.who()])
            await self.both("cancel", who, number)

    async def pass_time(self) -> None:
        await self.later(self.chance.choice([1, 12, 24, 48, 60, 15 * 24]))
        if self.chance.random() < 0.5:
            self.given.append("run_jobs")
            self.model.run_jobs()
            for proposal_id in self.ids:
                await meet_deadline(self.tx, proposal_id, self.settings)
            await self.compare()

    async def later(self, hours: int) -> None:
        self.given.append(("later", hours))
        self.model.hour += hours
        await self.tx.execute("SET LOCAL session_replication_role = replica")
        await self.tx.execute(_LATER, timedelta(hours=hours))
        await self.tx.execute(_STAKES_LATER, timedelta(hours=hours))
        await self.tx.execute("SET LOCAL session_replication_role = origin")


async def live(registry: TestRegistry, agents: list[Agent], seed: str, histories: Iterable[int]) -> None:
    settings = registry.settings.model_copy(update={"governance_proposal_min": str(PROPOSAL_MIN)})
    for number in histories:

        async def play(tx: Tx, number: int = number) -> None:
            await History(settings, agents, tx, random.Random(f"{seed}-{number}")).live()
            raise Undone

        with pytest.raises(Undone):
            await registry.database.transaction(play)
        if (number + 1) % 1000 == 0:
            print(f"{number + 1} histories", flush=True)


@pytest.fixture
async def stage(
    database_farm: DatabaseFarm, tmp_path: Path
) -> AsyncIterator[tuple[TestRegistry, list[Agent]]]:
    async with open_copy(database_farm, tmp_path) as registry:
        yield registry, [await caller_of(registry, await registry.agent()) for _ in range(AGENTS)]


async def test_governance_and_its_model_answer_every_history_alike(stage: tuple[TestRegistry, list[Agent]]):
    await live(*stage, str(printed_seed()), part_of(HISTORIES))


def _weight_of_now(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(stakes_then, "_STAKES", stakes_then._STAKES.replace("<= wanted.at", "IS NOT NULL"))


def _nothing_pinned(patch: pytest.MonkeyPatch) -> None:
    async def free(_: Tx, __: str, ___: Minor) -> None:
        return None

    patch.setattr(store, "pinned_until", free)


def _no_quorum(patch: pytest.MonkeyPatch) -> None:
    def outcome_of(proposal: Proposal) -> str:
        return "PASSED" if proposal.votes_for > proposal.votes_against else "FAILED"

    patch.setattr(rules, "outcome_of", outcome_of)


def _extended_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rules, "LATE", timedelta(hours=23))


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "the stake at the snapshot is not looked at": _weight_of_now,
    "votes pin nothing": _nothing_pinned,
    "the quorum is not looked at": _no_quorum,
    "a late quorum moves the end by 23 hours": _extended_again,
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_planted_fault_is_found(
    stage: tuple[TestRegistry, list[Agent]], fault: str, monkeypatch: pytest.MonkeyPatch
):
    FAULTS[fault](monkeypatch)
    with pytest.raises(AssertionError):
        await live(*stage, "planted", range(PLANTED_HISTORIES))
