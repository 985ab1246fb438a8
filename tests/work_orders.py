"""Work orders for tests: an organization whose treasury holds units, agents that bid, and the clock of an order."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms import ledger
from hansa.rooms.journal.store import COLUMNS, stored
from hansa.rooms.treasury.work_orders import WORK_ORDER_EXPIRIES, WORK_ORDERS_FOLLOW
from tests.organizations import Organization, found
from tests.registry import TestAgent, TestDeveloper, TestRegistry
from tests.running_jobs import run_due, time_passes

DAY = 24 * 3600.0
WORK = {"uri": "https://work.example.org/1", "sha256": "0" * 64}


def in_days(days: float) -> str:
    """A date for a work order."""
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


@dataclass(frozen=True)
class Offering:
    """An organization that offers work."""

    guild: Organization

    @property
    def registry(self) -> TestRegistry:
        return self.guild.registry

    @property
    def treasury(self) -> str:
        return self.guild.created["treasury_did"]

    async def try_open(self, by: TestDeveloper | None = None, **more: Any) -> httpx2.Response:
        body = {
            "title": "Translate the manual",
            "spec": "Forty pages of German.",
            "acceptance_criteria": "No page is missing.",
            "amount": "10",
            "bids_until": in_days(5),
            "submit_days": 7,
            "review_days": 3,
            **more,
        }
        return await self.guild.send(by or self.guild.owner, "POST", "/work-orders", json=body)

    async def open(self, **more: Any) -> Any:
        answer = await self.try_open(**more)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def try_bid(self, agent: TestAgent, order: Any, price: str = "8", **more: Any) -> httpx2.Response:
        body = {"price": price, "eta_seconds": 3600, "pitch": "Gladly.", **more}
        return await self.registry.post(f"/work-orders/{order['id']}/bids", json=body, headers=agent.headers)

    async def bid(self, agent: TestAgent, order: Any, price: str = "8", **more: Any) -> Any:
        answer = await self.try_bid(agent, order, price, **more)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def withdraw(self, agent: TestAgent, bid: Any) -> httpx2.Response:
        path = f"/api/v1/work-orders/{bid['work_order_id']}/bids/{bid['bid_id']}"
        return await self.registry.http.delete(path, headers=agent.headers)

    async def award(self, bid: Any, by: TestDeveloper | None = None) -> httpx2.Response:
        path = f"/work-orders/{bid['work_order_id']}/award"
        return await self.guild.send(by or self.guild.owner, "POST", path, json={"bid_id": bid["bid_id"]})

    async def cancel(self, order: Any, by: TestDeveloper | None = None) -> httpx2.Response:
        return await self.guild.send(by or self.guild.owner, "POST", f"/work-orders/{order['id']}/cancel")

    async def read(self, order: Any) -> Any:
        answer = await self.registry.get(f"/work-orders/{order['id']}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def bids(self, reader: TestAgent | TestDeveloper, order: Any) -> list[Any]:
        answer = await self.registry.get(f"/work-orders/{order['id']}/bids", headers=reader.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()["items"]

    async def act(
        self, contract_id: int, act: str, by: TestDeveloper | None = None, /, **body: Any
    ) -> httpx2.Response:
        path = f"/contracts/{contract_id}/{act}"
        return await self.guild.send(by or self.guild.owner, "POST", path, json=body)

    async def held(self) -> tuple[str, str]:
        """Units of the treasury: liquid, and in escrow."""
        balance = await self.registry.database.read(lambda tx: ledger.balance_of(tx, self.treasury))
        return format_amount(balance.liquid), format_amount(balance.escrow)

    async def elapse(self, order: Any, days: float) -> None:
        """Let so many days pass for this order, and end it where its time has passed."""
        await self.registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE treasury_work_order SET bids_until = bids_until - $2::interval, expires_at = expires_at - $2::interval"
                " WHERE id = $1::text::uuid",
                order["id"],
                timedelta(days=days),
            )
        )
        await time_passes(self.registry.runtime, days * DAY)

    async def follow(self, did: str) -> None:
        """Have work orders and bids follow the events of this agent."""

        async def react(tx: Tx) -> None:
            rows = await tx.fetch(
                f"SELECT {COLUMNS} FROM journal_event WHERE event_type = ANY($1) AND aggregate_id = $2 ORDER BY seq",
                list(WORK_ORDERS_FOLLOW.type_names),
                did,
            )
            for event in stored(rows):
                await WORK_ORDERS_FOLLOW.react(tx, event)

        await self.registry.database.transaction(react)

    async def run_jobs(self) -> None:
        await run_due(self.registry.runtime, WORK_ORDER_EXPIRIES)


async def offering(registry: TestRegistry, holding: str = "50", **more: Any) -> Offering:
    """A new organization with units in its treasury, which nobody paid a fee for."""
    made = Offering(await found(registry, **more))
    book = ledger.Book.of(registry.settings)
    paid = await registry.database.transaction(
        lambda tx: ledger.grant(
            tx, payee=made.treasury, amount=parse_amount(holding), ref=f"grant {made.guild.slug}", book=book
        )
    )
    assert paid
    return made


async def awarded(
    work: Offering, *, is_submitted: bool = False, price: str = "10", **more: Any
) -> tuple[TestAgent, int]:
    """A bidder, and the id of the contract that it won."""
    bidder, order = await work.registry.agent(), await work.open(**more)
    answer = await work.award(await work.bid(bidder, order, price))
    contract_id = answer.json()["result"]["contract_id"]
    if is_submitted:
        await submit(bidder, contract_id)
    return bidder, contract_id


async def submit(bidder: TestAgent, contract_id: int) -> None:
    """Submit the work of a contract."""
    path = f"/contracts/{contract_id}/submit"
    answer = await bidder.registry.post(path, json={"deliverable": WORK}, headers=bidder.headers)
    assert answer.status_code == 200, answer.text
