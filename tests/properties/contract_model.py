"""Contracts and disputes by the specification alone: whole hours, whole units, no database.

Every act returns whether it is allowed. Amounts are in hundredths of a unit: the fee of an even number of units is exact.
"""

from dataclasses import dataclass, field

FEE_DIVISOR = 200
LEAST_DEPOSIT = 10
SUBMIT_HOURS, REVIEW_HOURS, WINDOW_HOURS, EVIDENCE_HOURS, RULING_HOURS = 48, 96, 72, 72, 30 * 24
ALICE, BOB = "alice", "bob"
"""The contractor and the provider of every contract."""


def cost_of(amount: int) -> int:
    """An amount with its fee."""
    return amount + amount // FEE_DIVISOR


@dataclass
class Purse:
    """Units of an agent."""

    liquid: int = 0
    escrow: int = 0


@dataclass
class ModelDispute:
    """A dispute of a contract; times in hours of the model."""

    complainant: str
    opened_at: int
    returns_to: str
    claimed: int
    deposit: int
    status: str = "OPEN"
    ruling: str | None = None

    @property
    def defendant(self) -> str:
        return BOB if self.complainant == ALICE else ALICE

    @property
    def due_at(self) -> int:
        return self.opened_at + (EVIDENCE_HOURS if self.status == "OPEN" else RULING_HOURS)


@dataclass
class ModelContract:
    """A contract; `parts` are the amounts of its milestones, or its one amount."""

    parts: list[int]
    has_milestones: bool
    funded: bool
    auto_approve: bool
    created_at: int
    status: str = "PROPOSED"
    because: str | None = None
    states: list[str] = field(default_factory=list)
    was_submitted: list[bool] = field(default_factory=list)
    shift: int = 0
    turn_at: int = 0
    ended_at: int = 0
    release_at: int | None = None
    submissions: int = 0
    paid: int = 0
    held: int = 0
    stops: set[str] = field(default_factory=set)
    stopped_at: int = 0
    disputes: list[ModelDispute] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.states = ["pending"] * len(self.parts)
        self.was_submitted = [False] * len(self.parts)

    @property
    def amount(self) -> int:
        return sum(self.parts)

    @property
    def unpaid(self) -> int:
        return self.amount - self.paid

    @property
    def current(self) -> int:
        """The place of the part whose turn it is."""
        return next(place for place, state in enumerate(self.states) if state in {"pending", "submitted"})

    @property
    def dispute(self) -> ModelDispute | None:
        """The dispute that is open."""
        return next((one for one in self.disputes if one.status != "CLOSED"), None)

    @property
    def due_at(self) -> int | None:
        """When something happens by itself."""
        submit_by, review_by = (
            self.created_at + hours + self.shift for hours in (SUBMIT_HOURS, REVIEW_HOURS)
        )
        if self.stops:
            return None
        return {
            "PROPOSED": submit_by,
            "ACCEPTED": submit_by if submit_by > self.turn_at else review_by,
            "SUBMITTED": review_by,
            "FAILED": self.release_at,
        }.get(self.status)

    def is_due(self, now: int) -> bool:
        return self.due_at is not None and self.due_at <= now

    def resume(self, reason: str, now: int) -> None:
        if reason not in self.stops:
            return
        self.stops.remove(reason)
        if not self.stops:
            passed = now - self.stopped_at
            self.shift += passed
            self.turn_at += passed
            self.release_at = None if self.release_at is None else self.release_at + passed

    def stop(self, reason: str, now: int) -> None:
        self.stopped_at = min(self.stopped_at, now) if self.stops else now
        self.stops.add(reason)

    def end(self, status: str, because: str, now: int) -> None:
        self.status, self.because, self.ended_at = status, because, now
        if status == "COMPLETED":
            # No date is left that a suspension could stop.
            self.stops = set()

    def give_up(self) -> None:
        """Release the milestones that are not approved."""
        self.states = ["approved" if state == "approved" else "released" for state in self.states]


class Model:
    """Two agents, their contracts, and the clock."""

    def __init__(self, held: int) -> None:
        self.purses = {ALICE: Purse(held), BOB: Purse()}
        self.contracts: list[ModelContract] = []
        self.now = 0

    def propose(self, contract: ModelContract) -> None:
        self.contracts.append(contract)

    def accept(self, one: ModelContract) -> bool:
        cost = cost_of(one.amount) if one.funded else 0
        if not self._may(one, "PROPOSED") or cost > self.purses[ALICE].liquid:
            return False
        one.status, one.turn_at, one.held = "ACCEPTED", self.now, cost
        self._hold(cost)
        return True

    def cancel(self, one: ModelContract) -> bool:
        if not self._may(one, "PROPOSED"):
            return False
        one.end("CANCELLED", "cancelled", self.now)
        one.give_up()
        return True

    def submit(self, one: ModelContract) -> bool:
        if not self._may(one, "ACCEPTED"):
            return False
        one.states[one.current] = "submitted"
        one.was_submitted[one.current] = True
        one.submissions += 1
        one.status = "SUBMITTED"
        return True

    def return_work(self, one: ModelContract) -> bool:
        if not self._may(one, "SUBMITTED"):
            return False
        one.states[one.current] = "pending"
        one.status, one.turn_at = "ACCEPTED", self.now
        return True

    def approve(self, one: ModelContract) -> bool:
        return self._may(one, "SUBMITTED") and self._pay_part(one)

    def fail(self, one: ModelContract, because: str = "rejected") -> bool:
        if because == "rejected" and not self._may(one, "ACCEPTED", "SUBMITTED"):
            return False
        if one.held and one.was_submitted[one.current]:
            one.release_at = self.now + WINDOW_HOURS
        else:
            self._free(one)
            one.give_up()
        one.end("FAILED", because, self.now)
        return True

    def stop(self, one: ModelContract, party: str) -> None:
        if one.status in {"PROPOSED", "ACCEPTED", "SUBMITTED", "FAILED", "DISPUTED"}:
            one.stop(party, self.now)

    def revoke(self, one: ModelContract, party: str) -> None:
        one.resume(party, self.now)
        if one.status == "PROPOSED":
            one.end("CANCELLED", "party_revoked", self.now)
            one.give_up()
        elif one.status in {"ACCEPTED", "SUBMITTED"}:
            self.fail(one, "party_revoked")

    def file(self, one: ModelContract, complainant: str, claimed: int) -> bool:
        has_ended = one.status in {"FAILED", "COMPLETED"}
        until = one.ended_at + WINDOW_HOURS if one.release_at is None else one.release_at
        if (
            one.status not in {"ACCEPTED", "SUBMITTED", "FAILED", "COMPLETED"}
            or (not has_ended and one.is_due(self.now))
            or (has_ended and until <= (one.stopped_at if one.stops else self.now))
            or (complainant == BOB and not one.submissions)
            or complainant in {dispute.complainant for dispute in one.disputes}
        ):
            return False
        deposit = 0
        if complainant == ALICE or one.paid:
            deposit = max(LEAST_DEPOSIT, min(one.amount, claimed) // 100)
        purse = self.purses[complainant]
        if deposit > purse.liquid:
            return False
        purse.liquid -= deposit
        purse.escrow += deposit
        one.disputes.append(ModelDispute(complainant, self.now, one.status, claimed, deposit))
        one.stop("dispute", self.now)
        one.status = "DISPUTED"
        return True

    def add_evidence(self, one: ModelContract) -> bool:
        dispute = one.dispute
        return dispute is not None and dispute.status == "OPEN" and self.now < dispute.due_at

    def open_voting(self, one: ModelContract) -> bool:
        if one.dispute is None or one.dispute.status != "OPEN":
            return False
        one.dispute.status = "VOTING"
        return True

    def rule(self, one: ModelContract, ruling: str, compensation: int, slash: int) -> bool:
        """Apply a ruling; `compensation` is issued, `slash` destroyed as far as there is something."""
        dispute = one.dispute
        if dispute is None or self.now >= dispute.opened_at + RULING_HOURS:
            return False
        if dispute.status == "OPEN" and self.now < dispute.due_at:
            return False
        bound = min(one.amount, dispute.claimed)
        is_for_complainant = ruling == "IN_FAVOR_OF_COMPLAINANT"
        given = one.unpaid if one.held else 0
        if (compensation or slash) and not is_for_complainant:
            return False
        funds = one.paid + (one.unpaid if one.held else 0)
        if compensation > max(min(bound, funds) - given, 0) or slash > bound:
            return False
        self._close(dispute, ruling)
        if ruling == "DISMISSED":
            one.status = dispute.returns_to
            one.resume("dispute", self.now)
            return True
        self._award(one, dispute.complainant if is_for_complainant else dispute.defendant)
        loser = self.purses[dispute.defendant]
        slashed = min(slash, loser.liquid)
        loser.liquid -= slashed
        # The rest of the compensation waits for a second administrator.
        self.purses[dispute.complainant].liquid += min(compensation, slashed)
        one.end("CLOSED", "ruling", self.now)
        one.stops, one.release_at = set(), None
        return True

    def _close(self, dispute: ModelDispute, ruling: str) -> None:
        """The deposit returns, unless the dispute is dismissed."""
        dispute.status, dispute.ruling = "CLOSED", ruling
        purse = self.purses[dispute.complainant]
        purse.escrow -= dispute.deposit
        if ruling != "DISMISSED":
            purse.liquid += dispute.deposit

    def meet_deadlines(self) -> None:
        """Do everything that has come due, until nothing is."""
        while due := [one for one in self.contracts if one.is_due(self.now) or self._is_dispute_due(one)]:
            for one in due:
                if one.is_due(self.now):
                    self._meet_deadline(one)
                else:
                    self._meet_dispute_deadline(one)

    def _meet_deadline(self, one: ModelContract) -> None:
        match one.status:
            case "PROPOSED":
                one.end("EXPIRED", "proposal_expired", self.now)
                one.give_up()
            case "ACCEPTED":
                self.fail(one, "not_submitted")
            case "SUBMITTED":
                if not (one.auto_approve and self._pay_part(one)):
                    self.fail(one, "not_reviewed")
            case "FAILED":
                self._free(one)
                one.release_at = None
                one.give_up()

    def _meet_dispute_deadline(self, one: ModelContract) -> None:
        dispute = one.dispute
        assert dispute is not None
        if dispute.status == "OPEN":
            dispute.status = "VOTING"
            return
        self._close(dispute, "DISMISSED")
        one.status = dispute.returns_to
        one.resume("dispute", self.now)

    def _is_dispute_due(self, one: ModelContract) -> bool:
        return one.dispute is not None and one.dispute.due_at <= self.now

    def _may(self, one: ModelContract, *allowed: str) -> bool:
        return one.status in allowed and not one.is_due(self.now)

    def _pay_part(self, one: ModelContract) -> bool:
        """Pay and approve the part whose turn it is; whether the contractor could."""
        amount = one.parts[one.current]
        if one.funded:
            one.held -= cost_of(amount)
            self.purses[ALICE].escrow -= cost_of(amount)
        elif cost_of(amount) <= self.purses[ALICE].liquid:
            self.purses[ALICE].liquid -= cost_of(amount)
        else:
            return False
        self.purses[BOB].liquid += amount
        one.paid += amount
        one.states[one.current] = "approved"
        if all(state == "approved" for state in one.states):
            one.end("COMPLETED", "approved", self.now)
        else:
            one.status, one.turn_at = "ACCEPTED", self.now
        return True

    def _award(self, one: ModelContract, winner: str) -> None:
        """Give the units of the hold to the winner."""
        if not one.held:
            one.give_up()
        elif winner == ALICE:
            self._free(one)
            one.give_up()
        else:
            self.purses[ALICE].escrow -= one.held
            self.purses[BOB].liquid += one.unpaid
            one.held, one.paid, one.states = 0, one.amount, ["approved"] * len(one.parts)

    def _hold(self, cost: int) -> None:
        self.purses[ALICE].liquid -= cost
        self.purses[ALICE].escrow += cost

    def _free(self, one: ModelContract) -> None:
        self._hold(-one.held)
        one.held = 0
