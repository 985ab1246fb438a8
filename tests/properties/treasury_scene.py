"""One organization, and each act on its treasury as the use case that carries it out, in one transaction that is undone at the end."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import admin_acts
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, format_amount
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import commerce, ledger, organizations, transfers
from hansa.rooms.commerce.contracts.accept import accept as accept_contract
from hansa.rooms.organizations.invitations import acts as invitations
from hansa.rooms.organizations.members.acts import change_member
from hansa.rooms.organizations.membership import join
from hansa.rooms.organizations.requests import acts as requests
from hansa.rooms.organizations.requests import store as request_store
from hansa.rooms.organizations.requests.kinds import kinds_of
from hansa.rooms.organizations.rules import Role
from hansa.rooms.organizations.teams import acts as teams
from hansa.rooms.transfers.crossing import sender, sent_store
from hansa.rooms.transfers.crossing import store as crossing_store
from hansa.rooms.transfers.crossing.messages import Message, MessageType
from hansa.rooms.transfers.crossing.writing import Changes, write_changes
from hansa.rooms.treasury.agreements import acts as agreements
from hansa.rooms.treasury.control import budgeting
from hansa.rooms.treasury.control.ruling import put_rules
from hansa.rooms.treasury.draws import draw
from hansa.rooms.treasury.payments.asking import NewPayment, ask_for_contract, ask_for_payment
from hansa.rooms.treasury.payments.crossings import end_by_decision
from hansa.rooms.treasury.records import NewBudget, Period
from hansa.rooms.treasury.work_orders import awarding, bidding, ending, opening
from hansa.rooms.treasury.work_orders.records import NewBid, NewWorkOrder
from tests.properties.treasury_records import Rules
from tests.registry import TestRegistry

TEAM = "finance"
_numbers = count(1)

_STATE = """
SELECT json_build_object(
  'roles', (SELECT json_object_agg(developer_id, role) FROM organizations_member
    WHERE organization_id = $1 AND role IS NOT NULL),
  'team', (SELECT json_agg(developer_id) FROM organizations_team_member WHERE team_id = $2),
  'held', (SELECT json_build_array(liquid, escrow) FROM ledger_account WHERE did = $3),
  'day', (SELECT json_build_array(spent, unapproved) FROM treasury_day
    WHERE organization_id = $1 AND day = (now() AT TIME ZONE 'UTC')::date),
  'budgets', (SELECT json_object_agg(id, json_build_array(amount, period, agent_did IS NOT NULL,
      CASE WHEN period = 'month' AND period_start < date_trunc('month', now() AT TIME ZONE 'UTC') THEN 0 ELSE spent END))
    FROM treasury_budget WHERE organization_id = $1 AND deleted_at IS NULL),
  'requests', (SELECT json_object_agg(id, CASE WHEN status = 'PENDING' AND expires_at <= clock_timestamp() THEN 'EXPIRED' ELSE status END)
    FROM organizations_request WHERE organization_id = $1),
  'orders', (SELECT json_object_agg(id, status) FROM treasury_work_order WHERE organization_id = $1),
  'bids', (SELECT json_object_agg(id, status) FROM treasury_work_bid),
  'contracts', (SELECT json_object_agg(id, upper(status)) FROM commerce_contract WHERE contractor_did = $3),
  'invitations', (SELECT json_object_agg(id, status) FROM organizations_invitation WHERE organization_id = $1)
)
"""

_LATER = """
UPDATE organizations_request SET created_at = created_at - $2::interval, expires_at = expires_at - $2::interval, executes_at = executes_at - $2::interval
  WHERE organization_id = $1
"""
_ORDERS_LATER = """
UPDATE treasury_work_order SET bids_until = bids_until - $2::interval, expires_at = expires_at - $2::interval, created_at = created_at - $2::interval
  WHERE organization_id = $1
"""
_INVITATIONS_LATER = """
UPDATE organizations_invitation SET created_at = created_at - $2::interval, expires_at = expires_at - $2::interval
  WHERE organization_id = $1
"""
_DAYS_LATER = """
WITH counted AS (UPDATE treasury_outlay SET day = day - $2::int WHERE organization_id = $1)
UPDATE treasury_day SET day = day - $2::int - $3::int WHERE organization_id = $1
"""
# Two days of one statement may not meet.
_FAR = 100_000
_NEXT_MONTH = "UPDATE treasury_budget SET period_start = period_start - 31 WHERE organization_id = $1"


async def admits(*_: object) -> bool:
    """No bond is asked for."""
    return True


@dataclass
class Stage:
    """A registry with an organization of one founder, its team and agent, other developers, and agents of strangers."""

    registry: TestRegistry
    people: list[Developer]
    slug: str
    organization_id: UUID
    team_id: UUID
    treasury: str
    own: Agent
    strangers: list[Agent]
    # An agent of another registry.
    abroad: str

    def agent(self, did: str) -> Agent:
        return next(one for one in (self.own, *self.strangers) if one.did == did)


@dataclass
class Scene:
    """The acts of a history. Each answers with the status of its request, a word, or the status of its refusal."""

    stage: Stage
    tx: Tx
    requests: list[UUID] = field(default_factory=list)
    budgets: list[UUID] = field(default_factory=list)
    orders: list[UUID] = field(default_factory=list)
    bids: list[list[UUID]] = field(default_factory=list)
    bidders: list[list[str]] = field(default_factory=list)
    contracts: list[int] = field(default_factory=list)
    invitations: list[UUID] = field(default_factory=list)

    def by(self, who: int) -> organizations.Acting:
        return organizations.Acting.by(self.stage.registry.runtime, self.stage.people[who])

    async def answer(self, use_case: Callable[..., Awaitable[Any]], *given: Any, **named: Any) -> Any:
        """Run one act as a transaction of its own."""
        try:
            async with self.tx.transaction():
                answered = await use_case(self.tx, *given, **named)
        except Refused as refusal:
            return refusal.status
        return answered.request.status if isinstance(answered, organizations.Reading) else answered

    @property
    def slug(self) -> str:
        return self.stage.slug

    @property
    def settings(self) -> Any:
        return self.stage.registry.settings

    async def pay(self, who: int, payee: str, amount: int, budget: int | None) -> Any:
        budget_id = None if budget is None else self.budgets[budget]
        new = NewPayment(payee, Minor(amount), None, budget_id, None)
        return await self.answer(ask_for_payment, self.by(who), self.slug, new)

    async def on_request(self, name: str, who: int, number: int) -> Any:
        kinds = kinds_of(self.stage.registry.runtime)
        more = {"reason": None} if name == "reject" else {}
        act = getattr(requests, name)
        return await self.answer(act, self.by(who), kinds, self.slug, self.requests[number], **more)

    async def decide_crossing(self, number: int, *, is_paid: bool) -> Any:
        """Effect of the other registry's answer here."""
        corridor = await transfers.corridor_to(self.tx, self.stage.abroad, self.stage.registry.runtime)
        pair = await crossing_store.lock_pair_alone(self.tx, corridor.key)
        found, _ = await sent_store.lock_sent(self.tx, corridor.key, [self.requests[number]])
        (sent,) = found.values()
        net, fee = sent.body.amount - sent.expected_fee, sent.expected_fee
        prepared = Message(MessageType.PREPARED, sent.body, net=net, fee=fee)
        inputs = sender.SenderInputs()
        changes = Changes(pair, pair)
        changes.add(sender.on_prepared(sent, prepared, inputs, 0) if is_paid else sender.on_abandon(sent))
        return _done(await self.answer(write_changes, corridor, changes))

    async def follow(self) -> None:
        """The job of each request whose units are under way."""
        for request_id, status in (await self.state())["requests"].items():
            if status == "EXECUTING":
                given = self.stage.organization_id, UUID(request_id)
                assert isinstance(await self.answer(end_by_decision, *given), bool)

    async def propose(self, who: int, provider: str, amount: int) -> Any:
        review_by = datetime.now(UTC) + timedelta(days=300)
        contract = {
            "provider_did": provider,
            "title": "Work",
            "contract_type": "service",
            "amount": format_amount(amount),
            "terms": "Work.",
            "acceptance_criteria": "Done.",
            "review_by": review_by.isoformat(),
            "funded": True,
        }
        return await self.answer(ask_for_contract, self.by(who), self.slug, contract, None)

    async def accept_contract(self, number: int) -> Any:
        find = "SELECT provider_did FROM commerce_contract WHERE id = $1"
        contract_id = self.contracts[number]
        provider = await self.tx.fetchval(find, contract_id)
        return _done(await self.answer(accept_contract, provider, contract_id, self.settings, admits))

    async def end_contract(self, who: int, number: int, name: str) -> Any:
        contract_id = self.contracts[number]

        async def ended(tx: Tx, treasury: Agent) -> Any:
            if name == "cancel":
                return await commerce.cancel_contract(tx, treasury, contract_id, None)
            return await commerce.mark_contract_failed(tx, treasury, contract_id, None, self.settings)

        given, named = (self.stage.people[who], self.slug, ended), {"act": name, "target": str(contract_id)}
        return _done(await self.answer(agreements.as_treasury, *given, **named))

    async def waiting_for(self, who: int) -> set[UUID]:
        person = self.stage.people[who].id
        return {one.id for one in await organizations.waiting_for_person(self.tx, person, 100)}

    async def draw(self, amount: int) -> Any:
        drawn = await self.answer(draw, self.stage.own, Minor(amount), self.stage.registry.runtime)
        return drawn if isinstance(drawn, int) else "drawn"

    async def rule(self, who: int, rules: Rules) -> Any:
        tiers = [
            {"over": format_amount(over), "approvals": number, "from": TEAM if of == "team" else of}
            for over, number, of in rules.tiers
        ]
        stated = {
            "tiers": tiers,
            "per_day_max": None if rules.day_max is None else format_amount(rules.day_max),
            "unapproved_per_day_max": None
            if rules.unapproved_max is None
            else format_amount(rules.unapproved_max),
            "allowlist": None if rules.allowed is None else sorted(rules.allowed),
        }
        return _done(await self.answer(put_rules, self.by(who), self.slug, stated))

    async def budget(self, who: int, number: int | None, amount: int, period: Period, *, agent: bool) -> Any:
        team, did = (None, self.stage.own.did) if agent else (self.stage.team_id, None)
        if number is None:
            made = NewBudget("Calls", Minor(amount), period, team, did)
            return _done(await self.answer(budgeting.make_budget, self.by(who), self.slug, made))
        changes = {"amount": format_amount(amount), "period": period}
        changes |= {"agent_did": did} if agent else {"team_id": team}
        return _done(
            await self.answer(budgeting.change_budget, self.by(who), self.slug, self.budgets[number], changes)
        )

    async def end_budget(self, who: int, number: int) -> Any:
        return _done(
            await self.answer(budgeting.delete_budget, self.by(who), self.slug, self.budgets[number])
        )

    async def join(self, whom: int, role: int) -> Any:
        organization = await organizations.lock(self.tx, self.stage.organization_id)
        member, founder = self.stage.people[whom], self.stage.people[0].id
        return _done(await self.answer(join, member, organization, member.id, Role(role), by=founder))

    async def change(self, who: int, whom: int, role: int | None) -> Any:
        number = self.stage.people[whom].id
        return _done(
            await self.answer(change_member, self.by(who), self.slug, number, Role(role) if role else None)
        )

    async def place(self, who: int, whom: int, *, is_given: bool) -> Any:
        number = self.stage.people[whom].id
        if is_given:
            return _done(await self.answer(teams.put_member, self.by(who), self.slug, TEAM, number))
        return _done(await self.answer(teams.remove_member, self.stage.people[who], self.slug, TEAM, number))

    async def invite(self, who: int, whom: int, role: int, *, with_team: bool) -> Any:
        place = {"role": Role(role), "team_ids": [self.stage.team_id] if with_team else []}
        email = self.stage.people[whom].email.lower()
        return _done(await self.answer(invitations.invite, self.by(who), self.slug, email=email, **place))

    async def accept(self, whom: int, number: int) -> Any:
        return _done(await self.answer(invitations.accept, self.stage.people[whom], self.token(number)))

    async def decline(self, whom: int, number: int) -> Any:
        return _done(await self.answer(invitations.decline, self.stage.people[whom], self.token(number)))

    async def revoke(self, who: int, number: int) -> Any:
        given = self.stage.people[who], self.slug, self.invitations[number]
        return _done(await self.answer(invitations.revoke, *given))

    def token(self, number: int) -> str:
        """The token of an invitation, which the database has only as its fingerprint."""
        return f"token of {self.invitations[number]}"

    async def bar(self, whom: int, *, is_barred: bool) -> None:
        await (admin_acts.bar_author if is_barred else admin_acts.admit_author)(
            self.tx, self.stage.people[whom].id
        )

    async def offer(self, who: int, amount: int) -> Any:
        until = datetime.now(UTC) + timedelta(days=1)
        new = NewWorkOrder("Work", "Work.", "Done.", Minor(amount), (), (), until, 2, 2, auto_approve=False)
        made = await self.answer(
            opening.open_order, self.stage.people[who], self.slug, new, self.stage.registry.runtime
        )
        if not isinstance(made, int):
            self.orders.append(made.order.id)
            self.bids.append([])
            self.bidders.append([])
        return _done(made)

    async def bid(self, did: str, number: int, price: int) -> Any:
        agent = self.stage.agent(did)
        new = NewBid(Minor(price), 60, "")
        made = await self.answer(
            bidding.bid, agent, self.orders[number], new, settings=self.settings, bond_admits=admits
        )
        if not isinstance(made, int):
            self.bids[number].append(made.id)
            self.bidders[number].append(did)
        return _done(made)

    async def withdraw(self, number: int, place: int) -> Any:
        agent = self.stage.agent(self.bidders[number][place])
        return _done(
            await self.answer(bidding.withdraw, agent, self.orders[number], self.bids[number][place])
        )

    async def award(self, who: int, number: int, place: int) -> Any:
        bid_id = self.bids[number][place]
        return await self.answer(awarding.ask_for_award, self.by(who), self.slug, self.orders[number], bid_id)

    async def call_off(self, who: int, number: int) -> Any:
        given = self.stage.people[who], self.slug, self.orders[number], self.settings
        return _done(await self.answer(ending.cancel, *given))

    async def run_jobs(self) -> None:
        kinds = kinds_of(self.stage.registry.runtime)
        for organization_id, request_id in await request_store.due(self.tx, limit=100):
            given = self.stage.registry.runtime, kinds, organization_id, request_id
            assert await self.answer(requests.carry_out_delayed, *given) is None
            await self.find_new()
        for order_id in self.orders:
            assert await self.answer(ending.expire, order_id, self.settings) is None

    async def pass_time(self, hours: int, *, is_month: bool) -> None:
        number = self.stage.organization_id
        for statement in (_LATER, _ORDERS_LATER, _INVITATIONS_LATER):
            await self.tx.execute(statement, number, timedelta(hours=hours))
        for days, far in ((hours // 24, _FAR), (0, -_FAR)):
            await self.tx.execute(_DAYS_LATER, number, days, far)
        if is_month:
            await self.tx.execute(_NEXT_MONTH, number)

    async def give(self, amount: int) -> None:
        given = {"payee": self.stage.treasury, "amount": Minor(amount), "ref": f"grant {next(_numbers)}"}
        assert await ledger.grant(self.tx, **given, book=ledger.Book.of(self.settings))

    async def take(self, amount: int) -> Any:
        order = ledger.PaymentOrder(
            self.stage.treasury,
            self.stage.strangers[0].did,
            Minor(amount),
            f"taken {next(_numbers)}",
            fee=Minor(0),
        )
        return _done(
            await self.answer(ledger.apply, [ledger.payment_line(order)], ledger.Book.of(self.settings))
        )

    async def state(self) -> dict[str, Any]:
        """All that the model knows too, by id."""
        stage = self.stage
        text = await self.tx.fetchval(_STATE, stage.organization_id, stage.team_id, stage.treasury)
        return {name: value or {} for name, value in json.loads(text).items()}

    async def find_new(self) -> dict[str, Any]:
        """The state, after the ids are known of all that was made meanwhile; a new invitation has a token of this scene."""
        state = await self.state()
        made: dict[str, tuple[list[Any], Callable[[str], Any]]] = {
            "requests": (self.requests, UUID),
            "budgets": (self.budgets, UUID),
            "contracts": (self.contracts, int),
            "invitations": (self.invitations, UUID),
        }
        for name, (known, read) in made.items():
            new = [found for found in map(read, state[name]) if found not in known]
            assert len(new) <= 1
            known.extend(new)
            if new and name == "invitations":
                token = fingerprint(self.token(-1))
                write = "UPDATE organizations_invitation SET token_sha256 = $2 WHERE id = $1"
                await self.tx.execute(write, new[0], token)
        return state

    async def no_more_pace(self) -> None:
        """Let the turnover of the last hour make no fee higher."""
        await self.tx.execute(
            "UPDATE ledger_account SET pace = '{}' WHERE did = $1 AND pace <> '{}'", self.stage.treasury
        )


def _done(answered: Any) -> Any:
    return answered if isinstance(answered, int | str) and not isinstance(answered, bool) else "done"


def numbered(ids: Sequence[Any], by_id: dict[str, Any]) -> list[Any]:
    """The values of these ids, None where there is none."""
    return [by_id.get(str(one)) for one in ids]
