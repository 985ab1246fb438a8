"""A treasury against a model: random payments, approvals, changes of roles and rules have the same ends, and the same units leave."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any
from uuid import UUID

import pytest

from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import units
from hansa.rooms import organizations
from hansa.rooms.organizations import Acting, Demand, Reading, Tier
from hansa.rooms.organizations.founding import NewOrganization, found
from hansa.rooms.organizations.requests import acts as requests
from hansa.rooms.organizations.requests.kinds import kinds_of
from hansa.rooms.treasury import store
from hansa.rooms.treasury.payments.asking import NewPayment, ask_for_payment
from hansa.rooms.treasury.records import Limits
from tests.founded import open_copy
from tests.properties.scale import by_tier, printed_seed
from tests.properties.test_organization_interleavings import person
from tests.registry import DatabaseFarm, TestRegistry

HISTORIES = by_tier(6, 100, 1_000)
ACTS = 40
ADMIN, OWNER = 3, 4
ROLES = {"admin": ADMIN, "owner": OWNER}
_numbers = count(1)


@dataclass
class Asked:
    """A request as the model knows it."""

    amount: int
    initiator: int
    demands: list[tuple[int, str]]
    approvals: set[int] = field(default_factory=set)
    status: str = "PENDING"


@dataclass
class Model:
    """Roles by person, tiers (above, approvals, from) in ascending order, and the sums of the day; amounts in whole units."""

    roles: dict[int, int]
    tiers: list[tuple[int, int, str]] = field(default_factory=list)
    day_max: int | None = None
    spent: int = 0
    unapproved: int = 0
    requests: list[Asked] = field(default_factory=list)

    def demands(self, amount: int) -> list[tuple[int, str]]:
        matching = [(needed, word) for above, needed, word in self.tiers if amount > above]
        if matching:
            return matching[-1:]
        if self.tiers and self.unapproved + amount > self.tiers[0][0]:
            return [self.tiers[0][1:]]
        return []

    def others(self, asked: Asked, word: str) -> set[int]:
        return {who for who, role in self.roles.items() if role >= ROLES[word]} - {asked.initiator}

    def judged(self, asked: Asked) -> str:
        """met, delayed or missing."""
        result = "met"
        for needed, word in {*asked.demands, *self.demands(asked.amount)}:
            eligible = self.others(asked, word)
            given = eligible & asked.approvals
            if len(given) >= needed:
                continue
            if given != eligible:
                return "missing"
            result = "delayed"
        return result

    def executes(self, asked: Asked, *, is_new: bool = False) -> bool:
        if not is_new and self.roles[asked.initiator] < ADMIN:
            return False
        if self.day_max is not None and self.spent + asked.amount > self.day_max:
            return False
        self.spent += asked.amount
        self.unapproved += 0 if asked.demands else asked.amount
        asked.status = "EXECUTED"
        return True

    def pay(self, who: int, amount: int) -> str:
        asked = Asked(amount, who, self.demands(amount))
        if self.roles[who] < ADMIN or (not asked.demands and not self.executes(asked, is_new=True)):
            return "refused"
        self.requests.append(asked)
        return asked.status

    def approve(self, who: int, asked: Asked) -> str:
        words = [word for _, word in (*asked.demands, *self.demands(asked.amount))]
        if asked.status != "PENDING" or not any(who in self.others(asked, word) for word in words):
            return "refused"
        asked.approvals.add(who)
        if self.judged(asked) == "met":
            self.executes(asked)
        return asked.status

    def retry(self, who: int, asked: Asked) -> str:
        is_allowed = who == asked.initiator or self.roles[who] >= ADMIN
        if asked.status != "PENDING" or not is_allowed or self.judged(asked) == "missing":
            return "refused"
        if self.judged(asked) == "delayed":
            return "delayed"
        return asked.status if self.executes(asked) else "refused"

    def end(self, who: int, asked: Asked, act: str) -> str:
        words = [word for _, word in (*asked.demands, *self.demands(asked.amount))]
        may_reject = any(who in self.others(asked, word) for word in words)
        may_cancel = who == asked.initiator or self.roles[who] >= OWNER
        if asked.status != "PENDING" or not (may_reject if act == "reject" else may_cancel):
            return "refused"
        asked.status = "REJECTED" if act == "reject" else "CANCELLED"
        return asked.status


class Played:
    """The same acts at an organization of a registry."""

    def __init__(self, registry: TestRegistry, people: list[Developer], giver: Any, payee: Any) -> None:
        self.registry, self.people, self.giver, self.payee = registry, people, giver, payee
        self.slug = f"modelled-{next(_numbers)}"
        self.ids: list[UUID] = []

    async def run(self, use_case: Any) -> Any:
        return await self.registry.database.transaction(use_case)

    def by(self, who: int) -> Acting:
        return Acting.by(self.registry.runtime, self.people[who])

    async def prepare(self, roles: dict[int, int]) -> None:
        new = NewOrganization(self.slug, "Modelled", "", "private")
        shown = await self.run(lambda tx: found(tx, self.people[0], new, self.registry.settings))
        self.organization = shown.organization
        for who, role in roles.items():
            if who:
                await self.run(lambda tx, who=who, role=role: self._join(tx, who, role))
        given = await self.giver.transfer(self.organization.treasury_did, "99")
        assert given.status_code == 200, given.text

    async def _join(self, tx: Any, who: int, role: int) -> None:
        await tx.execute(
            "INSERT INTO organizations_member (organization_id, developer_id, role) VALUES ($1, $2, $3)"
            " ON CONFLICT (organization_id, developer_id) DO UPDATE SET role = excluded.role",
            self.organization.id,
            self.people[who].id,
            role,
        )

    async def set_role(self, who: int, role: int) -> None:
        await self.run(lambda tx: self._join(tx, who, role))

    async def set_rules(self, tiers: list[tuple[int, int, str]], day_max: int | None) -> None:
        rows = [Tier(units(above), Demand(needed, word), word) for above, needed, word in tiers]
        limits = Limits(None if day_max is None else units(day_max))
        await self.run(lambda tx: organizations.replace_tiers(tx, self.organization.id, rows))
        await self.run(lambda tx: store.put_limits(tx, self.organization.id, limits))

    async def pay(self, who: int, amount: int) -> str:
        new = NewPayment(self.payee.did, units(amount), None, None, None)
        made = await self._ended(lambda tx: ask_for_payment(tx, self.by(who), self.slug, new))
        if isinstance(made, Reading):
            self.ids.append(made.request.id)
            return made.request.status
        return "refused"

    async def act(self, who: int, number: int, name: str) -> str:
        use_case = {
            "approve": requests.approve,
            "retry": requests.retry,
            "cancel": requests.cancel,
            "reject": requests.reject,
        }[name]
        more = {"reason": None} if name == "reject" else {}
        kinds, request_id = kinds_of(self.registry.runtime), self.ids[number]
        made = await self._ended(lambda tx: use_case(tx, self.by(who), kinds, self.slug, request_id, **more))
        if not isinstance(made, Reading):
            is_delayed = type(made).__name__ == "RequestDelayed"
            return "delayed" if is_delayed else "refused"
        is_delayed = name == "retry" and made.request.status == "PENDING"
        return "delayed" if is_delayed else str(made.request.status)

    async def _ended(self, use_case: Any) -> Any:
        try:
            return await self.run(use_case)
        except Refused as refusal:
            return refusal

    async def sums(self) -> tuple[int, int]:
        today = await self.registry.database.query(lambda tx: store.today(tx, self.organization.id))
        assert today.spent % units(1) == today.unapproved % units(1) == 0
        return today.spent // units(1), today.unapproved // units(1)


@pytest.fixture(scope="module")
async def registry(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TestRegistry]:
    async with open_copy(database_farm, tmp_path_factory.mktemp("modelled")) as opened:
        yield opened


def random_tiers(random: Random) -> list[tuple[int, int, str]]:
    above = sorted(random.sample((1, 2, 4), random.randint(0, 2)))
    return [(one, random.randint(1, 3), random.choice(("admin", "owner"))) for one in above]


async def test_random_acts_at_a_treasury_end_as_in_the_model(registry: TestRegistry):
    random = Random(printed_seed())
    for _ in range(HISTORIES):
        people = [await person(registry) for _ in range(5)]
        payee = await registry.agent()
        played = Played(registry, people, await registry.agent(), payee)
        model = Model({0: OWNER, 1: OWNER, 2: ADMIN, 3: ADMIN, 4: 2})
        await played.prepare(model.roles)
        for _ in range(ACTS):
            await _one_act(random, model, played)
        assert await played.sums() == (model.spent, model.unapproved)
        assert await payee.balance() == str(100 + model.spent)
        paid = sum(asked.amount for asked in model.requests if asked.status == "EXECUTED")
        assert paid == model.spent


async def _one_act(random: Random, model: Model, played: Played) -> None:
    who = random.randrange(5)
    kind = random.choice(
        ("pay", "pay", "approve", "approve", "approve", "retry", "cancel", "reject", "role", "rules")
    )
    if kind == "pay" and model.spent < 80:
        amount = random.randint(1, 5)
        done, expected = await played.pay(who, amount), model.pay(who, amount)
        assert done == expected, (kind, who, amount, model)
    elif kind == "role":
        who, role = random.randrange(1, 5), random.choice((2, ADMIN, OWNER))
        model.roles[who] = role
        await played.set_role(who, role)
    elif kind == "rules":
        model.tiers, model.day_max = random_tiers(random), random.choice((None, None, 20, 60))
        await played.set_rules(model.tiers, model.day_max)
    elif model.requests and kind in {"approve", "retry", "cancel", "reject"}:
        number = random.randrange(max(0, len(model.requests) - 4), len(model.requests))
        asked = model.requests[number]
        done = await played.act(who, number, kind)
        if kind == "approve":
            expected = model.approve(who, asked)
        elif kind == "retry":
            expected = model.retry(who, asked)
        else:
            expected = model.end(who, asked, kind)
        assert done == expected, (kind, who, asked, model)
