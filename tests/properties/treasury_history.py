"""One drawn life of a treasury, played by the model and by the use cases, which answer alike and store alike."""

import random
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import UNIT
from hansa.rooms import ledger, treasury
from tests.properties.treasury_model import Model
from tests.properties.treasury_records import ADMIN, Refusal, Rules, fee
from tests.properties.treasury_scene import Scene, Stage, numbered

ACTS = 16
PEOPLE = 5
HELD = 100
DAY, MONTH = 25, 31 * 24

_BROKEN = """
SELECT 'executed with fewer approvals' AS rule, id::text FROM organizations_request r
WHERE status = 'EXECUTED' AND executes_at IS NULL
  AND approvals_needed > (SELECT count(*) FROM organizations_approval a WHERE a.request_id = r.id)
UNION ALL SELECT 'approved by its initiator', request_id::text FROM organizations_approval a
JOIN organizations_request r ON r.id = a.request_id AND a.developer_id IN (r.initiator_id, r.concerned_id)
UNION ALL SELECT 'executed payments and transactions differ', coalesce(r.id::text, t.ref)
FROM (SELECT * FROM organizations_request WHERE kind = 'payment' AND status = 'EXECUTED' AND transfer_id IS NULL) r
FULL JOIN (SELECT * FROM ledger_transaction WHERE ref LIKE 'org-request-%') t
  ON t.id = r.tx_id AND t.ref = 'org-request-' || r.id AND t.amount = r.amount
WHERE r.id IS NULL OR t.id IS NULL
UNION ALL SELECT 'sums of a day are not what left', (s.spent - o.spent)::text
FROM (SELECT coalesce(sum(spent), 0) AS spent, coalesce(sum(unapproved), 0) AS unapproved FROM treasury_day) s,
  (SELECT coalesce(sum(amount), 0) AS spent, coalesce(sum(amount) FILTER (WHERE is_unapproved), 0) AS unapproved
   FROM treasury_outlay WHERE returned_at IS NULL) o
WHERE (s.spent, s.unapproved) IS DISTINCT FROM (o.spent, o.unapproved)
"""


class History:
    """One life of a treasury, played by the model and by the use cases."""

    def __init__(self, stage: Stage, tx: Tx, chance: random.Random) -> None:
        self.stage, self.tx, self.chance = stage, tx, chance
        self.scene = Scene(stage, tx)
        self.model = Model({0: 4}, HELD * UNIT, stage.own.did, stage.abroad)
        self.given: list[Any] = []

    async def live(self) -> None:
        # With few kinds of acts they meet more often.
        kinds = [self.draw, self.rule, self.budget, self.change, self.place, self.move_units, self.pass_time]
        more = [
            [self.offer, self.bid, self.award, self.end_order, self.go_on_with_contract],
            [self.propose, self.propose, self.go_on_with_contract],
            [self.pay_abroad, self.pay_abroad, self.decide_crossing, self.follow],
            [self.invite, self.answer_invitation, self.answer_invitation, self.change, self.rule],
        ]
        acts = [self.pay, self.decide, *self.chance.sample(kinds, self.chance.choice([2, 3, 7]))]
        for one in self.chance.sample(more, self.chance.choice([0, 1, 1, 2])):
            acts += one
        # Rules that come after an invitation are judged at its acceptance.
        has_rules = self.invite not in acts or self.chance.random() < 0.3
        acts += [self.pay, self.decide, self.decide] * (len(acts) // 4)
        try:
            await self.begin(has_rules=has_rules)
            for _ in range(ACTS):
                await self.chance.choice(acts)()
            await self.judge()
        except Exception:
            print(*self.given, sep="\n")
            raise

    async def begin(self, *, has_rules: bool) -> None:
        """Members, budgets and rules, which an organization without tiers gets at once."""
        for whom in range(1, PEOPLE):
            if role := self.chance.choice([0, 1, 2, 3, 3, 4]):
                self.model.roles[whom] = role
                assert await self.scene.join(whom, role) == "done"
        for whom in self.chance.sample([*self.model.roles], min(2, len(self.model.roles))):
            await self.both(("place", 0, whom), is_given=True)
        if self.chance.random() < 0.5:
            await self.budget()
        if has_rules:
            await self.rule()

    async def both(self, act: tuple[Any, ...], **named: Any) -> None:
        """Let the model and the use case do the same, and compare what they answer and what is stored."""
        name, *given = act
        self.given.append((*act, named))
        try:
            expected = getattr(self.model, name)(*given, **named)
        except Refusal as refusal:
            (expected,) = refusal.args
        await self.scene.no_more_pace()
        use_case = getattr(self.scene, name, None)
        answered = await (use_case(*given, **named) if use_case else self.scene.on_request(*act))
        assert answered == expected
        await self.compare()

    async def compare(self) -> None:
        state, model = await self.scene.find_new(), self.model
        people = {one.id: number for number, one in enumerate(self.stage.people)}
        assert {people[int(one)]: role for one, role in state["roles"].items()} == model.roles
        assert {people[one] for one in state["team"]} == model.team
        assert (state["day"] or [0, 0]) == [model.spent, model.unapproved]
        holding = [one.amount for one in model.orders if one.status == "OPEN"]
        holding += [one.amount for one in model.contracts if one.status == "ACCEPTED"]
        assert state["held"] == [model.liquid, sum(amount + fee(amount) for amount in holding)]
        budgets = [one and [one.amount, one.period, one.agent, one.spent] for one in model.budgets]
        assert numbered(self.scene.budgets, state["budgets"]) == budgets
        asked = [model.state(one) for one in model.requests]
        assert numbered(self.scene.requests, state["requests"]) == asked
        for name in ("orders", "contracts", "invitations"):
            statuses = [one.status for one in getattr(model, name)]
            assert numbered(getattr(self.scene, name), state[name]) == statuses
        for ids, order in zip(self.scene.bids, model.orders, strict=True):
            assert numbered(ids, state["bids"]) == [status for _, _, status in order.bids]

    def who(self) -> int:
        """Somebody whose account is active, a member or a stranger, mostly an admin."""
        active = [one for one in range(PEOPLE) if one not in self.model.barred]
        admins = [one for one in active if self.model.roles.get(one, 0) >= ADMIN]
        return self.chance.choice(admins if admins and self.chance.random() < 0.7 else active)

    def amount(self) -> int:
        return self.chance.choice([1, 2, 4, 5, 6, 9, 10, 11, 19, 20, 21, 40, 60]) * UNIT

    def place_in(self, things: list[Any]) -> int:
        """A place, mostly one of the last."""
        return len(things) - 1 - min(self.chance.choice([0, 0, 0, 1, 1, 2, 3]), len(things) - 1)

    async def pay(self, payee: str | None = None) -> None:
        payee = payee or self.chance.choice([self.stage.own, *self.stage.strangers]).did
        has_budget = self.model.budgets and self.chance.random() < 0.4
        budget = self.place_in(self.model.budgets) if has_budget else None
        who = (
            self.chance.choice([*self.model.team])
            if has_budget and self.model.team - self.model.barred
            else self.who()
        )
        await self.both(("pay", who, payee, self.amount(), budget))

    async def pay_abroad(self) -> None:
        await self.pay(self.stage.abroad)

    async def decide_crossing(self) -> None:
        """The other registry decides on units under way."""
        asked = enumerate(self.model.requests)
        reserved = [number for number, one in asked if one.crossing and one.crossing.status == "reserved"]
        if reserved:
            number = self.chance.choice(reserved)
            await self.both(("decide_crossing", number), is_paid=self.chance.random() < 0.4)
        else:
            await self.pay_abroad()

    async def follow(self) -> None:
        self.given.append("follow")
        self.model.follow()
        await self.scene.follow()
        await self.compare()

    async def propose(self) -> None:
        provider = self.chance.choice([self.stage.own, *self.stage.strangers * 2]).did
        await self.both(("propose", self.who(), provider, self.amount()))

    async def go_on_with_contract(self) -> None:
        """A contract is accepted, or ended by the organization."""
        contracts = self.model.contracts
        if not contracts:
            await self.propose()
            return
        number, chance = self.place_in(contracts), self.chance.random()
        if chance < 0.5:
            await self.both(("accept_contract", number))
            return
        of_state = "cancel" if contracts[number].status == "PROPOSED" else "mark_failed"
        name = of_state if chance < 0.9 else self.chance.choice(["cancel", "mark_failed"])
        await self.both(("end_contract", self.who(), number, name))

    async def decide(self) -> None:
        if not self.model.requests:
            return
        number = self.place_in(self.model.requests)
        act, who = self.chance.choice(["approve"] * 7 + ["reject", "cancel", "retry", "retry"]), self.who()
        asked = self.model.requests[number]
        fitting = set().union(*(self.model.approvers(asked, of) for _, of in self.model.binding(asked)))
        if act == "approve" and fitting and self.chance.random() < 0.8:
            who = self.chance.choice(sorted(fitting - asked.approved or fitting))
        await self.both((act, who, number))

    async def draw(self) -> None:
        await self.both(("draw", self.amount()))

    async def rule(self) -> None:
        chance, old = self.chance, self.model.rules
        of = ["admin", "admin", "owner", "team"]
        overs = sorted(chance.sample([0, 5, 10, 20, 40], chance.choice([0, 1, 1, 2])))
        tiers = tuple((over * UNIT, chance.choice([1, 2, 2, 3]), chance.choice(of)) for over in overs)
        most = chance.choice([None, None, 20 * UNIT, 50 * UNIT])
        unapproved = chance.choice([None, None, 5 * UNIT, 30 * UNIT])
        few = frozenset({self.stage.strangers[0].did, *chance.choice([[], [self.stage.abroad]])})
        allowed = chance.choice([None, None, None, few])
        rules = Rules(tiers, most, unapproved, allowed)
        if old.tiers and chance.random() < 0.5:
            tiers = tuple(
                (over, min(number + chance.choice([0, 1]), 5), approvers)
                for over, number, approvers in old.tiers
            )
            rules = Rules(tiers, chance.choice([old.day_max, most]), old.unapproved_max, old.allowed)
        await self.both(("rule", self.who(), rules))

    async def budget(self) -> None:
        who, budgets = self.who(), self.model.budgets
        if budgets and self.chance.random() < 0.2:
            await self.both(("end_budget", who, self.place_in(budgets)))
            return
        number = self.place_in(budgets) if budgets and self.chance.random() < 0.6 else None
        period, is_agent = self.chance.choice(["month", "once"]), self.chance.random() < 0.5
        if number is not None and budgets[number] and self.chance.random() < 0.5:
            period, is_agent = budgets[number].period, budgets[number].agent
        await self.both(("budget", who, number, self.amount(), period), agent=is_agent)

    async def change(self) -> None:
        whom, kind = self.chance.randrange(PEOPLE), self.chance.random()
        # The approvers of pending requests, and the authors of pending invitations.
        relied_on = {who for one in self.model.requests if one.status == "PENDING" for who in one.approved}
        relied_on |= {one.by for one in self.model.invitations if one.status == "pending"}
        is_relied_on = bool(relied_on) and self.chance.random() < 0.5
        if is_relied_on:
            whom = self.chance.choice(sorted(relied_on))
        if whom not in self.model.roles:
            role = self.chance.choice([1, 2])
            self.model.roles[whom] = role
            assert await self.scene.join(whom, role) == "done"
            await self.compare()
        elif kind < 0.2:
            is_barred = whom not in self.model.barred
            if len(self.model.barred) < 2 or not is_barred:
                (self.model.barred.add if is_barred else self.model.barred.discard)(whom)
                await self.scene.bar(whom, is_barred=is_barred)
        else:
            role = self.chance.choice([None, None, 1, 2] if is_relied_on else [None, None, 1, 2, 3, 3, 4])
            is_own = kind < (0.6 if is_relied_on else 0.4) and whom not in self.model.barred
            await self.both(("change", whom if is_own else self.who(), whom, role))

    async def place(self) -> None:
        await self.both(
            ("place", self.who(), self.chance.randrange(PEOPLE)), is_given=self.chance.random() < 0.6
        )

    async def invite(self) -> None:
        strangers = [one for one in range(PEOPLE) if one not in self.model.roles]
        whom = self.chance.choice(strangers if strangers and self.chance.random() < 0.8 else range(PEOPLE))
        role, with_team = self.chance.choice([1, 2, 3, 3]), self.chance.random() < 0.4
        await self.both(("invite", self.who(), whom, role), with_team=with_team)

    async def answer_invitation(self) -> None:
        """An invitation is accepted, mostly by the invited, declined or revoked."""
        invitations = self.model.invitations
        if not invitations:
            await self.invite()
            return
        number, chance, who = self.place_in(invitations), self.chance.random(), self.who()
        if chance < 0.1:
            await self.both(("revoke", who, number))
            return
        if chance < 0.9 and invitations[number].whom not in self.model.barred:
            who = invitations[number].whom
        await self.both(("accept" if chance < 0.75 else "decline", who, number))

    async def move_units(self) -> None:
        """Units come to the treasury, or leave it by no request."""
        amount = self.amount()
        if self.chance.random() < 0.5:
            await self.scene.give(amount)
            self.model.liquid += amount
        elif amount <= self.model.liquid:
            assert await self.scene.take(amount) == "done"
            self.model.liquid -= amount
        await self.compare()

    async def offer(self) -> None:
        await self.both(("offer", self.who(), self.amount()))

    async def bid(self) -> None:
        if not self.model.orders:
            await self.offer()
            return
        number, agent = (
            self.place_in(self.model.orders),
            self.chance.choice([self.stage.own, *self.stage.strangers * 3]),
        )
        order = self.model.orders[number]
        if order.bids and self.chance.random() < 0.2:
            await self.both(("withdraw", number, self.place_in(order.bids)))
            return
        price = self.chance.choice([order.amount, order.amount // 2 // UNIT * UNIT or UNIT, self.amount()])
        await self.both(("bid", agent.did, number, price))

    async def award(self) -> None:
        places = [number for number, one in enumerate(self.model.orders) if one.bids]
        if places:
            number = self.chance.choice(places)
            await self.both(("award", self.who(), number, self.place_in(self.model.orders[number].bids)))
        else:
            await self.bid()

    async def end_order(self) -> None:
        if self.model.orders and self.chance.random() < 0.7:
            await self.both(("call_off", self.who(), self.place_in(self.model.orders)))
        else:
            await self.run_jobs()

    async def pass_time(self) -> None:
        is_month = self.chance.random() < 0.15
        hours = MONTH if is_month else self.chance.choice([DAY, DAY, DAY, 7 * DAY, 14 * DAY])
        self.given.append(("pass_time", hours))
        self.model.pass_time(hours, is_month=is_month)
        await self.scene.pass_time(hours, is_month=is_month)
        await self.compare()
        if self.chance.random() < 0.7:
            await self.run_jobs()

    async def run_jobs(self) -> None:
        self.given.append("run_jobs")
        self.model.run_jobs()
        await self.scene.no_more_pace()
        await self.scene.run_jobs()
        await self.compare()

    async def judge(self) -> None:
        """Compare the requests that wait for each person, then question what is stored without the model."""
        for who in {*range(PEOPLE)} - self.model.barred:
            waiting = {self.scene.requests[number] for number in self.model.waiting_for(who)}
            assert await self.scene.waiting_for(who) == waiting, who
        assert [tuple(row) for row in await self.tx.fetch(_BROKEN)] == []
        assert await treasury.request_gaps(self.tx, 0) == []
        assert await treasury.work_order_gaps(self.tx) == []
        assert await ledger.escrow_gaps(self.tx) == []
