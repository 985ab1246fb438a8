"""Votes. Those that come to a process at the same moment share a transaction.

- The accounts of the voters are locked in id order, then the proposals in id order; the end is judged after the lock.
- A vote that is refused leaves nothing, and does not keep the others of its transaction from being cast.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Never

from hansa.foundation.events import VoteCast
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.idempotency import Answer, Repeatable
from hansa.foundation.plumbing.web.shared_transactions import SharedTransactions
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import ledger

from . import rules, store
from .errors import AlreadyVoted, ProposalUnknown
from .recording import record_votes
from .records import DEADLINES, Ballot, Proposal, Vote, key_of
from .schemas import GovernanceVoteOut

TOGETHER_MAX = 100


class Votes:
    """The votes of one process, which share transactions."""

    def __init__(self, runtime: Runtime) -> None:
        self._settings = runtime.settings
        self._shared = SharedTransactions[Ballot, Never](
            runtime.database, _answered, TOGETHER_MAX, names_of=_names_of
        )

    async def cast(self, ballot: Ballot, request: Repeatable | None) -> Answer:
        """Cast a vote; durable when this returns.

        Raises: GovernanceDisabled, ProposalUnknown, AccountUnknown, AccountSuspended, ProposalNotOpen, AlreadyVoted, NoWeight,
        KeyReused, KeyInProgress, Unavailable.
        """
        rules.require_enabled(self._settings)
        return await self._shared.carry_out(ballot, request)


VOTES: Slot[Votes] = Slot("governance: votes that share transactions", build=Votes)


def _names_of(ballot: Ballot) -> frozenset[tuple[int, str]]:
    return frozenset({(ballot.proposal_id, ballot.voter_did)})


async def _answered(tx: Tx, ballots: Sequence[Ballot]) -> dict[Ballot, str | Exception]:
    outcomes = zip(ballots, await cast(tx, ballots), strict=True)
    return {
        ballot: outcome if isinstance(outcome, Refused) else GovernanceVoteOut.of(outcome).model_dump_json()
        for ballot, outcome in outcomes
    }


async def cast(tx: Tx, ballots: Sequence[Ballot]) -> list[Vote | Refused]:
    """Cast the ballots in their order; a refusal takes the place of its vote."""
    snapshots = await store.snapshots_of(tx, sorted({one.proposal_id for one in ballots}))
    known = [one for one in ballots if one.proposal_id in snapshots]
    stakes = await ledger.lock_stakes(tx, [(one.voter_did, snapshots[one.proposal_id]) for one in known])
    proposals = await store.lock(tx, sorted(snapshots))
    judging = _Judging(proposals, await store.voted(tx, known), await clock.now(tx))
    outcomes = {id(one): judging.judge(one, stake) for one, stake in zip(known, stakes, strict=True)}
    counted = [(one, weight) for one in known if isinstance(weight := outcomes[id(one)], int)]
    votes = await _write(tx, judging, proposals, counted) if counted else {}
    return [_outcome(one, outcomes.get(id(one), ProposalUnknown()), votes) for one in ballots]


async def _write(
    tx: Tx,
    judging: "_Judging",
    before: dict[int, Proposal],
    counted: Sequence[tuple[Ballot, Minor]],
) -> dict[tuple[int, str], Vote]:
    votes = await store.insert_votes(tx, counted, judging.now)
    after = [judging.proposals[number] for number in sorted({one.proposal_id for one, _ in counted})]
    await store.write_sums(tx, after)
    for one in after:
        if one.is_extended and not before[one.id].is_extended:
            await enqueue(tx, DEADLINES, key_of(one.id, "extended end"), {"proposal_id": one.id}, one.ends_at)
    events = [
        VoteCast(one.proposal_id, one.voter_did, one.vote, format_amount(weight)) for one, weight in counted
    ]
    await record_votes(tx, events, [votes[one.proposal_id, one.voter_did].id for one, _ in counted])
    return votes


class _Judging:
    """Votes that are judged one after the other, each with the sums that those before it left."""

    def __init__(self, proposals: dict[int, Proposal], voted: set[tuple[int, str]], now: datetime) -> None:
        self.proposals, self._voted, self.now = dict(proposals), set(voted), now

    def judge(self, ballot: Ballot, stake: ledger.Stake | None) -> Minor | Refused:
        """The weight of the vote, which is counted, or its refusal."""
        proposal, pair = self.proposals[ballot.proposal_id], (ballot.proposal_id, ballot.voter_did)
        try:
            weight = ledger.active_stake(stake).lasting
            rules.require_voting(proposal, self.now)
            if pair in self._voted:
                raise AlreadyVoted(context={"state": proposal.state})
            rules.require_weight(weight)
        except Refused as refusal:
            return refusal
        self._voted.add(pair)
        self.proposals[proposal.id] = rules.counted(proposal, ballot, weight, self.now)
        return weight


def _outcome(ballot: Ballot, outcome: Minor | Refused, votes: dict[tuple[int, str], Vote]) -> Vote | Refused:
    if isinstance(outcome, Refused):
        return outcome
    return votes[ballot.proposal_id, ballot.voter_did]
