"""Two acts on one work order that meet, in every order of their statements or in many: units, bids and contract agree afterwards."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeAlias
from uuid import UUID

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import commerce, ledger, organizations
from hansa.rooms.enforcement.suspend import suspend_each
from hansa.rooms.organizations.founding import NewOrganization, found
from hansa.rooms.organizations.invitations import acts as invitations
from hansa.rooms.treasury.work_orders import gaps
from hansa.rooms.treasury.work_orders.awarding import ask_for_award
from hansa.rooms.treasury.work_orders.bidding import bid, withdraw
from hansa.rooms.treasury.work_orders.ending import cancel, expire
from hansa.rooms.treasury.work_orders.errors import BidEnded, BidExists, WorkOrderNotOpen
from hansa.rooms.treasury.work_orders.opening import open_order
from hansa.rooms.treasury.work_orders.records import Bid, NewBid, NewWorkOrder, ShownOrder
from tests.founded import open_copy
from tests.properties.contract_scene import caller_of
from tests.properties.interleaving import (
    Choose,
    Director,
    UseCase,
    directing,
    in_every_order,
    in_some_orders,
)
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier, printed_seed
from tests.properties.test_organization_interleavings import kinds, person
from tests.registry import DatabaseFarm, TestRegistry

Outcomes: TypeAlias = list[Any]
Judge: TypeAlias = Callable[[Outcomes], Awaitable[None]]
_numbers = count(1)

EVERY_ORDER = by_tier(False, True, True)
ORDERS = by_tier(8, 100, 1_000)
AMOUNT, FEE, PRICE = parse_amount("10"), parse_amount("0.05"), parse_amount("8")
HOLDING = parse_amount("50")


@dataclass
class Scene:
    """An open work order of a new organization, and bidders of one developer."""

    registry: TestRegistry
    founder: Developer
    admin: Developer
    bidding: Developer
    bidders: list[Agent]
    slug: str = ""
    treasury: str = ""
    order: Any = None
    bids: list[Bid] = field(default_factory=list)

    @property
    def settings(self) -> Any:
        return self.registry.settings

    @property
    def order_id(self) -> UUID:
        found_id: UUID = self.order.order.id
        return found_id

    async def run(self, use_case: UseCase) -> Any:
        return await self.registry.database.transaction(use_case)

    async def prepare(self) -> "Scene":
        self.slug = f"offering-{next(_numbers)}"
        new = NewOrganization(self.slug, "Offering", "", "private")
        made = await self.run(lambda tx: found(tx, self.founder, new, self.settings))
        self.treasury = made.organization.treasury_did
        await self.execute(
            "INSERT INTO organizations_member (organization_id, developer_id, role) VALUES ($1, $2, 3)",
            made.organization.id,
            self.admin.id,
        )
        await self.grant(HOLDING)
        self.order = await self.run(self.open())
        return self

    async def grant(self, amount: Minor) -> None:
        book = ledger.Book.of(self.settings)
        ref = f"grant {self.slug} {next(_numbers)}"
        paid = await self.run(
            lambda tx: ledger.grant(tx, payee=self.treasury, amount=amount, ref=ref, book=book)
        )
        assert paid

    async def execute(self, statement: str, *values: object) -> None:
        await self.run(lambda tx: tx.execute(statement, *values))

    def open(self, amount: Minor = AMOUNT) -> UseCase:
        new = NewWorkOrder(
            title="Work",
            spec="Work.",
            acceptance_criteria="Done.",
            amount=amount,
            milestones=(),
            skills=(),
            bids_until=datetime.now(UTC) + timedelta(days=1),
            submit_days=2,
            review_days=2,
            auto_approve=False,
        )
        return lambda tx: open_order(tx, self.founder, self.slug, new, self.registry.runtime)

    def bid(self, who: int = 0) -> UseCase:
        return lambda tx: bid(
            tx,
            self.bidders[who],
            self.order_id,
            NewBid(PRICE, 60, ""),
            settings=self.settings,
            bond_admits=_admits,
        )

    async def with_bids(self, how_many: int = 1) -> "Scene":
        self.bids = [await self.run(self.bid(who)) for who in range(how_many)]
        return self

    def award(self, number: int = 0, by: Developer | None = None) -> UseCase:
        return lambda tx: ask_for_award(
            tx, self._acting(by or self.founder), self.slug, self.order_id, self.bids[number].id
        )

    def _acting(self, who: Developer) -> organizations.Acting:
        return organizations.Acting(self.registry.runtime, organizations.Actor(who.id, who.session))

    def cancel(self) -> UseCase:
        return lambda tx: cancel(tx, self.admin, self.slug, self.order_id, self.settings)

    def expire(self) -> UseCase:
        return lambda tx: expire(tx, self.order_id, self.settings)

    def withdraw(self) -> UseCase:
        return lambda tx: withdraw(tx, self.bidders[0], self.order_id, self.bids[0].id)

    async def end_time(self) -> None:
        """The time of the order has passed."""
        await self.execute(
            "UPDATE treasury_work_order SET bids_until = bids_until - interval '20 days',"
            " expires_at = expires_at - interval '20 days' WHERE id = $1",
            self.order_id,
        )

    async def state(self) -> tuple[str, list[str], int, tuple[int, int]]:
        """Status of the order, statuses of its bids, number of contracts of the treasury, and its units."""

        async def read(tx: Tx) -> Any:
            status, counted = await tx.fetchrow(
                "SELECT status, bid_count FROM treasury_work_order WHERE id = $1", self.order_id
            )
            bids = [
                row["status"]
                for row in await tx.fetch(
                    "SELECT status FROM treasury_work_bid WHERE work_order_id = $1 ORDER BY created_at, id",
                    self.order_id,
                )
            ]
            assert counted == sum(one != "withdrawn" for one in bids)
            contracts = await tx.fetchval(
                "SELECT count(*) FROM commerce_contract WHERE contractor_did = $1", self.treasury
            )
            held = await ledger.balance_of(tx, self.treasury)
            assert await gaps(tx) == []
            return status, bids, contracts, (held.liquid, held.escrow)

        return await self.registry.database.read(read)


FREE = (HOLDING, 0)
HELD = (HOLDING - AMOUNT - FEE, AMOUNT + FEE)
PAID = (HOLDING - PRICE - parse_amount("0.04"), PRICE + parse_amount("0.04"))
READING, SHOWN = organizations.Reading.__name__, ShownOrder.__name__
NOT_OPEN = WorkOrderNotOpen.__name__


async def _admits(*_: object) -> bool:
    return True


async def _two_awards(scene: Scene) -> tuple[list[UseCase], Judge]:
    await scene.with_bids(2)

    async def judge(outcomes: Outcomes) -> None:
        assert kinds(outcomes) == [READING, NOT_OPEN]
        status, bids, contracts, units = await scene.state()
        assert (status, sorted(bids), contracts, units) == ("AWARDED", ["lost", "won"], 1, PAID)

    return [scene.award(0), scene.award(1, scene.admin)], judge


async def _one_award_twice(scene: Scene) -> tuple[list[UseCase], Judge]:
    await scene.with_bids()

    async def judge(outcomes: Outcomes) -> None:
        assert kinds(outcomes) == [READING, NOT_OPEN]
        assert await scene.state() == ("AWARDED", ["won"], 1, PAID)

    return [scene.award(), scene.award()], judge


async def _award_and_cancel(scene: Scene) -> tuple[list[UseCase], Judge]:
    await scene.with_bids()

    async def judge(outcomes: Outcomes) -> None:
        awarded, cancelled = (type(one).__name__ for one in outcomes)
        expected = ("AWARDED", ["won"], 1, PAID) if awarded == READING else ("CANCELLED", ["lost"], 0, FREE)
        assert {awarded, cancelled} in ({READING, NOT_OPEN}, {NOT_OPEN, SHOWN})
        assert await scene.state() == expected

    return [scene.award(), scene.cancel()], judge


async def _award_and_expiry(scene: Scene) -> tuple[list[UseCase], Judge]:
    await scene.with_bids()
    await scene.end_time()

    async def judge(outcomes: Outcomes) -> None:
        assert [type(one).__name__ for one in outcomes] == [NOT_OPEN, "NoneType"]
        assert await scene.state() == ("EXPIRED", ["lost"], 0, FREE)

    return [scene.award(), scene.expire()], judge


async def _cancel_and_expiry(scene: Scene) -> tuple[list[UseCase], Judge]:
    await scene.with_bids()
    await scene.end_time()

    async def judge(outcomes: Outcomes) -> None:
        assert [type(one).__name__ for one in outcomes] == [NOT_OPEN, "NoneType"]
        assert await scene.state() == ("EXPIRED", ["lost"], 0, FREE)

    return [scene.cancel(), scene.expire()], judge


async def _award_and_withdrawal(scene: Scene) -> tuple[list[UseCase], Judge]:
    await scene.with_bids()

    async def judge(outcomes: Outcomes) -> None:
        awarded, withdrawn = outcomes
        if isinstance(awarded, organizations.Reading):
            assert isinstance(withdrawn, WorkOrderNotOpen)
            assert await scene.state() == ("AWARDED", ["won"], 1, PAID)
        else:
            assert isinstance(awarded, BidEnded)
            assert withdrawn is None
            assert await scene.state() == ("OPEN", ["withdrawn"], 0, HELD)

    return [scene.award(), scene.withdraw()], judge


async def _award_and_membership(scene: Scene) -> tuple[list[UseCase], Judge]:
    await scene.with_bids()
    token = f"oit_work_{next(_numbers)}"
    await scene.execute(
        "INSERT INTO organizations_invitation (id, organization_id, email, role, token_sha256, invited_by, expires_at)"
        " SELECT gen_random_uuid(), id, $2, 1, sha256(convert_to($3, 'UTF8')), $4, now() + interval '1 day'"
        " FROM organizations_organization WHERE slug = $1",
        scene.slug,
        scene.bidding.email,
        token,
        scene.founder.id,
    )

    async def judge(outcomes: Outcomes) -> None:
        awarded, joined = outcomes
        assert not isinstance(joined, Refused), joined
        if isinstance(awarded, organizations.Reading):
            assert await scene.state() == ("AWARDED", ["won"], 1, PAID)
        else:
            assert isinstance(awarded, commerce.RelatedParty)
            assert await scene.state() == ("OPEN", ["live"], 0, HELD)

    return [scene.award(), lambda tx: invitations.accept(tx, scene.bidding, token)], judge


async def _award_and_suspension(scene: Scene) -> tuple[list[UseCase], Judge]:
    await scene.with_bids()
    did = scene.bidders[0].did

    async def suspend(tx: Tx) -> Any:
        return await suspend_each(tx, [did], scene.admin, basis="agent", reason="Spam.", soft=False)

    async def judge(outcomes: Outcomes) -> None:
        awarded, suspended = outcomes
        assert not isinstance(suspended, Exception), suspended
        if isinstance(awarded, organizations.Reading):
            assert await scene.state() == ("AWARDED", ["won"], 1, PAID)
        else:
            assert isinstance(awarded, Refused)
            assert await scene.state() == ("OPEN", ["live"], 0, HELD)

    return [scene.award(), suspend], judge


async def _two_bids_of_one(scene: Scene) -> tuple[list[UseCase], Judge]:
    async def judge(outcomes: Outcomes) -> None:
        assert kinds(outcomes) == [Bid.__name__, BidExists.__name__]
        assert await scene.state() == ("OPEN", ["live"], 0, HELD)

    return [scene.bid(), scene.bid()], judge


async def _bid_and_cancel(scene: Scene) -> tuple[list[UseCase], Judge]:
    async def judge(outcomes: Outcomes) -> None:
        made, cancelled = outcomes
        assert isinstance(cancelled, ShownOrder)
        has_bid = isinstance(made, Bid)
        assert has_bid or isinstance(made, WorkOrderNotOpen)
        assert await scene.state() == ("CANCELLED", ["lost"] if has_bid else [], 0, FREE)

    return [scene.bid(), scene.cancel()], judge


async def _two_orders_for_the_units_of_one(scene: Scene) -> tuple[list[UseCase], Judge]:
    amount = parse_amount("30")

    async def judge(outcomes: Outcomes) -> None:
        assert kinds(outcomes) == [ledger.InsufficientBalance.__name__, SHOWN]
        _, _, _, (liquid, escrow) = await scene.state()
        assert (liquid + escrow, escrow) == (HOLDING, HELD[1] + amount + parse_amount("0.15"))

    return [scene.open(amount), scene.open(amount)], judge


MEETINGS = {
    "of two awards one makes a contract": _two_awards,
    "an award twice makes one contract": _one_award_twice,
    "an award or a cancellation": _award_and_cancel,
    "an expired order is not awarded": _award_and_expiry,
    "an expired order is not cancelled": _cancel_and_expiry,
    "an award or a withdrawal": _award_and_withdrawal,
    "an award before its bidder is related or not at all": _award_and_membership,
    "an award before its bidder is suspended or not at all": _award_and_suspension,
    "an agent has one live bid": _two_bids_of_one,
    "a bid on a cancelled order is lost or refused": _bid_and_cancel,
    "units are held once": _two_orders_for_the_units_of_one,
}


# The two sides wait for each other late, so that their statements have hundreds of thousands of orders.
MANY_ORDERS = {"an award before its bidder is suspended or not at all"}


async def new_scene(registry: TestRegistry) -> Scene:
    """An organization with an order, a second admin, and two agents of a developer who is no member."""
    founder, admin = [await person(registry) for _ in range(2)]
    owner = await registry.developer()
    bidders = [await caller_of(registry, await owner.agent()) for _ in range(2)]
    bidding = Developer(bidders[0].developer_id, owner.email, "session", True, frozenset(), False)
    return await Scene(registry, founder, admin, bidding, bidders).prepare()


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
async def test_in_every_order_of_two_acts_on_a_work_order_units_bids_and_contract_agree(
    name: str, stage: tuple[TestRegistry, Director]
):
    registry, director = stage

    async def play(choose: Choose) -> None:
        sides, judge = await MEETINGS[name](await new_scene(registry))
        await judge(await director.play(sides, choose))

    if EVERY_ORDER and name not in MANY_ORDERS:
        assert await in_every_order(play) > 1
    else:
        await in_some_orders(play, count=ORDERS, seed=printed_seed())
    await registry.database.read(prove_book)
