"""Acts at the exchange, as rows of the table of acts whose statements fail: orders, launches, levies and what holders are paid."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from hansa.rooms.exchange import store as listings
from hansa.rooms.exchange.launches.closing import close
from hansa.rooms.exchange.launches.settling import settle_batch
from hansa.rooms.exchange.revenue import COUNT_REVENUE
from hansa.rooms.exchange.revenue.counting import count_settled
from hansa.rooms.exchange.revenue.levying import levy_or_collect
from hansa.rooms.exchange.revenue.paying import pay_batch
from hansa.rooms.exchange.trading.ending import end_of_agent, expire_due
from tests.exchange import market
from tests.faults.unchanged import (
    FEW_CONNECTIONS,
    Asking,
    FailingAct,
    FailingActs,
    FaultStage,
    fault_stage,
    status_of,
    status_of_work,
)
from tests.founded import RegistriesOfATest, founded_by
from tests.registry import DatabaseFarm, TestAgent
from tests.revenue import Earning, earning
from tests.running_jobs import run_scheduled_transactions
from tests.trading import Floor

MINUTE = 60


@dataclass(frozen=True)
class World:
    """A listing that trades, of an organization that earns."""

    at: Earning
    floor: Floor

    async def trader(self) -> TestAgent:
        return await self.floor.agent()

    async def resting(self, **more: Any) -> tuple[TestAgent, Any]:
        """A buy that rests below every sell."""
        buyer = await self.trader()
        return buyer, await self.floor.order(buyer, "buy", 2, "0.5", **more)

    def placing(self, agent: TestAgent, side: str, price: str, **more: Any) -> Asking:
        key = str(uuid4())
        return status_of(lambda: self.floor.try_order(agent, side, 1, price, key, **more))

    def work(self, act: Any) -> Asking:
        return status_of_work(self.at.market.registry, act)

    async def launching(self) -> Any:
        """A listing whose launch is open, with one subscription."""
        launching = await self.at.market.launching()
        bought = await self.at.market.buy(await self.trader(), launching, 10)
        assert bought.status_code == 201, bought.text
        return launching

    async def earned(self, amount: str, *, is_counted: bool = True) -> None:
        """A customer has paid the treasury, and the day has ended."""
        await self.at.pay(await self.trader(), self.at.treasury, amount)
        await self.at.market.elapse(self.at.listing, 1)
        if is_counted:
            await run_scheduled_transactions(self.at.market.registry.runtime, COUNT_REVENUE)

    async def owed(self) -> None:
        """The revenue of the day is distributed, and not yet paid: too little for a payment of its own accord."""
        await self.earned("4")
        await self._levied()

    async def _levied(self) -> None:
        runtime = self.at.market.registry.runtime
        await self.at.market.registry.database.transaction(
            lambda tx: levy_or_collect(tx, self.at.ref, runtime)
        )

    @property
    def levying(self) -> Asking:
        return self.work(lambda tx: levy_or_collect(tx, self.at.ref, self.at.market.registry.runtime))


async def _rest(world: World) -> Asking:
    return world.placing(await world.trader(), "buy", "0.5")


async def _buy(world: World) -> Asking:
    await world.floor.order(world.at.holder, "sell", 1, "3")
    return world.placing(await world.trader(), "buy", "3")


async def _sell(world: World) -> Asking:
    await world.floor.order(await world.trader(), "buy", 1, "2")
    return world.placing(world.at.holder, "sell", "2")


async def _buy_governed(world: World) -> Asking:
    """Two points of a day's budget and of an approval by the owner, which a failed buy leaves as they were."""
    await world.floor.order(world.at.holder, "sell", 2, "3")
    buyer = await world.trader()
    await world.floor.govern(buyer, per_day_max="6", approval_over="5")
    asked = await world.floor.try_order(buyer, "buy", 2, "3")
    approval_id = asked.json()["error"]["context"]["approval_id"]
    await world.floor.approve(buyer, approval_id)
    key = str(uuid4())
    return status_of(lambda: world.floor.try_order(buyer, "buy", 2, "3", key, approval_id=approval_id))


async def _replace(world: World) -> Asking:
    buyer, order = await world.resting()
    return world.placing(buyer, "buy", "0.4", replaces=order["order_id"])


async def _cancel(world: World) -> Asking:
    buyer, order = await world.resting()
    return status_of(lambda: world.floor.cancel(buyer, order))


async def _expire(world: World) -> Asking:
    await world.resting(ttl_seconds=MINUTE)
    await world.floor.make_due()
    settings = world.at.market.registry.settings

    async def expire(tx: Any) -> None:
        await expire_due(tx, await listings.lock(tx, world.at.ref), settings)

    return world.work(expire)


async def _end_of_agent(world: World) -> Asking:
    buyer, _ = await world.resting()
    settings = world.at.market.registry.settings
    return world.work(lambda tx: end_of_agent(tx, buyer.did, world.at.ref, settings))


async def _subscribe(world: World) -> Asking:
    launching, buyer, key = await world.launching(), await world.trader(), str(uuid4())
    return status_of(lambda: world.at.market.buy(buyer, launching, 10, key))


async def _close(world: World) -> Asking:
    launching = await world.launching()

    async def close_open(tx: Any) -> None:
        listing = await listings.lock(tx, launching["ref"])
        if not listing.sold:
            await close(tx, listing)

    return world.work(close_open)


async def _settle(world: World) -> Asking:
    launching, runtime = await world.launching(), world.at.market.registry.runtime
    database = world.at.market.registry.database

    async def close_launch(tx: Any) -> None:
        await close(tx, await listings.lock(tx, launching["ref"]))

    await database.transaction(close_launch)
    return world.work(lambda tx: settle_batch(tx, launching["ref"], runtime))


async def _count(world: World) -> Asking:
    await world.earned("1", is_counted=False)
    return world.work(lambda tx: count_settled(tx, world.at.market.registry.runtime))


async def _levy(world: World) -> Asking:
    await world.earned("50")
    return world.levying


async def _collect(world: World) -> Asking:
    """Arrears wait, and the treasury has some of what they are."""
    customer = await world.trader()
    await world.at.empty()
    await world.at.pay(customer, world.at.own.did, "50")
    await world.at.empty()
    await world.at.next_day()
    await world.at.pay(customer, world.at.treasury, "0.01")
    return world.levying


async def _pay(world: World) -> Asking:
    await world.earned("50")
    assert await world.levying() == 200
    settings = world.at.market.registry.settings
    return world.work(lambda tx: pay_batch(tx, world.at.ref, "", settings))


async def _claim(world: World) -> Asking:
    await world.owed()
    key = str(uuid4())
    return status_of(lambda: world.at.claim(world.at.holder, key=key))


async def _transfer(world: World) -> Asking:
    await world.owed()
    other, key = await world.at.holder_owner.agent(), str(uuid4())
    body = {"to": other.did, "ref": world.at.ref, "qty": 1}
    return status_of(lambda: world.at.market.post(world.at.holder, "/agora/points/transfer", body, key))


async def _give_up(world: World) -> Asking:
    await world.owed()
    body, key = {"to": None, "ref": world.at.ref, "qty": 1}, str(uuid4())
    return status_of(lambda: world.at.market.post(world.at.holder, "/agora/points/transfer", body, key))


ACTS: dict[str, FailingAct[World]] = {
    "place an order that rests": (_rest, {201}),
    "buy from the book": (_buy, {201}),
    "buy with the owner's approval": (_buy_governed, {201}),
    "sell to the book": (_sell, {201}),
    "replace an order": (_replace, {201}),
    "cancel an order": (_cancel, {409}),
    "end an order at its time": (_expire, {200}),
    "end the orders of an agent": (_end_of_agent, {200}),
    "subscribe to a launch": (_subscribe, {201}),
    "close a launch": (_close, {200}),
    "settle a launch": (_settle, {200}),
    "count revenue": (_count, {200}),
    "levy a day": (_levy, {200}),
    "collect arrears": (_collect, {200}),
    "pay distributions": (_pay, {200}),
    "claim": (_claim, {200}),
    "transfer points": (_transfer, {200}),
    "give points up": (_give_up, {200}),
}


@asynccontextmanager
async def _open_stage(farm: DatabaseFarm, directory: Path) -> AsyncIterator[FaultStage[World]]:
    registries = RegistriesOfATest(farm, founded_by(farm), directory)
    registry = await registries.start(
        **FEW_CONNECTIONS,
        rate_limit_reads="off",
        exchange_enabled=True,
        genesis_grants_per_hour=1000,
        genesis_grant_amount="1000",
    )
    at = await earning(await market(registry), points=100)
    async with fault_stage(registry, World(at, Floor(at.market, at.listing))) as stage:
        yield stage
    await registries.end()


async def _prove(stage: FaultStage[World], name: str) -> None:
    del name
    await stage.world.at.require_sound()
    await stage.world.floor.require_sound()


EXCHANGE = FailingActs("the exchange", ACTS, _open_stage, _prove)
