"""A levy, a claim, a payment and movements of points that meet, in many orders of their statements: nothing is levied, owed or paid twice."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.money import Minor, format_amount, parse_amount
from hansa.rooms.exchange.revenue.counting import count_settled
from hansa.rooms.exchange.revenue.levying import levy_or_collect
from hansa.rooms.exchange.revenue.moving import move_points
from hansa.rooms.exchange.revenue.paying import claim, pay_batch
from hansa.rooms.exchange.revenue.records import PointTransfer
from hansa.rooms.exchange.trading.acting import place
from hansa.rooms.exchange.trading.records import NewOrder
from tests.exchange import market
from tests.founded import open_copy
from tests.properties.contract_scene import caller_of
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_some_orders
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestAgent
from tests.revenue import Earning, earning

Play: TypeAlias = Callable[[list[UseCase]], Awaitable[list[Any]]]
ORDERS = by_tier(6, 60, 300)
SHARE = parse_amount("0.008")
"""Levy on four units: a tenth for 1,000 points, of which 20 are held."""


@dataclass
class Scene:
    """A listing with 20 points of one agent and none of another of the same owner, a day of four units that was not levied, and a buyer."""

    at: Earning
    other: TestAgent
    buyer: TestAgent
    caller: Agent

    async def run(self, use_case: UseCase) -> Any:
        return await self.at.market.registry.database.transaction(use_case)

    def levy(self) -> UseCase:
        return lambda tx: levy_or_collect(tx, self.at.ref, self.at.market.registry.runtime)

    def count(self) -> UseCase:
        return lambda tx: count_settled(tx, self.at.market.registry.runtime)

    def claim(self) -> UseCase:
        return lambda tx: claim(tx, self.caller, None, self.at.market.registry.settings)

    def pay(self) -> UseCase:
        return lambda tx: pay_batch(tx, self.at.ref, "", self.at.market.registry.settings)

    def move(self, to: str | None, qty: int) -> UseCase:
        new = PointTransfer(self.at.ref, to, qty)
        return lambda tx: move_points(tx, self.caller, new, self.at.market.registry.settings)

    def sell(self, qty: int) -> UseCase:
        terms = {"time_in_force": "ioc", "digest": bytes(32)}
        new = NewOrder(uuid4(), self.at.ref, "sell", qty, Minor(10**7), **terms)  # type: ignore[arg-type]
        return lambda tx: place(tx, self.caller, new, self.at.market.registry.settings)

    async def owed(self) -> list[int]:
        return [parse_amount(await self.at.owed(one)) for one in (self.at.holder, self.other, self.buyer)]


async def _two_levies(scene: Scene, play: Play) -> None:
    before = len(await scene.at.levies())
    await play([scene.levy(), scene.levy()])
    assert len(await scene.at.levies()) == before + 1
    assert await scene.owed() == [SHARE, 0, 0]


async def _two_counts(scene: Scene, play: Play) -> None:
    await scene.at.pay(await scene.at.agent(), scene.at.treasury, "4")
    await play([scene.count(), scene.count()])
    await scene.run(scene.levy())
    assert (await scene.at.levies())[-1][0] == "8"


async def _a_count_and_a_levy(scene: Scene, play: Play) -> None:
    await scene.at.pay(await scene.at.agent(), scene.at.treasury, "4")
    await play([scene.count(), scene.levy()])
    first = (await scene.at.levies())[-1][0]
    assert first in {"4", "8"}
    await scene.at.market.elapse(scene.at.listing, 1)
    await scene.run(scene.levy())
    assert (await scene.at.levies())[-1][0] == format_amount(parse_amount("8") - parse_amount(first))


async def _a_levy_and_a_claim(scene: Scene, play: Play) -> None:
    _, paid = await play([scene.levy(), scene.claim()])
    assert paid in {0, SHARE}
    assert sum(await scene.owed()) == SHARE - paid


async def _two_claims(scene: Scene, play: Play) -> None:
    await scene.run(scene.levy())
    assert sorted(await play([scene.claim(), scene.claim()])) == [0, SHARE]


async def _a_claim_and_a_daily_payment(scene: Scene, play: Play) -> None:
    await scene.at.pay(await scene.at.agent(), scene.at.treasury, "4")
    await scene.run(scene.count())
    await scene.run(scene.levy())
    before = parse_amount(await scene.at.units(scene.at.holder.did))
    await play([scene.claim(), scene.pay()])
    assert parse_amount(await scene.at.units(scene.at.holder.did)) == before + 2 * SHARE


async def _a_levy_and_a_transfer(scene: Scene, play: Play) -> None:
    await play([scene.levy(), scene.move(scene.other.did, 5)])
    assert await scene.owed() in ([SHARE, 0, 0], [SHARE * 15 // 20, SHARE * 5 // 20, 0])


async def _a_levy_and_a_surrender(scene: Scene, play: Play) -> None:
    await play([scene.levy(), scene.move(None, 4)])
    # Four fifths are due for 16 points.
    assert sum(await scene.owed()) in {SHARE, SHARE * 4 // 5}


async def _a_levy_and_a_trade(scene: Scene, play: Play) -> None:
    order = {"listing": scene.at.ref, "side": "buy", "qty": 5, "order_type": "limit", "price": "0.1"}
    assert (await scene.at.market.post(scene.buyer, "/agora/orders", order)).status_code == 201
    await play([scene.levy(), scene.sell(5)])
    assert await scene.owed() in ([SHARE, 0, 0], [SHARE * 15 // 20, 0, SHARE * 5 // 20])


MEETINGS = {
    "two levies": _two_levies,
    "two counts": _two_counts,
    "a count and a levy": _a_count_and_a_levy,
    "a levy and a claim": _a_levy_and_a_claim,
    "two claims": _two_claims,
    "a claim and a daily payment": _a_claim_and_a_daily_payment,
    "a levy and a transfer": _a_levy_and_a_transfer,
    "a levy and a surrender": _a_levy_and_a_surrender,
    "a levy and a trade": _a_levy_and_a_trade,
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Any, Director]]:
    async with (
        open_copy(
            database_farm,
            tmp_path_factory.mktemp("stage"),
            exchange_enabled=True,
            rate_limit_reads="off",
            genesis_grants_per_hour=1000,
        ) as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        yield await market(registry), director


async def prepared(exchange: Any) -> Scene:
    """A new listing with a day that has yet to be levied."""
    at = await earning(exchange)
    await at.pay(await at.agent(), at.treasury, "4")
    await at.market.elapse(at.listing, 1)
    scene = Scene(
        at, await at.holder_owner.agent(), await at.agent(), await caller_of(exchange.registry, at.holder)
    )
    await scene.run(scene.count())
    return scene


@pytest.mark.parametrize("meeting", MEETINGS)
async def test_two_acts_on_revenue_in_any_order(stage: tuple[Any, Director], meeting: str) -> None:
    exchange, director = stage

    async def played(choose: Choose) -> None:
        scene = await prepared(exchange)
        await MEETINGS[meeting](scene, lambda cases: director.play(cases, choose))
        await scene.at.require_sound()

    await in_some_orders(played, count=ORDERS, seed=printed_seed())
