"""Governance as the specification has it (7 Z), in minor units and hours: stakes, proposals, votes and what pins them."""

from dataclasses import dataclass, field

HOURS_OF_STAKE, LATE, LAPSE = 24, 24, 14 * 24
OPEN_MAX, CHANGES_MAX = 3, 1
PROPOSAL_MIN, MIN_HOURS, QUORUM_PERCENT, FLOOR_PERCENT = 20, 72, 20, 1


class Refusal(Exception):
    """The code of an act that changes nothing."""


def require(condition: object, code: str) -> None:
    if not condition:
        raise Refusal(code)


def percent(amount: int, of_hundred: int) -> int:
    return -(-amount * of_hundred // 100)


@dataclass
class Holder:
    liquid: int
    # Staked balance after each stake and release, with its hour.
    staked: list[tuple[int, int]] = field(default_factory=lambda: [(-(10**9), 0)])

    @property
    def now(self) -> int:
        return self.staked[-1][1]

    def then(self, hour: int) -> int:
        return next(balance for at, balance in reversed(self.staked) if at <= hour)


@dataclass
class Proposal:
    proposer: int
    is_change: bool
    snapshot: int
    ends: int
    eligible: int
    quorum: int
    votes: dict[int, tuple[str, int]] = field(default_factory=dict)
    state: str = "OPEN"
    ended: int | None = None
    is_extended: bool = False

    def sum(self, choice: str) -> int:
        return sum(weight for one, weight in self.votes.values() if one == choice)

    @property
    def turnout(self) -> int:
        return sum(weight for _, weight in self.votes.values())


class Model:
    """Agents of different owners, by their place."""

    def __init__(self, held: list[int], unit: int) -> None:
        self.holders = [Holder(amount) for amount in held]
        self.unit, self.hour = unit, 0
        self.proposals: list[Proposal] = []

    def pin(self, who: int) -> int:
        return max(
            (one.votes[who][1] for one in self.proposals if one.state == "OPEN" and who in one.votes),
            default=0,
        )

    def stake(self, who: int, amount: int) -> str:
        holder = self.holders[who]
        require(amount <= holder.liquid, "INSUFFICIENT_BALANCE")
        holder.liquid -= amount
        holder.staked.append((self.hour, holder.now + amount))
        return "done"

    def unstake(self, who: int, amount: int) -> str:
        holder = self.holders[who]
        require(amount <= holder.now, "INSUFFICIENT_UNLOCKED_STAKE")
        require(holder.now - amount >= self.pin(who), "STAKE_PINNED")
        holder.liquid += amount
        holder.staked.append((self.hour, holder.now - amount))
        return "done"

    def propose(self, who: int, hours: int, *, is_change: bool) -> str:
        require(not is_change or hours >= MIN_HOURS, "VALIDATION_FAILED")
        snapshot = self.hour - HOURS_OF_STAKE if is_change else self.hour
        weight = min(self.holders[who].now, self.holders[who].then(snapshot))
        require(weight, "NO_WEIGHT")
        require(not is_change or weight >= PROPOSAL_MIN * self.unit, "WEIGHT_TOO_SMALL")
        own = [one for one in self.proposals if one.state == "OPEN" and one.proposer == who]
        require(len(own) < OPEN_MAX, "TOO_MANY_PROPOSALS")
        require(not is_change or sum(one.is_change for one in own) < CHANGES_MAX, "TOO_MANY_PROPOSALS")
        eligible = sum(one.then(snapshot) for one in self.holders)
        units = sum(one.liquid + one.now for one in self.holders)
        quorum = max(percent(eligible, QUORUM_PERCENT), percent(units, FLOOR_PERCENT)) if is_change else 0
        self.proposals.append(Proposal(who, is_change, snapshot, self.hour + hours, eligible, quorum))
        return "done"

    def is_open(self, proposal: Proposal) -> bool:
        return proposal.state == "OPEN" and self.hour < proposal.ends

    def vote(self, who: int, number: int, choice: str) -> str:
        proposal, holder = self.proposals[number], self.holders[who]
        require(self.is_open(proposal), "PROPOSAL_NOT_OPEN")
        require(who not in proposal.votes, "ALREADY_VOTED")
        weight = min(holder.now, holder.then(proposal.snapshot))
        require(weight, "NO_WEIGHT")
        before = proposal.turnout
        proposal.votes[who] = (choice, weight)
        is_late = proposal.ends - self.hour <= LATE and not proposal.is_extended
        if is_late and before < proposal.quorum <= proposal.turnout:
            proposal.ends += LATE
            proposal.is_extended = True
        return "done"

    def tally(self, number: int) -> str:
        proposal = self.proposals[number]
        if proposal.state == "OPEN":
            require(self.hour >= proposal.ends, "VOTING_UNDER_WAY")
            self.close(proposal)
        return proposal.state

    def close(self, proposal: Proposal) -> None:
        is_passed = proposal.turnout >= proposal.quorum and proposal.sum("for") > proposal.sum("against")
        proposal.state = "FAILED" if not is_passed else "AWAITING" if proposal.is_change else "PASSED"
        proposal.ended = self.hour

    def cancel(self, who: int, number: int) -> str:
        proposal = self.proposals[number]
        require(proposal.proposer == who, "NOT_THE_PROPOSER")
        require(self.is_open(proposal), "PROPOSAL_NOT_OPEN")
        require(not proposal.votes.keys() - {who}, "OTHERS_VOTED")
        proposal.state, proposal.ended = "CANCELLED", self.hour
        return "CANCELLED"

    def run_jobs(self) -> None:
        """The deadlines that have come are met; a change that is tallied now has its own time."""
        for one in self.proposals:
            if one.state == "AWAITING" and one.ended is not None and self.hour >= one.ended + LAPSE:
                one.state = "LAPSED"
            if one.state == "OPEN" and self.hour >= one.ends:
                self.close(one)
