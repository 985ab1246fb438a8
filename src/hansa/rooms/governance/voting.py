"""Votes. Those that come to a process at the same moment share a transaction.

- The accounts of the voters are locked in id order, then the proposals in id order; the end is judged after the lock.
- A vote that is refused leaves nothing, and does not keep the others of its transaction from being cast.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from hansa.foundation.events import VoteCast
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import ledger

from . import rules, store
from .errors import AlreadyVoted, ProposalUnknown
from .recording import record_votes
from .records import DEADLINES, Ballot, Proposal, Vote, key_of
from .schemas import GovernanceVoteOut

TOGETHER_MAX = 100


class Cast(msgspec.Struct, frozen=True, eq=False):
    """A vote that is to be cast, and the request that asks for it, where it has a key."""

    ballot: Ballot
    request: Repeatable | None = None


class Answer(msgspec.Struct, frozen=True):
    """The answer to a vote as it goes out, and whether it is a repetition."""

    text: str
    replayed: bool


class Votes:
    """The votes of one process that share transactions."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._gathered = BatchLoader[Cast, Answer | Refused](self._load)

    async def cast(self, ballot: Ballot, request: Repeatable | None) -> Answer:
        """Cast a vote; durable when this returns.

        Raises: GovernanceDisabled, ProposalUnknown, AccountUnknown, AccountSuspended, ProposalNotOpen, AlreadyVoted, NoWeight,
        KeyReused, KeyInProgress, Unavailable.
        """
        rules.require_enabled(self._runtime.settings)
        answer = await self._gathered.find(Cast(ballot, request))
        assert answer is not None, "every vote is answered"
        if isinstance(answer, Refused):
            raise answer
        return answer

    async def _load(self, asked: Sequence[Cast]) -> dict[Cast, Answer | Refused]:
        done: dict[Cast, Answer | Refused] = {}
        for begin in range(0, len(asked), TOGETHER_MAX):
            done |= await self._in_one_transaction(asked[begin : begin + TOGETHER_MAX])
        return done

    async def _in_one_transaction(self, asked: Sequence[Cast]) -> dict[Cast, Answer | Refused]:
        try:
            return await self._runtime.database.transaction(lambda tx: cast_all(tx, asked))
        except Unavailable:
            raise
        except Exception as error:
            if len(asked) == 1:
                if isinstance(error, Refused):
                    return {asked[0]: error}
                raise
        # One of them is not what the database takes: each is cast by itself.
        answers: dict[Cast, Answer | Refused] = {}
        for one in asked:
            answers |= await self._in_one_transaction([one])
        return answers


VOTES: Slot[Votes] = Slot("governance: votes that share transactions", build=Votes)


async def cast_all(tx: Tx, asked: Sequence[Cast]) -> dict[Cast, Answer | Refused]:
    """Cast those of the votes that are not refused."""
    fresh, answers = await _recalled(tx, asked)
    found = await cast(tx, [one.ballot for one in fresh])
    made = {
        one: outcome if isinstance(outcome, Refused) else GovernanceVoteOut.of(outcome).model_dump_json()
        for one, outcome in zip(fresh, found, strict=True)
    }
    kept = [
        (one.request, text) for one, text in made.items() if one.request is not None and isinstance(text, str)
    ]
    if kept:
        await idempotency.remember_each(tx, kept)
    return answers | {
        one: Answer(outcome, replayed=False) if isinstance(outcome, str) else outcome
        for one, outcome in made.items()
    }


async def _recalled(tx: Tx, asked: Sequence[Cast]) -> tuple[list[Cast], dict[Cast, Answer | Refused]]:
    """The votes that are new, and the answers to those that are repetitions or cannot be cast now."""
    keyed: dict[bytes, list[Cast]] = {}
    for one in asked:
        if one.request is not None:
            keyed.setdefault(one.request.scope, []).append(one)
    firsts = [(same[0], same[0].request) for same in keyed.values()]
    requests = [request for _, request in firsts if request is not None]
    known = await idempotency.recall_each(tx, requests) if requests else []
    fresh = [one for one in asked if one.request is None]
    answers: dict[Cast, Answer | Refused] = {
        one: idempotency.KeyInProgress() for same in keyed.values() for one in same[1:]
    }
    for (one, _), answer in zip(firsts, known, strict=True):
        if answer is None:
            fresh.append(one)
        else:
            answers[one] = Answer(answer, replayed=True) if isinstance(answer, str) else answer
    return fresh, answers


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
