"""Two acts of governance that meet, in every order of their statements or in many: sums, pins and states agree afterwards."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import pytest

from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms import governance, ledger
from hansa.rooms.governance.errors import AlreadyVoted, OthersVoted, ProposalNotOpen
from hansa.rooms.governance.proposing import cancel, propose
from hansa.rooms.governance.records import Ballot, NewProposal, Proposal, Vote
from hansa.rooms.governance.store import find
from hansa.rooms.governance.tallying import tally
from hansa.rooms.governance.voting import cast
from hansa.rooms.ledger import staking
from tests.founded import open_copy
from tests.properties.contract_scene import caller_of
from tests.properties.interleaving import (
    Choose,
    Director,
    UseCase,
    directing,
    in_every_order,
    in_some_orders,
)
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestRegistry

Outcomes: TypeAlias = list[Any]
EVERY_ORDER = by_tier(False, True, True)
ORDERS = 8
STAKED = "20"
_numbers = count(1)


@dataclass
class Scene:
    """An open proposal of one agent, and another agent; both have staked 20 units."""

    registry: TestRegistry
    proposer: Agent
    voter: Agent
    proposal: Proposal

    async def run(self, use_case: UseCase) -> Any:
        return await self.registry.database.transaction(use_case)

    def vote(self, who: Agent, choice: Any = "for") -> UseCase:
        async def voted(tx: Any) -> Vote:
            (outcome,) = await cast(tx, [Ballot(self.proposal.id, who.did, choice, None)])
            if isinstance(outcome, Refused):
                raise outcome
            return outcome

        return voted

    def unstake(self, who: Agent, amount: str = STAKED) -> UseCase:
        order = staking.UnstakeOrder(who.did, parse_amount(amount))
        book, pins = ledger.Book.of(self.registry.settings), ledger.STAKE_PINS.of(self.registry.runtime)
        return lambda tx: staking.unstake(tx, order, book, pins)

    def stake(self, who: Agent, amount: str) -> UseCase:
        order = staking.StakeOrder(who.did, parse_amount(amount), 0)
        settings = self.registry.settings
        policy, book = staking.StakingPolicy.of(settings), ledger.Book.of(settings)
        return lambda tx: staking.stake(tx, order, policy, book)

    async def staked(self, who: Agent) -> str:
        holdings = await self.run(lambda tx: ledger.read_holdings(tx, who.did))
        return format_amount(holdings.staked)

    def tally(self) -> UseCase:
        return lambda tx: tally(tx, self.proposal.id, self.registry.settings)

    def cancel(self) -> UseCase:
        return lambda tx: cancel(tx, self.proposer, self.proposal.id)

    async def end(self) -> None:
        """Let the time of the proposal end."""
        await self.run(
            lambda tx: tx.execute(
                "UPDATE governance_proposal SET created_at = created_at - interval '1 hour',"
                " snapshot_at = snapshot_at - interval '1 hour', ends_at = ends_at - interval '1 hour' WHERE id = $1",
                self.proposal.id,
            )
        )

    async def judge(self) -> Proposal:
        """Sums are those of the votes, and stakes cover the pins."""
        assert await self.run(lambda tx: governance.vote_gaps(tx, is_whole=True, most=10)) == []
        found = await self.run(lambda tx: find(tx, self.proposal.id))
        assert found is not None
        return found


def kinds(outcomes: Outcomes) -> set[str]:
    return {type(one).__name__ for one in outcomes}


async def _vote_and_release(scene: Scene, play: Callable[[list[UseCase]], Awaitable[Outcomes]]) -> None:
    voted, released = await play([scene.vote(scene.voter), scene.unstake(scene.voter)])
    found = await scene.judge()
    if isinstance(voted, Vote):
        assert (voted.weight, found.votes_for) == (parse_amount(STAKED), parse_amount(STAKED))
        assert isinstance(released, staking.StakePinned)
    else:
        assert (type(voted).__name__, found.votes_for) == ("NoWeight", 0)
        assert isinstance(released, staking.UnstakeReceipt)


async def _two_votes_of_one_agent(scene: Scene, play: Callable[[list[UseCase]], Awaitable[Outcomes]]) -> None:
    outcomes = await play([scene.vote(scene.voter), scene.vote(scene.voter, "against")])
    assert kinds(outcomes) == {"Vote", AlreadyVoted.__name__}
    found = await scene.judge()
    assert (found.total_voters, found.turnout) == (1, parse_amount(STAKED))


async def _votes_of_two_agents(scene: Scene, play: Callable[[list[UseCase]], Awaitable[Outcomes]]) -> None:
    outcomes = await play([scene.vote(scene.voter), scene.vote(scene.proposer, "against")])
    assert kinds(outcomes) == {"Vote"}
    found = await scene.judge()
    assert (found.votes_for, found.votes_against, found.total_voters) == (
        parse_amount(STAKED),
        parse_amount(STAKED),
        2,
    )


async def _vote_and_tally(scene: Scene, play: Callable[[list[UseCase]], Awaitable[Outcomes]]) -> None:
    await scene.end()
    voted, tallied = await play([scene.vote(scene.voter), scene.tally()])
    assert isinstance(voted, ProposalNotOpen)
    assert (tallied.status, (await scene.judge()).total_voters) == ("FAILED", 0)


async def _two_tallies(scene: Scene, play: Callable[[list[UseCase]], Awaitable[Outcomes]]) -> None:
    await scene.run(scene.vote(scene.voter))
    await scene.end()
    outcomes = await play([scene.tally(), scene.tally()])
    assert {one.status for one in outcomes} == {"PASSED"}
    await scene.judge()
    events = await scene.registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT count(*) FROM journal_event WHERE event_type = 'ProposalTallied' AND data ->> 'proposal_id' = $1",
            str(scene.proposal.id),
        )
    )
    assert events == 1


async def _vote_and_cancel(scene: Scene, play: Callable[[list[UseCase]], Awaitable[Outcomes]]) -> None:
    voted, cancelled = await play([scene.vote(scene.voter), scene.cancel()])
    found = await scene.judge()
    if isinstance(voted, Vote):
        assert isinstance(cancelled, OthersVoted)
        assert (found.status, found.total_voters) == ("OPEN", 1)
    else:
        assert isinstance(voted, ProposalNotOpen)
        assert (found.status, found.total_voters) == ("CANCELLED", 0)


async def _tally_and_release(scene: Scene, play: Callable[[list[UseCase]], Awaitable[Outcomes]]) -> None:
    await scene.run(scene.vote(scene.voter))
    await scene.end()
    tallied, released = await play([scene.tally(), scene.unstake(scene.voter)])
    assert tallied.status == "PASSED"
    assert isinstance(released, staking.UnstakeReceipt | staking.StakePinned)
    await scene.judge()


async def _two_stakes(scene: Scene, play: Callable[[list[UseCase]], Awaitable[Outcomes]]) -> None:
    outcomes = await play([scene.stake(scene.voter, "10"), scene.stake(scene.voter, "15")])
    assert kinds(outcomes) == {"StakeReceipt"}
    assert await scene.staked(scene.voter) == "45"


async def _stake_and_vote(scene: Scene, play: Callable[[list[UseCase]], Awaitable[Outcomes]]) -> None:
    staked, voted = await play([scene.stake(scene.voter, "10"), scene.vote(scene.voter)])
    assert isinstance(staked, staking.StakeReceipt)
    # The stake comes after the snapshot: it adds no weight and takes none.
    assert (voted.weight, (await scene.judge()).votes_for) == (parse_amount(STAKED), parse_amount(STAKED))


async def _stake_and_release(scene: Scene, play: Callable[[list[UseCase]], Awaitable[Outcomes]]) -> None:
    await scene.run(scene.vote(scene.voter))
    staked, released = await play([scene.stake(scene.voter, "10"), scene.unstake(scene.voter, "10")])
    assert isinstance(staked, staking.StakeReceipt)
    await scene.judge()
    if isinstance(released, staking.StakePinned):
        assert await scene.staked(scene.voter) == "30"
    else:
        assert isinstance(released, staking.UnstakeReceipt)
        assert await scene.staked(scene.voter) == STAKED


async def _two_releases(scene: Scene, play: Callable[[list[UseCase]], Awaitable[Outcomes]]) -> None:
    await scene.run(scene.stake(scene.voter, "10"))
    await scene.run(scene.vote(scene.voter))
    outcomes = await play([scene.unstake(scene.voter, "10"), scene.unstake(scene.voter, "6")])
    assert kinds(outcomes) == {"UnstakeReceipt", "StakePinned"}
    await scene.judge()
    assert await scene.staked(scene.voter) in {"20", "24"}


async def _stake_and_tally(scene: Scene, play: Callable[[list[UseCase]], Awaitable[Outcomes]]) -> None:
    await scene.run(scene.vote(scene.voter))
    await scene.end()
    staked, tallied = await play([scene.stake(scene.voter, "10"), scene.tally()])
    assert isinstance(staked, staking.StakeReceipt)
    assert (tallied.status, tallied.votes_for) == ("PASSED", parse_amount(STAKED))
    await scene.judge()


MEETINGS = {
    "two stakes of one agent": _two_stakes,
    "a stake and a vote": _stake_and_vote,
    "a stake and a release of pinned units": _stake_and_release,
    "two releases beside a pin": _two_releases,
    "a stake and the tally": _stake_and_tally,
    "a vote and a release of its stake": _vote_and_release,
    "two votes of one agent": _two_votes_of_one_agent,
    "votes of two agents": _votes_of_two_agents,
    "a vote and the tally": _vote_and_tally,
    "two tallies": _two_tallies,
    "a vote and a cancellation": _vote_and_cancel,
    "a tally and a release": _tally_and_release,
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[TestRegistry, Director]]:
    async with (
        # Every order has stakers of its own, each with a grant.
        open_copy(
            database_farm,
            tmp_path_factory.mktemp("stage"),
            genesis_supply="10000000000",
            genesis_grants_per_hour=1_000_000,
        ) as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        yield registry, director


async def prepared(registry: TestRegistry) -> Scene:
    """New agents that have staked, and a proposal of the first."""
    agents = []
    policy, book = staking.StakingPolicy.of(registry.settings), ledger.Book.of(registry.settings)
    for _ in range(2):
        agent = await caller_of(registry, await registry.agent())
        order = staking.StakeOrder(agent.did, parse_amount(STAKED), 0)
        await registry.database.transaction(lambda tx, order=order: staking.stake(tx, order, policy, book))
        agents.append(agent)
    new = NewProposal(f"Proposal {next(_numbers)}", "", 3600, "signal", None)
    made = await registry.database.transaction(lambda tx: propose(tx, agents[0], new, registry.settings))
    return Scene(registry, *agents, made)


@pytest.mark.parametrize("name", MEETINGS)
async def test_however_acts_of_governance_meet_each_counts_or_is_refused(
    name: str, stage: tuple[TestRegistry, Director]
) -> None:
    registry, director = stage

    async def play(choose: Choose) -> None:
        scene = await prepared(registry)
        await MEETINGS[name](scene, lambda sides: director.play(sides, choose))

    if EVERY_ORDER:
        print(f"{name}: {await in_every_order(play)} orders")
    else:
        await in_some_orders(play, count=ORDERS, seed=printed_seed())
