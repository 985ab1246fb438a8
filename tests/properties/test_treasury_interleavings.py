"""Acts at one treasury that meet, in many orders of their statements: double execution, edges of sums and budgets, leavers, changed rules."""

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from typing import Any, TypeAlias

import pytest

from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, units
from hansa.rooms import organizations
from hansa.rooms.organizations import Acting, Demand, Reading, Tier
from hansa.rooms.organizations import errors as organization_errors
from hansa.rooms.organizations.founding import NewOrganization, found
from hansa.rooms.organizations.members.acts import change_member
from hansa.rooms.organizations.records import Changed
from hansa.rooms.organizations.requests import acts as requests
from hansa.rooms.organizations.requests.kinds import kinds_of
from hansa.rooms.treasury import store
from hansa.rooms.treasury.control.ruling import put_rules
from hansa.rooms.treasury.draws import Drawn, draw
from hansa.rooms.treasury.errors import BudgetExceeded, TreasuryDayLimit
from hansa.rooms.treasury.payments.asking import NewPayment, ask_for_payment
from hansa.rooms.treasury.records import Limits, NewBudget
from tests.founded import open_copy
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_some_orders
from tests.properties.scale import by_tier, printed_seed
from tests.properties.test_organization_interleavings import person
from tests.registry import DatabaseFarm, TestRegistry

ORDERS = by_tier(12, 200, 2_000)
HELD = units(90)
Outcomes: TypeAlias = list[Any]
Meeting: TypeAlias = tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]
_numbers = count(1)


class Scene:
    """A funded organization with two owners and two admins, and one tier: above 10 one owner approves."""

    def __init__(self, registry: TestRegistry, people: list[Developer], giver: Any, payee: Any) -> None:
        self.registry = registry
        self.founder, self.second, self.admin, self.other = people
        self.giver, self.payee = giver, payee
        self.slug = f"counting-{next(_numbers)}"
        self.organization: Any = None

    async def run(self, use_case: UseCase) -> Any:
        return await self.registry.database.transaction(use_case)

    def by(self, who: Developer) -> Acting:
        return Acting.by(self.registry.runtime, who)

    async def prepare(self, *, approvals: int = 1, approvers: str = "owner", **limits: Any) -> "Scene":
        new = NewOrganization(self.slug, "Counting", "", "private")
        shown = await self.run(lambda tx: found(tx, self.founder, new, self.registry.settings))
        self.organization = shown.organization
        for one, role in ((self.second, 4), (self.admin, 3), (self.other, 3)):
            await self.run(lambda tx, one=one, role=role: self._join(tx, one, role))
        tier = Tier(units(10), Demand(approvals, approvers), approvers)
        await self.run(lambda tx: organizations.replace_tiers(tx, self.organization.id, [tier]))
        await self.run(lambda tx: store.put_limits(tx, self.organization.id, Limits(**limits)))
        given = await self.giver.transfer(self.organization.treasury_did, "90")
        assert given.status_code == 200, given.text
        self.paid_before = await self.payee.balance()
        return self

    async def _join(self, tx: Any, who: Developer, role: int) -> None:
        await tx.execute(
            "INSERT INTO organizations_member (organization_id, developer_id, role) VALUES ($1, $2, $3)",
            self.organization.id,
            who.id,
            role,
        )

    def pay(self, amount: int, who: Developer | None = None) -> UseCase:
        new = NewPayment(self.payee.did, units(amount), None, None, None)
        return lambda tx: ask_for_payment(tx, self.by(who or self.admin), self.slug, new)

    def approve(self, who: Developer, asked: Reading) -> UseCase:
        kinds = kinds_of(self.registry.runtime)
        return lambda tx: requests.approve(tx, self.by(who), kinds, self.slug, asked.request.id)

    def retry(self, who: Developer, asked: Reading) -> UseCase:
        kinds = kinds_of(self.registry.runtime)
        return lambda tx: requests.retry(tx, self.by(who), kinds, self.slug, asked.request.id)

    def cancel(self, who: Developer, asked: Reading) -> UseCase:
        kinds = kinds_of(self.registry.runtime)
        return lambda tx: requests.cancel(tx, self.by(who), kinds, self.slug, asked.request.id)

    def rule(self, **stated: Any) -> UseCase:
        given = {
            "tiers": [],
            "per_day_max": None,
            "unapproved_per_day_max": None,
            "allowlist": None,
            **stated,
        }
        return lambda tx: put_rules(tx, self.by(self.founder), self.slug, given)

    async def paid(self) -> float:
        """Units that the payee received in this scene."""
        return float(await self.payee.balance()) - float(self.paid_before)

    async def status_of(self, asked: Reading) -> str:
        found_request = await self.registry.database.query(
            lambda tx: tx.fetchval("SELECT status FROM organizations_request WHERE id = $1", asked.request.id)
        )
        return str(found_request)


def statuses(outcomes: Outcomes) -> list[str]:
    """The status of each request, or the name of the refusal."""
    return sorted(one.request.status if isinstance(one, Reading) else type(one).__name__ for one in outcomes)


ONE_OWNER = {"over": "10", "approvals": 1, "from": "owner"}


async def _approved_twice(scene: Scene) -> Meeting:
    asked = await (await scene.prepare()).run(scene.pay(20))

    async def judge(outcomes: Outcomes) -> None:
        assert statuses(outcomes) == ["EXECUTED", organization_errors.RequestEnded.__name__]
        assert await scene.paid() == 20

    return [scene.approve(scene.founder, asked), scene.approve(scene.second, asked)], judge


async def _last_two_approvals(scene: Scene) -> Meeting:
    asked = await (await scene.prepare(approvals=2)).run(scene.pay(20))

    async def judge(outcomes: Outcomes) -> None:
        assert statuses(outcomes) == ["EXECUTED", "PENDING"]
        assert await scene.paid() == 20

    return [scene.approve(scene.founder, asked), scene.approve(scene.second, asked)], judge


async def _retried_twice(scene: Scene) -> Meeting:
    await scene.prepare(per_day_max=units(1))
    asked = await scene.run(scene.pay(20))
    assert (await scene.run(scene.approve(scene.founder, asked))).request.status == "PENDING"
    await scene.run(lambda tx: store.put_limits(tx, scene.organization.id, Limits()))

    async def judge(outcomes: Outcomes) -> None:
        assert statuses(outcomes) == ["EXECUTED", organization_errors.RequestEnded.__name__]
        assert await scene.paid() == 20

    return [scene.retry(scene.admin, asked), scene.retry(scene.founder, asked)], judge


async def _approved_and_cancelled(scene: Scene) -> Meeting:
    asked = await (await scene.prepare()).run(scene.pay(20))

    async def judge(outcomes: Outcomes) -> None:
        status = await scene.status_of(asked)
        assert statuses(outcomes) == sorted([status, organization_errors.RequestEnded.__name__])
        assert await scene.paid() == (20 if status == "EXECUTED" else 0)

    return [scene.approve(scene.founder, asked), scene.cancel(scene.admin, asked)], judge


async def _sum_without_approvals(scene: Scene) -> Meeting:
    await scene.prepare()

    async def judge(outcomes: Outcomes) -> None:
        assert statuses(outcomes) == ["EXECUTED", "PENDING"]
        assert await scene.paid() == 6

    return [scene.pay(6), scene.pay(6, scene.other)], judge


async def _maximum_of_the_day(scene: Scene) -> Meeting:
    await scene.prepare(per_day_max=units(7), unapproved_per_day_max=units(50))

    async def judge(outcomes: Outcomes) -> None:
        assert statuses(outcomes) == ["EXECUTED", TreasuryDayLimit.__name__]
        assert await scene.paid() == 6

    return [scene.pay(6), scene.pay(6, scene.other)], judge


async def _draws_at_the_edge(scene: Scene) -> Meeting:
    await scene.prepare()
    await scene.run(
        lambda tx: tx.execute(
            "UPDATE agents_agent SET organization_id = $1 WHERE did = $2",
            scene.organization.id,
            scene.payee.did,
        )
    )
    budget = NewBudget("Calls", Minor(units(20)), "month", agent_did=scene.payee.did)
    await scene.run(
        lambda tx: tx.execute("UPDATE treasury_budget SET deleted_at = now() WHERE deleted_at IS NULL")
    )
    await scene.run(lambda tx: store.insert_budget(tx, scene.organization.id, budget))
    agent = Agent(
        scene.payee.did, scene.founder.id, (), frozenset(), False, organization_id=scene.organization.id
    )

    def drawing(tx: Any) -> Awaitable[Any]:
        return draw(tx, agent, Minor(units(15)), scene.registry.runtime)

    async def judge(outcomes: Outcomes) -> None:
        assert sorted(type(one).__name__ for one in outcomes) == [BudgetExceeded.__name__, Drawn.__name__]
        assert await scene.paid() == 15

    return [drawing, drawing], judge


async def _leaver_approves(scene: Scene) -> Meeting:
    asked = await (await scene.prepare(approvers="admin")).run(scene.pay(20))

    def leave(tx: Any) -> Awaitable[Any]:
        return change_member(tx, scene.by(scene.founder), scene.slug, scene.other.id, None)

    async def judge(outcomes: Outcomes) -> None:
        approved, left = outcomes
        assert isinstance(left, Changed)
        is_paid = isinstance(approved, Reading)
        assert is_paid or isinstance(approved, organization_errors.OrganizationUnknown)
        assert await scene.paid() == (20 if is_paid else 0)

    return [scene.approve(scene.other, asked), leave], judge


async def _first_approver_leaves(scene: Scene) -> Meeting:
    """One of two approvals is of a member who leaves while the second one is given."""
    await scene.prepare(approvals=2, approvers="admin")
    asked = await scene.run(scene.pay(20))
    assert (await scene.run(scene.approve(scene.other, asked))).request.status == "PENDING"

    def leave(tx: Any) -> Awaitable[Any]:
        return change_member(tx, scene.by(scene.founder), scene.slug, scene.other.id, None)

    async def judge(outcomes: Outcomes) -> None:
        approved, _ = outcomes
        assert isinstance(approved, Reading)
        status = await scene.status_of(asked)
        assert await scene.paid() == (20 if status == "EXECUTED" else 0)
        # The second approval counts the first one before its author leaves, or not at all.
        assert approved.request.status == status

    return [scene.approve(scene.second, asked), leave], judge


async def _rules_change_while_an_owner_approves(scene: Scene) -> Meeting:
    asked = await (await scene.prepare()).run(scene.pay(20))
    stricter = scene.rule(tiers=[{**ONE_OWNER, "approvals": 2}])

    async def judge(outcomes: Outcomes) -> None:
        approved, written = outcomes
        assert not isinstance(approved, Refused)
        assert not isinstance(written, Refused)
        assert await scene.paid() == (20 if approved.request.status == "EXECUTED" else 0)
        assert approved.request.status in {"EXECUTED", "PENDING"}

    return [scene.approve(scene.second, asked), stricter], judge


async def _maximum_falls_while_an_owner_approves(scene: Scene) -> Meeting:
    asked = await (await scene.prepare()).run(scene.pay(20))
    stricter = scene.rule(tiers=[ONE_OWNER], per_day_max="5")

    async def judge(outcomes: Outcomes) -> None:
        approved, _ = outcomes
        is_paid = approved.request.status == "EXECUTED"
        assert await scene.paid() == (20 if is_paid else 0)
        assert is_paid or "daily limit" in approved.request.reason

    return [scene.approve(scene.founder, asked), stricter], judge


MEETINGS = {
    "two approvals of which one is enough pay once": _approved_twice,
    "the last two approvals pay once": _last_two_approvals,
    "two retries pay once": _retried_twice,
    "an approval and a cancellation have one end": _approved_and_cancelled,
    "payments below a tier stay within the sum of the day": _sum_without_approvals,
    "payments stay within the maximum of the day": _maximum_of_the_day,
    "draws stay within the budget": _draws_at_the_edge,
    "a leaver approves before the end or not at all": _leaver_approves,
    "an approval of a leaver does not count": _first_approver_leaves,
    "stricter rules bind or come after": _rules_change_while_an_owner_approves,
    "a lower maximum binds or comes after": _maximum_falls_while_an_owner_approves,
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[TestRegistry, Director]]:
    async with (
        open_copy(database_farm, tmp_path_factory.mktemp("stage")) as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        yield registry, director


@pytest.mark.parametrize("name", MEETINGS)
async def test_however_acts_at_a_treasury_meet_units_leave_by_the_rules(
    name: str, stage: tuple[TestRegistry, Director]
):
    registry, director = stage

    async def play(choose: Choose) -> None:
        people = [await person(registry) for _ in range(4)]
        scene = Scene(registry, people, await registry.agent(), await registry.agent())
        sides, judge = await MEETINGS[name](scene)
        await judge(await director.play(sides, choose))

    await in_some_orders(play, count=ORDERS, seed=printed_seed())
