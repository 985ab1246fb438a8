"""Two acts on the orders of one listing that meet, in many orders of their statements: points, units and the journal agree afterwards."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import pytest

from hansa.foundation.plumbing.web.caller import Agent
from hansa.rooms import agents
from hansa.rooms.exchange.binding import require_unbound
from hansa.rooms.exchange.trading.acting import Outcome, carry_out
from hansa.rooms.exchange.trading.ending import expire_due, lock_listing
from hansa.rooms.exchange.trading.errors import AgentHasOrders, OrderEnded
from hansa.rooms.exchange.trading.judging import Act, CancelOrder, PlaceOrder
from hansa.rooms.exchange.trading.records import NewOrder, Order, ShownOrder
from hansa.rooms.exchange.trading.store import find_each
from tests.exchange import market
from tests.founded import open_copy
from tests.properties.contract_scene import caller_of
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_every_order, in_some_orders
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestAgent
from tests.trading import Floor, floor

Outcomes: TypeAlias = list[Any]
Play: TypeAlias = Callable[[list[UseCase]], Awaitable[Outcomes]]
EVERY_ORDER = by_tier(False, True, True)
ORDERS = 8
PRICE = 10**7
TICK = 10**6


@dataclass
class Scene:
    """A holder of points and two agents with units, without open orders at the beginning."""

    floor: Floor
    holder: Agent
    one: Agent
    other: Agent

    async def run(self, use_case: UseCase) -> Any:
        return await self.floor.market.registry.database.transaction(use_case)

    def order(self, agent: Agent, side: Any, qty: int, price: int = PRICE, **more: Any) -> UseCase:
        terms = {"time_in_force": "gtc", "digest": bytes(32), **more}
        return self.act(
            lambda: PlaceOrder(agent, NewOrder(uuid4(), self.floor.ref, side, qty, price, **terms))
        )

    def act(self, make: Callable[[], Act]) -> UseCase:
        """An act in a transaction of its own."""

        async def carried_out(tx: Any) -> Outcome:
            settings = self.floor.market.registry.settings
            (outcome,) = (await carry_out(tx, self.floor.ref, [make()], settings)).values()
            return outcome

        return carried_out

    async def resting(self, agent: Agent, side: Any, qty: int, price: int = PRICE, **more: Any) -> Order:
        made = await self.run(self.order(agent, side, qty, price, **more))
        assert made.order.status == "open"
        return made.order

    def cancel(self, agent: Agent, order: Order) -> UseCase:
        return self.act(lambda: CancelOrder(agent.did, order.id))

    def expire(self) -> UseCase:
        async def expired(tx: Any) -> int:
            listing = await lock_listing(tx, self.floor.ref)
            return await expire_due(tx, listing, self.floor.market.registry.settings)

        return expired

    async def read(self, order_id: UUID) -> Order:
        found: dict[UUID, Order] = await self.run(lambda tx: find_each(tx, [order_id]))
        return found[order_id]

    async def clear(self) -> None:
        """End every open order, and give the points back to their holder, for the next play."""
        for agent in (self.holder, self.one, self.other):
            for row in await self.run(
                lambda tx, did=agent.did: tx.fetch(
                    "SELECT id FROM exchange_order WHERE agent_did = $1 AND ended_at IS NULL", did
                )
            ):
                order = await self.read(row["id"])
                await self.run(self.cancel(agent, order))
        points = await self.floor.market.points(self.floor.listing)
        for agent in (self.one, self.other):
            if qty := points.get(agent.did, 0):
                await self.run(self.order(self.holder, "buy", qty, TICK))
                await self.run(self.order(agent, "sell", qty, TICK))


async def _two_takers_at_one_maker(scene: Scene, play: Play) -> None:
    offer = await scene.resting(scene.holder, "sell", 2)
    taken = await play([scene.order(who, "buy", 2, time_in_force="ioc") for who in (scene.one, scene.other)])
    assert sorted(len(made.trades) for made in taken) == [0, 1]
    assert (await scene.read(offer.id)).status == "filled"


async def _two_takers_who_share_a_maker(scene: Scene, play: Play) -> None:
    await scene.resting(scene.holder, "sell", 3)
    taken = await play([scene.order(who, "buy", 2) for who in (scene.one, scene.other)])
    assert sorted(made.order.remaining for made in taken) == [0, 1]


async def _a_cancel_and_a_fill(scene: Scene, play: Play) -> None:
    offer = await scene.resting(scene.holder, "sell", 2)
    cancelled, taken = await play(
        [scene.cancel(scene.holder, offer), scene.order(scene.one, "buy", 2, time_in_force="ioc")]
    )
    if isinstance(cancelled, OrderEnded):
        assert (taken.order.status, (await scene.read(offer.id)).status) == ("filled", "filled")
    else:
        assert (cancelled.order.status, taken.trades) == ("cancelled", [])


async def _two_cancels(scene: Scene, play: Play) -> None:
    bid = await scene.resting(scene.one, "buy", 2)
    outcomes = await play([scene.cancel(scene.one, bid)] * 2)
    assert {type(one) for one in outcomes} == {ShownOrder, OrderEnded}


async def _an_expiry_and_a_fill(scene: Scene, play: Play) -> None:
    offer = await scene.resting(scene.holder, "sell", 2, ttl_seconds=60)
    await scene.floor.make_due()
    expired, taken = await play([scene.expire(), scene.order(scene.one, "buy", 2, time_in_force="ioc")])
    assert expired in {0, 1}
    assert taken.trades == []
    assert (await scene.read(offer.id)).status == "expired"


async def _two_orders_that_cross(scene: Scene, play: Play) -> None:
    sold, bought = await play([scene.order(scene.holder, "sell", 2), scene.order(scene.one, "buy", 2)])
    assert len({*(t.seq for t in sold.trades), *(t.seq for t in bought.trades)}) == 1
    assert {(await scene.read(made.order.id)).status for made in (sold, bought)} == {"filled"}


async def _one_client_order_id_twice(scene: Scene, play: Play) -> None:
    name = str(uuid4())
    made = await play([scene.order(scene.one, "buy", 2, client_order_id=name)] * 2)
    assert len({one.order.id for one in made}) == 1


async def _the_end_of_an_agent_and_its_order(scene: Scene, play: Play) -> None:
    async def ended(tx: Any) -> str:
        assert await agents.lock_status(tx, scene.one.did) == "active"
        await require_unbound(tx, scene.one.did)
        await tx.execute("UPDATE agents_agent SET status = 'revoked' WHERE did = $1", scene.one.did)
        return "ended"

    end, made = await play([ended, scene.order(scene.one, "buy", 2)])
    if end == "ended":
        assert isinstance(made, agents.AgentRevoked)
    else:
        assert isinstance(end, AgentHasOrders)
        assert made.order.status == "open"
    await scene.run(
        lambda tx: tx.execute("UPDATE agents_agent SET status = 'active' WHERE did = $1", scene.one.did)
    )


MEETINGS = {
    "two takers at one maker": _two_takers_at_one_maker,
    "two takers who share a maker": _two_takers_who_share_a_maker,
    "a cancel and a fill": _a_cancel_and_a_fill,
    "two cancels": _two_cancels,
    "an expiry and a fill": _an_expiry_and_a_fill,
    "two orders that cross": _two_orders_that_cross,
    "one client_order_id twice": _one_client_order_id_twice,
    "the end of an agent and its order": _the_end_of_an_agent_and_its_order,
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Floor, Director]]:
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
        terms = {"price": "0.1", "min_raise": "1", "per_owner_max": 1000}
        yield await floor(await market(registry), 900, **terms), director


async def prepared(at: Floor) -> Scene:
    """New agents with units beside the holder of points."""
    people: list[TestAgent] = [*at.agents, await at.agent(), await at.agent()]
    holder, one, other = [await caller_of(at.market.registry, agent) for agent in people]
    return Scene(at, holder, one, other)


@pytest.mark.parametrize("meeting", MEETINGS)
async def test_two_acts_at_one_listing_in_any_order(stage: tuple[Floor, Director], meeting: str) -> None:
    at, director = stage
    scene = await prepared(at)

    async def played(choose: Choose) -> None:
        await MEETINGS[meeting](scene, lambda cases: director.play(cases, choose))
        await at.require_sound()
        await scene.clear()

    if EVERY_ORDER:
        await in_every_order(played)
    else:
        await in_some_orders(played, count=ORDERS, seed=printed_seed())
