"""Treasury of an organization as the specification has it (7 Y): members, rules, budgets, requests, crossings, contracts and work orders.

Amounts are minor units, moments are hours.
"""

from typing import Any

from tests.properties.treasury_records import (
    ADMIN,
    BIDDING,
    BINDING,
    DAY,
    DELAY,
    INVITATIONS_OF_ADDRESS_A_DAY,
    MEMBER,
    OWNER,
    ROLES,
    UNIQUE,
    VIEWER,
    WEEK,
    Asked,
    Budget,
    Contract,
    Crossing,
    Demand,
    Invitation,
    Order,
    Outlay,
    Refusal,
    Rules,
    fee,
    require,
)


class Model:
    """One organization; `own` is its agent, `abroad` one of another registry."""

    def __init__(self, roles: dict[int, int], liquid: int, own: str, abroad: str) -> None:
        self.roles, self.team, self.barred = roles, set[int](), set[int]()
        self.liquid, self.own, self.abroad = liquid, own, abroad
        self.rules, self.hour, self.day = Rules(), 0, 0
        self.spent = self.unapproved = 0
        self.budgets: list[Budget | None] = []
        self.orders: list[Order] = []
        self.contracts: list[Contract] = []
        self.invitations: list[Invitation] = []
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
        if asked.kind not in {"payment", "contract", "award"}:
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

    def waiting_for(self, who: int) -> list[int]:
        """The requests that this person may approve and has not."""
        return [
            number
            for number, one in enumerate(self.requests)
            if self.state(one) == "PENDING"
            and who not in one.approved
            and any(who in self.approvers(one, of) for _, of in self.binding(one))
        ]

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
        asked.status = getattr(self, f"do_{asked.kind}")(asked, **asked.body) or "EXECUTED"

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

    def leave(
        self, amount: int, payee: str, budget: int | None, *, unapproved: bool, cost: int | None = None
    ) -> Outlay:
        """Judge the units that leave when they leave, and count them without their fee; `cost` is what the treasury has less."""
        require(self.rules.allowed is None or payee in {*self.rules.allowed, self.own}, 403)
        found = Budget(amount, "once", agent=False) if budget is None else self.budgets[budget]
        require(found, 404)
        assert found is not None
        require(found.spent + amount <= found.amount, 403)
        require(self.rules.day_max is None or self.spent + amount <= self.rules.day_max, 403)
        cost = amount + fee(amount) if cost is None else cost
        require(self.liquid >= cost, 402)
        self.liquid -= cost
        self.spent += amount
        self.unapproved += amount if unapproved else 0
        found.counted.append(Outlay(amount, self.day, unapproved))
        return found.counted[-1]

    def pay(self, who: int, payee: str, amount: int, budget: int | None) -> str:
        self.require_role(who, ADMIN if budget is None else MEMBER)
        if budget is not None:
            found = self.budgets[budget]
            require(found, 404)
            require(found and not found.agent and who in self.team, 403)
        return self.ask("payment", who, payee=payee, amount=amount, budget=budget)

    def do_payment(self, asked: Asked, payee: str, amount: int, budget: int | None) -> str | None:
        is_unapproved = budget is None and not asked.demands
        if payee != self.abroad:
            self.leave(amount, payee, budget, unapproved=is_unapproved)
            return None
        # The payee's registry takes its fee from the amount.
        outlay = self.leave(amount, payee, budget, unapproved=is_unapproved, cost=amount)
        asked.crossing = Crossing(amount, outlay)
        return "EXECUTING"

    def decide_crossing(self, number: int, *, is_paid: bool) -> str:
        """The transfer commits or aborts, which changes no request yet."""
        crossing = self.requests[number].crossing
        assert crossing is not None
        crossing.status = "committed" if is_paid else "aborted"
        self.liquid += 0 if is_paid else crossing.amount
        return "done"

    def follow(self) -> None:
        """Requests end whose transfers are decided; an aborted one does not count."""
        for asked in self.requests:
            crossing = asked.crossing
            if asked.status != "EXECUTING" or crossing is None or crossing.status == "reserved":
                continue
            asked.status = "EXECUTED" if crossing.status == "committed" else "FAILED"
            if crossing.status == "aborted":
                self.count_back(crossing.outlay)

    def count_back(self, outlay: Outlay) -> None:
        """Take an amount out of the sums of its day, and of its budget while the period lasts."""
        if outlay.day == self.day:
            self.spent -= outlay.amount
            self.unapproved -= outlay.amount if outlay.unapproved else 0
        for one in self.budgets:
            if one and outlay in one.counted:
                one.counted.remove(outlay)

    def draw(self, amount: int) -> str:
        found = [number for number, one in enumerate(self.budgets) if one and one.agent]
        require(found, 404)
        self.leave(amount, self.own, found[0], unapproved=False)
        return "drawn"

    def pass_time(self, hours: int, *, is_month: bool = False) -> None:
        self.hour += hours
        self.day += hours // DAY
        self.spent = self.unapproved = 0
        for one in self.budgets:
            if one and one.period == "month" and is_month:
                one.counted = []

    # Contracts: a proposal counts, its acceptance holds the amount and its fee, the end of one without work gives them back.

    def propose(self, who: int, provider: str, amount: int) -> str:
        self.require_role(who, ADMIN)
        return self.ask("contract", who, provider=provider, amount=amount)

    def do_contract(self, asked: Asked, provider: str, amount: int) -> None:
        self.leave(amount, provider, None, unapproved=not asked.demands, cost=0)
        self.contracts.append(Contract(amount, provider))

    def accept_contract(self, number: int) -> str:
        found = self.contracts[number]
        require(found.status == "PROPOSED" and self.liquid >= found.amount + fee(found.amount), 409)
        self.liquid -= found.amount + fee(found.amount)
        found.status = "ACCEPTED"
        return "done"

    def end_contract(self, who: int, number: int, name: str) -> str:
        """Cancel a proposal, or mark accepted work failed that nobody submitted."""
        self.require_role(who, ADMIN)
        found = self.contracts[number]
        before, after = {"cancel": ("PROPOSED", "CANCELLED"), "mark_failed": ("ACCEPTED", "FAILED")}[name]
        require(found.status == before, 409)
        self.liquid += found.amount + fee(found.amount) if before == "ACCEPTED" else 0
        found.status = after
        return "done"

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
        new = Budget(amount, period, agent, old.counted if old else [])
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
        if self.gives_approval(role or 0, held=present):
            return self.ask("grant", who, whom, act="role", whom=whom, role=role)
        self.set_role(whom, role)
        return "done"

    def gives_approval(self, role: int = 0, *, with_team: bool = False, held: int = 0) -> bool:
        """A role above the one that is held, or a place in the team, lets its member approve by the rules of now."""
        by = {of for *_, of in self.rules.tiers}
        return (with_team and "team" in by) or any(held < ROLES[of] <= role for of in by & {*ROLES})

    def set_role(self, whom: int, role: int | None) -> None:
        require(self.roles[whom] != OWNER or role == OWNER or self.majority() > 1, 409)
        self.roles[whom] = role or 0
        if role is None:
            del self.roles[whom]
            self.team.discard(whom)

    def do_owners(self, _: Asked, whom: int, role: int | None) -> None:
        require(whom in self.roles, 404)
        self.set_role(whom, role)

    def do_grant(self, asked: Asked, act: str, whom: int, **place: Any) -> None:
        getattr(self, f"grant_{act}")(asked, whom, **place)

    def grant_role(self, asked: Asked, whom: int, role: int) -> None:
        require(whom in self.roles, 404)
        own, present = self.roles.get(asked.by, VIEWER), self.roles[whom]
        require(own == OWNER or (own == ADMIN and present < own and role <= own), 403)
        require(role != OWNER or self.majority() == 1, 409)
        self.roles[whom] = max(present, role)

    def grant_place(self, _: Asked, whom: int) -> None:
        require(whom in self.roles, 404)
        self.team.add(whom)

    def place(self, who: int, whom: int, *, is_given: bool) -> str:
        """A place in the team, given or taken."""
        self.require_role(who, ADMIN)
        require(whom in self.roles if is_given else whom in self.team, 404)
        if is_given and whom not in self.team and self.gives_approval(with_team=True):
            return self.ask("grant", who, whom, act="place", whom=whom)
        (self.team.add if is_given else self.team.discard)(whom)
        return "done"

    # Invitations: one that gives a right to approve is granted by others, and each is judged again when it is accepted.

    def invite(self, who: int, whom: int, role: int, *, with_team: bool) -> str:
        self.require_role(who, ADMIN)
        self.require_few_invitations(whom)
        if self.gives_approval(role, with_team=with_team):
            return self.ask("grant", who, whom, act="invitation", whom=whom, role=role, with_team=with_team)
        self.send_invitation(Invitation(whom, role, with_team, who, self.hour, is_granted=False))
        return "done"

    def grant_invitation(self, asked: Asked, whom: int, role: int, *, with_team: bool) -> None:
        self.require_few_invitations(whom)
        self.send_invitation(Invitation(whom, role, with_team, asked.by, self.hour, is_granted=True))

    def require_few_invitations(self, whom: int) -> None:
        recent = [one for one in self.invitations if one.whom == whom and self.hour < one.at + DAY]
        require(len(recent) < INVITATIONS_OF_ADDRESS_A_DAY, 429)

    def send_invitation(self, new: Invitation) -> None:
        """In place of the pending one of the address."""
        for one in self.invitations:
            if one.whom == new.whom and one.status == "pending":
                one.status = "replaced"
        self.invitations.append(new)

    def answerable(self, whom: int, number: int) -> Invitation:
        found = self.invitations[number]
        require(found.status == "pending" and self.hour < found.at + WEEK, 404)
        require(found.whom == whom, 403)
        return found

    def accept(self, whom: int, number: int) -> str:
        found = self.answerable(whom, number)
        require(self.roles.get(found.by, 0) >= ADMIN and found.by not in self.barred, 404)
        is_granted = found.is_granted or not self.gives_approval(found.role, with_team=found.with_team)
        require(is_granted and whom not in self.roles, 409)
        self.roles[whom], found.status = found.role, "accepted"
        self.team |= {whom} if found.with_team else set()
        return "done"

    def decline(self, whom: int, number: int) -> str:
        self.answerable(whom, number).status = "declined"
        return "done"

    def revoke(self, who: int, number: int) -> str:
        self.require_role(who, ADMIN)
        require(self.invitations[number].status == "pending", 404)
        self.invitations[number].status = "revoked"
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
        held, bidder = order.amount + fee(order.amount), order.bids[place][0]
        cost = amount + fee(amount) - held
        self.leave(amount, bidder, None, unapproved=not asked.demands, cost=cost)
        self.contracts.append(Contract(amount, bidder, "ACCEPTED"))
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
