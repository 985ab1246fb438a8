"""governance/votes: votes on one proposal at a fixed rate and as many as fit, and the tally after few and after many votes."""

import asyncio
import os
import time
from collections.abc import Sequence

from bench.figures import Figures, percentile
from bench.process_cpu import used_by
from bench.seed import bench_runtime, seed_agents, temporary_directory
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms import auditor, governance, ledger
from hansa.rooms.governance.proposing import propose
from hansa.rooms.governance.records import Ballot, Choice, NewProposal, Proposal
from hansa.rooms.governance.tallying import tally
from hansa.rooms.governance.voting import VOTES
from hansa.rooms.ledger import staking

RATE = 500
SECONDS, SECONDS_IN_FULL = 4, 20
ROUNDS = 3
FEW = 10
CHOICES: tuple[Choice, ...] = ("for", "against", "abstain")
_STAKED = Minor(10 * UNIT)
_END = """
UPDATE governance_proposal SET created_at = created_at - interval '1 day', snapshot_at = snapshot_at - interval '1 day',
  ends_at = ends_at - interval '1 day' WHERE id = $1
"""


async def run(*, full: bool) -> Figures:
    figures = Figures()
    count = RATE * (SECONDS_IN_FULL if full else SECONDS)
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        dids = await seed_agents(runtime, count)
        await _stake(runtime, dids)
        paced, rates, few, many = [], [], [], []
        before = used_by(os.getpid())
        for number in range(ROUNDS):
            small, large, flooded = [await _propose(runtime, dids[3 * number + one]) for one in range(3)]
            await _flood(runtime, small, dids[:FEW])
            paced.append(await _pace(runtime, large, dids))
            rates.append(await _flood(runtime, flooded, dids))
            few.append(await _tally(runtime, small))
            many.append(await _tally(runtime, large))
        used = (used_by(os.getpid()) - before) * 1000 / (ROUNDS * (2 * count + FEW))
        figures.add(f"votes on one proposal, {RATE} begun each second, p99", "ms", paced)
        figures.add("votes on one proposal, as many as fit", "/s", rates)
        figures.add("CPU of process and database for each", "ms", [used])
        figures.add(f"a tally after {FEW} votes", "ms", few)
        figures.add(f"a tally after {count:,} votes", "ms", many)
        gaps = await runtime.database.read(lambda tx: governance.vote_gaps(tx, is_whole=True, most=10))
        figures.faults.extend(gaps)
        figures.books_are_sound = (await runtime.database.read(auditor.audit_supply)).is_ok
    figures.notes.append(
        f"targets: {RATE} votes/s with p99 40 ms; a tally costs the same after any number of votes"
    )
    return figures


async def _stake(runtime: Runtime, dids: Sequence[str]) -> None:
    policy, book = staking.StakingPolicy.of(runtime.settings), ledger.Book.of(runtime.settings)
    places = asyncio.Semaphore(16)

    async def stake(did: str) -> None:
        async with places:
            await runtime.database.transaction(
                lambda tx: staking.stake(tx, staking.StakeOrder(did, _STAKED, 0), policy, book)
            )

    await asyncio.gather(*map(stake, dids))


async def _propose(runtime: Runtime, did: str) -> Proposal:
    # Each of a developer of its own: an owner has three open proposals.
    agent = Agent(did, hash(did), (), frozenset(), is_governed=False)
    new = NewProposal("Bench", "", 3600, "signal", None)
    return await runtime.database.transaction(lambda tx: propose(tx, agent, new, runtime.settings))


async def _pace(runtime: Runtime, proposal: Proposal, dids: Sequence[str]) -> float:
    """The 99th percentile in milliseconds of votes that begin at the rate."""
    votes, began = VOTES.of(runtime), time.perf_counter()

    async def cast(number: int, did: str) -> float:
        await asyncio.sleep(max(0, began + number / RATE - time.perf_counter()))
        start = time.perf_counter()
        await votes.cast(_ballot(proposal, number, did), None)
        return (time.perf_counter() - start) * 1000

    took = await asyncio.gather(*(cast(number, did) for number, did in enumerate(dids)))
    return percentile(sorted(took), 0.99)


async def _flood(runtime: Runtime, proposal: Proposal, dids: Sequence[str]) -> float:
    """Votes each second where all begin at once."""
    votes, began = VOTES.of(runtime), time.perf_counter()
    await asyncio.gather(
        *(votes.cast(_ballot(proposal, number, did), None) for number, did in enumerate(dids))
    )
    return len(dids) / (time.perf_counter() - began)


def _ballot(proposal: Proposal, number: int, did: str) -> Ballot:
    return Ballot(proposal.id, did, CHOICES[number % 3], None)


async def _tally(runtime: Runtime, proposal: Proposal) -> float:
    """Milliseconds of the tally of a proposal whose time has ended."""

    async def end(tx: Tx) -> None:
        await tx.execute(_END, proposal.id)

    await runtime.database.transaction(end)
    start = time.perf_counter()
    await runtime.database.transaction(lambda tx: tally(tx, proposal.id, runtime.settings))
    return (time.perf_counter() - start) * 1000
