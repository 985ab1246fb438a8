"""Treasury of an organization as the specification has it (7 Y): members, rules, budgets, requests and work orders, in minor units and hours."""

from dataclasses import dataclass, field
from typing import Any

VIEWER, MEMBER, ADMIN, OWNER = 1, 2, 3, 4
ROLES = {"admin": ADMIN, "owner": OWNER}
WEEK, DELAY, BIDDING, BINDING = 7 * 24, 24, 24, 14 * 24
UNIQUE = {"rules", "budget", "grant", "owners", "award"}
Demand = tuple[int, str]


class Refusal(Exception):
    """The status of an act that changes nothing."""


def require(condition: object, status: int) -> None:
    if not condition:
        raise Refusal(status)


def fee(amount: int) -> int:
    return amount * 5 // 1000


@dataclass(frozen=True)
class Rules:
    tiers: tuple[tuple[int, int, str], ...] = ()
    day_max: int | None = None
    unapproved_max: int | None = None
    allowed: frozenset[str] | None = None

    @property
    def unapproved(self) -> int | None:
        """Sum of a day above which payments need the lowest tier."""
        first = self.tiers[0][0] if self.tiers else None
        return first if self.unapproved_max is None else self.unapproved_max

    def demand(self, amount: int, *, is_beyond: bool) -> tuple[Demand, ...]:
        """The tier of an amount; beyond the sum without approvals at least the lowest one."""
        found = [(number, of) for over, number, of in self.tiers if amount > over]
        lowest = [(number, of) for _, number, of in self.tiers[:1] if is_beyond]
        return tuple((found or lowest)[-1:])

    def is_tighter(self, old: "Rules") -> bool:
        """Tighter or equal in every member."""
        for amount in {1} | {over + 1 for over, *_ in self.tiers + old.tiers}:
            for is_beyond in (False, True):
                now = self.demand(amount, is_beyond=is_beyond)
                for number, of in old.demand(amount, is_beyond=is_beyond):
                    same = {of, "owner"} if of == "admin" else {of}
                    if not any(one >= number and by in same for one, by in now):
                        return False
        sums = (self.day_max, old.day_max), (self.unapproved, old.unapproved)
        are_less = all(before is None or (now is not None and now <= before) for now, before in sums)
        return are_less and (
            old.allowed is None or (self.allowed is not None and self.allowed <= old.allowed)
        )


@dataclass
class Budget:
    amount: int
    period: str
    # Its agent draws it; else the members of the team pay from it.
    agent: bool
    spent: int = 0


@dataclass
class Order:
    amount: int
    at: int
    status: str = "OPEN"
    # Agent, price and status of each.
    bids: list[tuple[str, int, str]] = field(default_factory=list)


@dataclass
class Asked:
    kind: str
    by: int
    at: int
    body: dict[str, Any]
    concerned: int | None = None
    demands: tuple[Demand, ...] = ()
    status: str = "PENDING"
    approved: set[int] = field(default_factory=set)
    due: int | None = None
    was_refused: bool = False


class Model:
    """One organization; `own` is its agent."""

    def __init__(self, roles: dict[int, int], team: set[int], liquid: int, own: str) -> None:
        self.roles, self.team, self.barred = roles, team, set[int]()
        self.liquid, self.own, self.rules, self.hour = liquid, own, Rules(), 0
        self.spent = self.unapproved = 0
        self.budgets: list[Budget | None] = []
        self.orders: list[Order] = []
        self.requests: list[Asked] = []
        # In the order in which their delays began.
        self.delayed: list[Asked] = []

    def require_role(self, who: int, role: int) -> None:
        require(who in self.roles, 404)
        require(self.roles[who] >= role, 403)

    # Requests: what they need, who approves them, how they end.

    def state(self, asked: Asked) -> str:
        is_over = asked.status == "PENDING" and self.hour >= asked.at + WEEK
        return "EXPIRED" if is_over else asked.status

    def demands(self, asked: Asked) -> tuple[Demand, ...]:
        """Approvals that the request needs by the rules of now."""
        if asked.kind == "owners":
            needed = self.majority() - (self.roles.get(asked.by) == OWNER and asked.by not in self.barred)
            return ((needed, "owner"),) if needed else ()
        if asked.kind not in {"payment", "award"}:
            return self.rules.tiers[-1:] and (self.rules.tiers[-1][1:],)
        amount, most = asked.body["amount"], self.rules.unapproved
        if asked.body.get("budget") is not None or most is None:
            return ()
        return self.rules.demand(amount, is_beyond=self.unapproved + amount > most)

    def binding(self, asked: Asked) -> set[Demand]:
        return {*self.demands(asked), *(asked.demands if asked.kind != "owners" else ())}

    def approvers(self, asked: Asked, of: str) -> set[int]:
        members = (
            self.team if of == "team" else {one for one, role in self.roles.items() if role >= ROLES[of]}
        )
        return members - self.barred - {asked.by, asked.concerned}

    def tally(self, asked: Asked) -> str:
        """met, delayed (fewer are eligible than needed and each approved) or missing."""
        found = {"met"}
        for needed, of in self.binding(asked):
            eligible = self.approvers(asked, of)
            if len(eligible & asked.approved) < needed:
                found.add("delayed" if eligible <= asked.approved and asked.kind != "owners" else "missing")
        return next(one for one in ("missing", "delayed", "met") if one in found)

    def ask(self, kind: str, by: int, concerned: int | None = None, **body: Any) -> str:
        asked = Asked(kind, by, self.hour, body, concerned)
        asked.demands = self.demands(asked)
        same = (one for one in self.requests if (one.kind, one.body) == (kind, body))
        require(kind not in UNIQUE or all(self.state(one) != "PENDING" for one in same), 409)
        match self.tally(asked):
            case "met":
                self.carry_out(asked)
            case "delayed":
                self.delay(asked)
        self.requests.append(asked)
        return asked.status

    def pending(self, who: int, number: int) -> Asked:
        self.require_role(who, VIEWER)
        require(self.state(self.requests[number]) == "PENDING", 409)
        return self.requests[number]

    def require_approver(self, who: int, asked: Asked) -> None:
        require(any(who in self.approvers(asked, of) for _, of in self.binding(asked)), 403)

    def approve(self, who: int, number: int) -> str:
        asked = self.pending(who, number)
        self.require_approver(who, asked)
        asked.approved.add(who)
        found = self.tally(asked)
        if found == "met":
            self.attempt(asked)
        elif found == "delayed" and asked.due is None:
            self.delay(asked)
        return asked.status

    def reject(self, who: int, number: int) -> str:
        asked = self.pending(who, number)
        self.require_approver(who, asked)
        asked.status = "REJECTED"
        return asked.status

    def cancel(self, who: int, number: int) -> str:
        asked = self.pending(who, number)
        require(who != asked.concerned and (who == asked.by or self.roles[who] == OWNER), 403)
        asked.status = "CANCELLED"
        return asked.status

    def retry(self, who: int, number: int) -> str:
        asked = self.pending(who, number)
        require(who == asked.by or self.roles[who] >= ADMIN, 403)
        found = self.tally(asked)
        if found == "delayed" and asked.due is None:
            self.delay(asked)
        else:
            require(found == "met" or (found == "delayed" and (asked.due or 0) <= self.hour), 409)
            self.require_initiator(asked)
            self.carry_out(asked)
        return asked.status

    def delay(self, asked: Asked) -> None:
        asked.due, asked.was_refused = self.hour + DELAY, False
        self.delayed.append(asked)

    def attempt(self, asked: Asked) -> None:
        """Carry an approved request out; it stays pending where it cannot be."""
        try:
            self.require_initiator(asked)
            self.carry_out(asked)
        except Refusal:
            asked.was_refused = True

    def require_initiator(self, asked: Asked) -> None:
        has_right = self.roles.get(asked.by, 0) >= ADMIN and asked.by not in self.barred
        require(asked.kind == "owners" or has_right, 409)

    def carry_out(self, asked: Asked) -> None:
        getattr(self, f"do_{asked.kind}")(asked, **asked.body)
        asked.status = "EXECUTED"

    def run_jobs(self) -> None:
        """Delays end, and work orders whose time has passed."""
        waiting = [one for one in self.delayed if self.state(one) == "PENDING" and not one.was_refused]
        for asked in [one for one in waiting if one.due is not None and one.due <= self.hour]:
            if self.tally(asked) == "missing":
                asked.due = None
                self.delayed.remove(asked)
            else:
                self.attempt(asked)
        for order in self.orders:
            if order.status != self.state_of(order):
                self.close(order, "EXPIRED")

    # Units.

    def leave(self, amount: int, payee: str, budget: int | None, *, unapproved: bool, held: int = 0) -> None:
        """Judge the units that leave when they leave, and count them without their fee."""
        require(self.rules.allowed is None or payee in {*self.rules.allowed, self.own}, 403)
        found = Budget(amount, "once", agent=False) if budget is None else self.budgets[budget]
        require(found, 404)
        assert found is not None
        require(found.spent + amount <= found.amount, 403)
        require(self.rules.day_max is None or self.spent + amount <= self.rules.day_max, 403)
        require(self.liquid + held >= amount + fee(amount), 402)
        self.liquid += held - amount - fee(amount)
        self.spent += amount
        self.unapproved += amount if unapproved else 0
        found.spent += amount

    def pay(self, who: int, payee: str, amount: int, budget: int | None) -> str:
        self.require_role(who, ADMIN if budget is None else MEMBER)
        if budget is not None:
            found = self.budgets[budget]
            require(found, 404)
            require(found and not found.agent and who in self.team, 403)
        return self.ask("payment", who, payee=payee, amount=amount, budget=budget)

    def do_payment(self, asked: Asked, payee: str, amount: int, budget: int | None) -> None:
        self.leave(amount, payee, budget, unapproved=budget is None and not asked.demands)

    def draw(self, amount: int) -> str:
        found = [number for number, one in enumerate(self.budgets) if one and one.agent]
        require(found, 404)
        self.leave(amount, self.own, found[0], unapproved=False)
        return "drawn"

    def pass_time(self, hours: int, *, is_month: bool = False) -> None:
        self.hour += hours
        self.spent = self.unapproved = 0
        for one in self.budgets:
            if one and one.period == "month" and is_month:
                one.spent = 0

    # Rules, budgets and members: no one person makes approvers, budgets or exceptions.

    def rule(self, who: int, rules: Rules) -> str:
        self.require_role(who, ADMIN)
        require(rules.tiers or rules.unapproved_max is None, 422)
        if self.rules.tiers and not rules.is_tighter(self.rules):
            seen = self.team if any(of == "team" for *_, of in rules.tiers) else set()
            return self.ask("rules", who, rules=rules, seen=frozenset(seen))
        self.rules = rules
        return "done"

    def do_rules(self, _: Asked, rules: Rules, seen: frozenset[int]) -> None:
        require(all(of != "team" for *_, of in rules.tiers) or self.team <= seen, 409)
        self.rules = rules

    def budget(self, who: int, number: int | None, amount: int, period: str, *, agent: bool) -> str:
        self.require_role(who, ADMIN)
        old = None if number is None else self.budgets[number]
        require(number is None or old, 404)
        is_tighter = old and (agent, True, True) == (
            old.agent,
            amount <= old.amount,
            period in {old.period, "once"},
        )
        body = {"number": number, "amount": amount, "period": period, "agent": agent}
        if self.rules.tiers and not is_tighter:
            return self.ask("budget", who, **body)
        self.do_budget(None, **body)
        return "done"

    def do_budget(
        self, _: Asked | None, number: int | None, amount: int, period: str, *, agent: bool
    ) -> None:
        others = [one for place, one in enumerate(self.budgets) if place != number and one]
        require(not agent or not any(one.agent for one in others), 409)
        old = None if number is None else self.budgets[number]
        require(number is None or old, 404)
        new = Budget(amount, period, agent, old.spent if old else 0)
        if number is None:
            self.budgets.append(new)
        else:
            self.budgets[number] = new

    def end_budget(self, who: int, number: int) -> str:
        self.require_role(who, ADMIN)
        require(self.budgets[number], 404)
        self.budgets[number] = None
        return "done"

    def majority(self) -> int:
        return list(self.roles.values()).count(OWNER) // 2 + 1

    def change(self, who: int, whom: int, role: int | None) -> str:
        """Another role of a member, or the end of the membership."""
        self.require_role(who, VIEWER if who == whom else ADMIN)
        require(whom in self.roles, 404)
        own, present = self.roles[who], self.roles[whom]
        if who == whom:
            require(role is None or role <= own, 403)
        else:
            require(own == OWNER or (present < own and (role or 0) <= own), 403)
            if OWNER in {present, role} and present != role:
                others = list(self.roles.values()).count(OWNER) - (present == OWNER)
                require(others >= self.majority(), 409)
                if self.majority() > 1:
                    return self.ask("owners", who, whom, whom=whom, role=role)
        gained = {of for _, _, of in self.rules.tiers if of in ROLES and present < ROLES[of] <= (role or 0)}
        if gained:
            return self.ask("grant", who, whom, whom=whom, role=role)
        self.set_role(whom, role)
        return "done"

    def set_role(self, whom: int, role: int | None) -> None:
        require(self.roles[whom] != OWNER or role == OWNER or self.majority() > 1, 409)
        self.roles[whom] = role or 0
        if role is None:
            del self.roles[whom]
            self.team.discard(whom)

    def do_owners(self, _: Asked, whom: int, role: int | None) -> None:
        require(whom in self.roles, 404)
        self.set_role(whom, role)

    def do_grant(self, asked: Asked, whom: int, role: int | None) -> None:
        """A role, or a place in the team."""
        require(whom in self.roles, 404)
        if role is None:
            self.team.add(whom)
            return
        own, present = self.roles.get(asked.by, VIEWER), self.roles[whom]
        require(own == OWNER or (own == ADMIN and present < own and role <= own), 403)
        require(role != OWNER or self.majority() == 1, 409)
        self.roles[whom] = max(present, role)

    def place(self, who: int, whom: int, *, is_given: bool) -> str:
        """A place in the team, given or taken."""
        self.require_role(who, ADMIN)
        require(whom in self.roles if is_given else whom in self.team, 404)
        if is_given and whom not in self.team and any(of == "team" for *_, of in self.rules.tiers):
            return self.ask("grant", who, whom, whom=whom, role=None)
        (self.team.add if is_given else self.team.discard)(whom)
        return "done"

    # Work orders: open ones hold their amount and its fee.

    def state_of(self, order: Order) -> str:
        is_over = order.status == "OPEN" and self.hour >= order.at + BIDDING + BINDING
        return "EXPIRED" if is_over else order.status

    def offer(self, who: int, amount: int) -> str:
        self.require_role(who, ADMIN)
        require(self.liquid >= amount + fee(amount), 402)
        self.liquid -= amount + fee(amount)
        self.orders.append(Order(amount, self.hour))
        return "done"

    def bid(self, agent: str, number: int, price: int) -> str:
        order = self.orders[number]
        require(self.state_of(order) == "OPEN" and self.hour < order.at + BIDDING, 409)
        require(price <= order.amount, 422)
        require(agent != self.own, 403)
        require(all((one, status) != (agent, "live") for one, _, status in order.bids), 409)
        order.bids.append((agent, price, "live"))
        return "done"

    def withdraw(self, number: int, place: int) -> str:
        order = self.orders[number]
        require(self.state_of(order) == "OPEN" and self.hour < order.at + BIDDING, 409)
        self.end_bid(order, place, "withdrawn")
        return "done"

    def end_bid(self, order: Order, place: int, status: str) -> None:
        agent, price, present = order.bids[place]
        require(present == "live", 409)
        order.bids[place] = (agent, price, status)

    def award(self, who: int, number: int, place: int) -> str:
        self.require_role(who, ADMIN)
        order = self.orders[number]
        require(self.state_of(order) == "OPEN" and order.bids[place][2] == "live", 409)
        return self.ask("award", who, number=number, place=place, amount=order.bids[place][1])

    def do_award(self, asked: Asked, number: int, place: int, amount: int) -> None:
        order = self.orders[number]
        require(self.state_of(order) == "OPEN" and order.bids[place][2] == "live", 409)
        held = order.amount + fee(order.amount)
        self.leave(amount, order.bids[place][0], None, unapproved=not asked.demands, held=held)
        self.end_bid(order, place, "won")
        self.close(order, "AWARDED", freed=0)

    def close(self, order: Order, status: str, freed: int | None = None) -> None:
        self.liquid += order.amount + fee(order.amount) if freed is None else freed
        order.status = status
        order.bids = [(agent, price, "lost" if one == "live" else one) for agent, price, one in order.bids]

    def call_off(self, who: int, number: int) -> str:
        self.require_role(who, ADMIN)
        require(self.state_of(self.orders[number]) == "OPEN", 409)
        self.close(self.orders[number], "CANCELLED")
        return "done"
