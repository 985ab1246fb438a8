"""A served registry is killed hard while agents trade, an organization earns and its days end: nothing is lost, nothing is counted twice."""

import asyncio
import os
import signal
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import httpx2

from tests.exchange import market
from tests.hostile.served import serve
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier, printed_seed
from tests.registry import StartRegistry, TestAgent
from tests.revenue import Earning, earning
from tests.trading import Floor

TRADERS = 4
KILLS = by_tier(3, 30, 100)
CALM_SECONDS = (0.2, 1.0)
PAUSE_SECONDS, WITHIN_SECONDS = 0.05, 120
UNCERTAIN = {429, 500, 502, 503}
PRICES = ("1.9", "2", "2.1")


@dataclass
class Storm:
    """Agents that trade at one listing and a customer who pays its organization, by a registry whose address changes."""

    at: Earning
    customer: TestAgent
    random: Random
    url: str = ""
    is_over: bool = False
    orders: dict[str, Any] = field(default_factory=dict)
    paid: Decimal = Decimal(0)

    async def trade(self, http: httpx2.AsyncClient, agent: TestAgent, side: str) -> None:
        """Place orders under numbers of the agent's own, each until it is answered; cancel every third, and claim."""
        number = 0
        while not self.is_over:
            number += 1
            name = f"{agent.did}-{number}"
            body = {
                "listing": self.at.ref,
                "side": side,
                "qty": self.random.randint(1, 3),
                "order_type": "limit",
                "price": self.random.choice(PRICES),
                "client_order_id": name,
            }
            placed = await self._answered(http, "POST", "/agora/orders", agent, json=body)
            if placed.status_code == 201:
                self.orders[name] = placed.json()
            else:
                # The points or the units of the agent are spent.
                assert placed.status_code in {402, 409}, placed.text
            if number % 3 == 0 and placed.status_code == 201:
                path = f"/agora/orders/{placed.json()['order_id']}"
                cancelled = await self._answered(http, "DELETE", path, agent)
                assert cancelled.status_code in {200, 409}, cancelled.text
            if number % 5 == 0:
                claimed = await self._answered(http, "POST", "/agora/distributions/claim", agent, json={})
                assert claimed.status_code == 200, claimed.text

    async def earn(self, http: httpx2.AsyncClient) -> None:
        """The customer pays the treasury, each time until it is answered; after every tenth payment the day ends."""
        number = 0
        while not self.is_over:
            number += 1
            body = {"receiver_agent_id": self.at.treasury, "amount": "0.5"}
            key = {"Idempotency-Key": f"revenue-{number}"}
            paid = await self._answered(http, "POST", "/teg/transfer", self.customer, json=body, headers=key)
            assert paid.status_code == 200, paid.text
            self.paid += Decimal("0.5")
            if number % 10 == 0:
                await self.at.market.date_back(self.at.listing, 1)

    async def goes_on(self, raging: "asyncio.Future[Any]") -> None:
        """Wait until another order and another payment are answered."""
        orders, paid = len(self.orders), self.paid
        async with asyncio.timeout(WITHIN_SECONDS):
            while len(self.orders) == orders or self.paid == paid:
                assert not raging.done(), raging.exception()
                await asyncio.sleep(PAUSE_SECONDS)

    async def _answered(
        self, http: httpx2.AsyncClient, method: str, path: str, agent: TestAgent, **more: Any
    ) -> httpx2.Response:
        headers = {**agent.headers, **more.pop("headers", {})}
        while True:
            try:
                answer = await http.request(method, f"{self.url}/api/v1{path}", headers=headers, **more)
            except httpx2.TransportError:
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            if answer.status_code not in UNCERTAIN:
                return answer
            await asyncio.sleep(PAUSE_SECONDS)


async def test_orders_levies_and_distributions_are_exact_although_the_registry_is_killed(
    start_registry: StartRegistry,
) -> None:
    random = Random(printed_seed())
    registry = await start_registry(
        exchange_enabled=True,
        genesis_grants_per_hour=1000,
        genesis_grant_amount="2000",
        rate_limit_reads="off",
    )
    at = await earning(await market(registry), points=400)
    floor = Floor(at.market, at.listing)
    agents = [at.holder, *[await floor.agent() for _ in range(TRADERS - 1)]]
    storm = Storm(at, await at.agent(), random)
    async with httpx2.AsyncClient(timeout=60) as http:
        acting = [
            storm.trade(http, agent, "buy" if number else "sell") for number, agent in enumerate(agents)
        ]
        raging = asyncio.gather(*acting, storm.earn(http))
        for _ in range(KILLS):
            async with serve(registry, EXCHANGE_ENABLED="true") as served:
                storm.url = served.url
                await storm.goes_on(raging)
                await asyncio.sleep(random.uniform(*CALM_SECONDS))
                os.kill(served.pid, signal.SIGKILL)
        async with serve(registry, EXCHANGE_ENABLED="true") as served:
            storm.url, storm.is_over = served.url, True
            await asyncio.wait_for(raging, WITHIN_SECONDS)
    await registry.transactions_ended()
    # The rest, to which the registry did not come before its last end.
    await at.market.date_back(at.listing, 1)
    await at.levy()
    revenue = sum(Decimal(levied) for levied, *_ in await at.levies())
    assert revenue == storm.paid, "each payment is revenue of one levy"
    await at.require_sound()
    await floor.require_sound()
    await _require_each_order_once(floor, storm)
    await registry.database.query(prove_book)


async def _require_each_order_once(floor: Floor, storm: Storm) -> None:
    """Each answered order exists once, as it was answered."""
    rows = await floor.market.registry.database.read(
        lambda tx: tx.fetch(
            "SELECT client_order_id, id::text, side, qty FROM exchange_order WHERE client_order_id IS NOT NULL"
        )
    )
    stored = {row["client_order_id"]: (row["id"], row["side"], row["qty"]) for row in rows}
    answered = {
        name: (order["order_id"], order["side"], order["qty"]) for name, order in storm.orders.items()
    }
    assert stored == answered
    assert any(order["fills"] for order in storm.orders.values()), "orders met"
