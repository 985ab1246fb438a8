"""Two acts on one launch that meet, in every order of their statements or in many: units, subscriptions and points agree afterwards."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import ZERO, Minor, parse_amount
from hansa.rooms import ledger
from hansa.rooms.agents import status
from hansa.rooms.exchange import store as listings
from hansa.rooms.exchange.binding import require_unbound
from hansa.rooms.exchange.deciding import delist
from hansa.rooms.exchange.errors import ListingState
from hansa.rooms.exchange.launches import AgentHoldsPoints
from hansa.rooms.exchange.launches.closing import close
from hansa.rooms.exchange.launches.errors import (
    LaunchNotOpen,
    OwnerMaximum,
    SubscriptionEnded,
    SubscriptionExists,
)
from hansa.rooms.exchange.launches.records import NewSubscription
from hansa.rooms.exchange.launches.settling import settle_batch
from hansa.rooms.exchange.launches.subscribing import cancel, subscribe
from hansa.rooms.organizations.founding import NewOrganization, found
from tests.exchange import insert
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
QTY, PRICE = 60, 100
UNITS = parse_amount("0.001")
DONE = "tuple"


@dataclass
class Scene:
    """An open launch of a new organization, and buyers of one developer, who together may have 100 points."""

    registry: TestRegistry
    founder: Developer
    administrator: Developer
    buyers: list[Agent]
    ref: str = ""
    treasury: str = ""
    before: dict[str, Minor] = field(default_factory=dict)

    async def run(self, use_case: UseCase) -> Any:
        return await self.registry.database.transaction(use_case)

    async def prepare(self) -> "Scene":
        new = NewOrganization(f"launching-{next(_numbers)}", "Launching", "", "public")
        made = await self.run(lambda tx: found(tx, self.founder, new, self.registry.settings))
        self.treasury = made.organization.treasury_did
        self.ref = await self.run(lambda tx: insert(tx, str(made.organization.id), "LAUNCHING"))
        book = ledger.Book.of(self.registry.settings)
        for one in self.buyers:
            ref = f"{self.ref} {one.did}"
            given = await self.run(
                lambda tx, did=one.did, ref=ref: ledger.grant(tx, payee=did, amount=UNITS, ref=ref, book=book)
            )
            assert given
        self.before = {one.did: await self.liquid(one.did) for one in self.buyers}
        return self

    async def liquid(self, did: str) -> Minor:
        return (await self.registry.database.read(lambda tx: ledger.balance_of(tx, did))).liquid

    def subscribe(self, who: int = 0, qty: int = QTY) -> UseCase:
        new, runtime = NewSubscription(qty), self.registry.runtime
        return lambda tx: subscribe(tx, self.buyers[who], self.ref, new, runtime)

    def cancel(self) -> UseCase:
        return lambda tx: cancel(tx, self.buyers[0], self.ref, self.registry.runtime)

    def close(self) -> UseCase:
        async def closed(tx: Tx) -> None:
            listing = await listings.lock(tx, self.ref)
            assert listing is not None
            if listing.status == "LAUNCHING" and listing.launched_at is None:
                await close(tx, listing)

        return closed

    def delist(self) -> UseCase:
        return lambda tx: delist(tx, self.administrator, self.ref, "Unsound.")

    def settle(self) -> UseCase:
        return lambda tx: settle_batch(tx, self.ref, self.registry.runtime, 1)

    def end(self) -> UseCase:
        """The agent ends as far as the exchange lets it."""

        async def ended(tx: Tx) -> None:
            did = self.buyers[0].did
            await status.lock_status(tx, did)
            await require_unbound(tx, did)
            await status.suspend(tx, did)

        return ended

    async def state(self) -> tuple[str, list[str], dict[str, int]]:
        """Status of the listing, those of its subscriptions, and the points of each buyer by its place, once every hold has ended."""
        while await self.run(self.settle()):
            pass

        async def read(tx: Tx) -> Any:
            listing = await listings.find(tx, self.ref)
            assert listing is not None
            subscriptions = await tx.fetch(
                "SELECT status FROM exchange_subscription WHERE ref = $1 ORDER BY seq", self.ref
            )
            held = {
                row["agent_did"]: row["qty"]
                for row in await tx.fetch(
                    "SELECT agent_did, qty FROM exchange_holding WHERE ref = $1", self.ref
                )
            }
            assert sum(held.values()) == listing.sold
            return listing.status, [row["status"] for row in subscriptions], held

        shown, statuses, held = await self.registry.database.read(read)
        paid = 0
        for one in self.buyers:
            balance = await self.registry.database.read(lambda tx, did=one.did: ledger.balance_of(tx, did))  # type: ignore[misc]
            points = held.get(one.did, 0)
            assert (balance.liquid, balance.escrow) == (self.before[one.did] - points * PRICE, ZERO)
            paid += points * PRICE
        # 50 basis points of 60 points are 30 minor units.
        assert await self.liquid(self.treasury) == paid - paid // 200
        return (
            shown,
            statuses,
            {str(n): held[one.did] for n, one in enumerate(self.buyers) if one.did in held},
        )


async def _two_of_one(scene: Scene) -> tuple[list[UseCase], Judge]:
    async def judge(outcomes: Outcomes) -> None:
        assert kinds(outcomes) == [SubscriptionExists.__name__, DONE]
        await scene.run(scene.close())
        assert await scene.state() == ("TRADING", ["allocated"], {"0": QTY})

    return [scene.subscribe(), scene.subscribe()], judge


async def _two_of_one_owner(scene: Scene) -> tuple[list[UseCase], Judge]:
    async def judge(outcomes: Outcomes) -> None:
        assert kinds(outcomes) == [OwnerMaximum.__name__, DONE]
        await scene.run(scene.close())
        _, statuses, held = await scene.state()
        assert (statuses, list(held.values())) == (["allocated"], [QTY])

    return [scene.subscribe(0), scene.subscribe(1)], judge


async def _subscription_and_close(scene: Scene) -> tuple[list[UseCase], Judge]:
    await scene.run(scene.subscribe(1, 40))

    async def judge(outcomes: Outcomes) -> None:
        made, closed = outcomes
        assert closed is None
        if isinstance(made, Refused):
            assert isinstance(made, LaunchNotOpen)
            assert await scene.state() == ("TRADING", ["allocated"], {"1": 40})
        else:
            assert await scene.state() == ("TRADING", ["allocated", "allocated"], {"0": QTY, "1": 40})

    return [scene.subscribe(), scene.close()], judge


async def _cancellation_and_close(scene: Scene) -> tuple[list[UseCase], Judge]:
    await scene.run(scene.subscribe())

    async def judge(outcomes: Outcomes) -> None:
        cancelled, closed = outcomes
        assert closed is None
        if isinstance(cancelled, Refused):
            assert isinstance(cancelled, SubscriptionEnded)
            assert await scene.state() == ("TRADING", ["allocated"], {"0": QTY})
        else:
            assert await scene.state() == ("FAILED", ["cancelled"], {})

    return [scene.cancel(), scene.close()], judge


async def _delisting_and_close(scene: Scene) -> tuple[list[UseCase], Judge]:
    await scene.run(scene.subscribe())

    async def judge(outcomes: Outcomes) -> None:
        delisted, closed = outcomes
        assert closed is None
        if isinstance(delisted, Refused):
            assert isinstance(delisted, ListingState)
            assert await scene.state() == ("TRADING", ["allocated"], {"0": QTY})
        else:
            assert await scene.state() == ("DELISTED", ["failed"], {})

    return [scene.delist(), scene.close()], judge


async def _two_closes(scene: Scene) -> tuple[list[UseCase], Judge]:
    await scene.run(scene.subscribe())

    async def judge(outcomes: Outcomes) -> None:
        assert outcomes == [None, None]
        assert await scene.state() == ("TRADING", ["allocated"], {"0": QTY})

    return [scene.close(), scene.close()], judge


async def _two_settlements(scene: Scene) -> tuple[list[UseCase], Judge]:
    await scene.run(scene.subscribe(0, 30))
    await scene.run(scene.subscribe(1, 30))
    await scene.run(scene.close())

    async def judge(outcomes: Outcomes) -> None:
        assert sorted(outcomes) == [False, True]
        assert await scene.state() == ("TRADING", ["allocated", "allocated"], {"0": 30, "1": 30})

    return [scene.settle(), scene.settle()], judge


async def _subscription_and_end(scene: Scene) -> tuple[list[UseCase], Judge]:
    async def judge(outcomes: Outcomes) -> None:
        made, ended = outcomes
        if isinstance(ended, Refused):
            assert isinstance(ended, AgentHoldsPoints)
            assert not isinstance(made, Refused)
        else:
            assert isinstance(made, Refused)

    return [scene.subscribe(), scene.end()], judge


MEETINGS = {
    "an agent has one subscription": _two_of_one,
    "the agents of an owner share its maximum": _two_of_one_owner,
    "a subscription counts in the close or is refused": _subscription_and_close,
    "a cancellation comes before the close or is refused": _cancellation_and_close,
    "a launch is delisted before its close or not at all": _delisting_and_close,
    "a launch closes once": _two_closes,
    "each hold ends once": _two_settlements,
    "an agent subscribes or ends": _subscription_and_end,
}


async def new_scene(registry: TestRegistry) -> Scene:
    founder, administrator = [await person(registry) for _ in range(2)]
    owner = await registry.developer()
    buyers = [await caller_of(registry, await owner.agent()) for _ in range(2)]
    return await Scene(registry, founder, administrator, buyers).prepare()


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[TestRegistry, Director]]:
    async with (
        open_copy(database_farm, tmp_path_factory.mktemp("stage"), exchange_enabled=True) as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        yield registry, director


@pytest.mark.parametrize("name", MEETINGS)
async def test_in_every_order_of_two_acts_on_a_launch_units_subscriptions_and_points_agree(
    name: str, stage: tuple[TestRegistry, Director]
):
    registry, director = stage

    async def play(choose: Choose) -> None:
        sides, judge = await MEETINGS[name](await new_scene(registry))
        await judge(await director.play(sides, choose))

    if EVERY_ORDER:
        assert await in_every_order(play) > 1
    else:
        await in_some_orders(play, count=ORDERS, seed=printed_seed())
    await registry.database.read(prove_book)
