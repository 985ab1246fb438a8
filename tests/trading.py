"""Trading for tests: a listing that trades, orders of agents at it, and what always holds of it."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx2

from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms import ledger
from hansa.rooms.exchange.matching import Book, End, Place, Resting, Traded, apply
from hansa.rooms.exchange.trading import ORDERS_FOLLOW
from hansa.rooms.journal.store import COLUMNS, stored
from tests.exchange import Market
from tests.registry import TestAgent, TestDeveloper
from tests.running_jobs import time_passes


@dataclass(frozen=True)
class Floor:
    """A listing that trades."""

    market: Market
    listing: Any
    agents: list[TestAgent] = field(default_factory=list)
    owners: dict[str, TestDeveloper] = field(default_factory=dict)

    async def parties(self, count: int) -> list[TestAgent]:
        """The agent that has points, and others that have 100 units each."""
        others = [await self.agent() for _ in range(count - 1)]
        return [*self.agents, *others]

    async def agent(self) -> TestAgent:
        """An agent with an owner of its own."""
        owner = await self.market.registry.developer()
        agent = await owner.agent()
        self.owners[agent.did] = owner
        return agent

    @property
    def ref(self) -> str:
        return str(self.listing["ref"])

    async def try_order(
        self,
        agent: TestAgent,
        side: str,
        qty: int,
        price: str | None = None,
        key: str | None = None,
        **more: Any,
    ) -> httpx2.Response:
        body = {"listing": self.ref, "side": side, "qty": qty, "order_type": "limit" if price else "market"}
        body |= {"price": price} if price else {}
        return await self.market.post(agent, "/agora/orders", body | more, key)

    async def order(
        self, agent: TestAgent, side: str, qty: int, price: str | None = None, **more: Any
    ) -> Any:
        made = await self.try_order(agent, side, qty, price, **more)
        assert made.status_code == 201, made.text
        return made.json()

    async def read(self, agent: TestAgent, order: Any) -> Any:
        answer = await self.get(f"/agora/orders/{order['order_id']}", agent)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def cancel(self, agent: TestAgent, order: Any) -> httpx2.Response:
        path = f"/api/v1/agora/orders/{order['order_id']}"
        return await self.market.registry.http.delete(path, headers=agent.headers)

    async def get(self, path: str, agent: TestAgent | None = None, **params: Any) -> httpx2.Response:
        headers = agent.headers if agent else {}
        return await self.market.registry.get(path, params=params, headers=headers)

    async def mine(self, agent: TestAgent, **params: Any) -> Any:
        answer = await self.get("/agora/orders/mine", agent, **params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def portfolio(self, agent: TestAgent) -> Any:
        answer = await self.get("/agora/portfolio", agent)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def public(self, what: str, **params: Any) -> Any:
        answer = await self.get(f"/agora/listings/{self.ref}/{what}", **params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def levels(self) -> tuple[list[Any], list[Any]]:
        book = await self.public("book")
        return book["bids"], book["asks"]

    async def pass_time(self, seconds: float) -> None:
        """Let seconds pass for the open orders of the listing, and run the jobs that are due then."""

        async def later(tx: Any) -> None:
            await tx.execute(
                "UPDATE exchange_order SET expires_at = expires_at - $2::interval WHERE ref = $1 AND ended_at IS NULL",
                self.ref,
                timedelta(seconds=seconds),
            )

        await self.market.registry.database.transaction(later)
        await time_passes(self.market.registry.runtime, seconds)
        await self.market.run_jobs()

    async def make_due(self) -> None:
        """Let the time of every open order pass, without the job that ends them."""
        await self.market.registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE exchange_order SET expires_at = created_at WHERE ref = $1 AND ended_at IS NULL",
                self.ref,
            )
        )

    async def suspend(self, agent: TestAgent) -> None:
        body = {"agent_dids": [agent.did], "reason": "For a test."}
        headers = self.market.enforcement.headers
        done = await self.market.registry.post("/admin/agents/bulk/suspend", json=body, headers=headers)
        assert done.status_code == 200, done.text

    async def follow(self) -> None:
        """Have the orders follow the events of their agents."""

        async def react(tx: Any) -> None:
            rows = await tx.fetch(
                f"SELECT {COLUMNS} FROM journal_event WHERE event_type = ANY($1) ORDER BY seq",
                list(ORDERS_FOLLOW.type_names),
            )
            for event in stored(rows):
                await ORDERS_FOLLOW.react(tx, event)

        await self.market.registry.database.transaction(react)
        await self.market.run_jobs()

    async def end_agent(self, agent: TestAgent) -> httpx2.Response:
        return await self.market.registry.http.delete("/api/v1/agents/me", headers=agent.headers)

    async def put_authz(self, agent: TestAgent, **members: Any) -> None:
        owner = self.owners[agent.did]
        path = f"/api/v1/agents/{agent.did}/authz"
        done = await self.market.registry.http.put(path, json=members, headers=owner.headers)
        assert done.status_code == 200, done.text

    async def govern(self, agent: TestAgent, **policy: Any) -> None:
        await self.put_authz(agent, spend_policy=policy)

    async def spent(self, agent: TestAgent) -> str:
        """Amount that the spend policy of the agent counts today."""
        owner = self.owners[agent.did]
        answer = await self.market.registry.get(f"/agents/{agent.did}/authz", headers=owner.headers)
        return str(answer.json()["spent_today"])

    async def approve(self, agent: TestAgent, approval_id: str) -> None:
        path = f"/agents/{agent.did}/spend-approvals/{approval_id}/approve"
        done = await self.market.registry.post(path, headers=self.owners[agent.did].headers)
        assert done.status_code == 200, done.text

    async def row(self, order: Any) -> Any:
        """An order whose agent cannot read it any more."""
        return await self.market.registry.database.read(
            lambda tx: tx.fetchrow("SELECT * FROM exchange_order WHERE id = $1::uuid", order["order_id"])
        )

    async def events(self) -> list[tuple[str, dict[str, Any]]]:
        """Every event of the listing, oldest first."""
        rows = await self.market.registry.database.read(
            lambda tx: tx.fetch(
                f"SELECT {COLUMNS} FROM journal_event WHERE data ->> 'ref' = $1 ORDER BY xid, seq", self.ref
            )
        )
        return [(event.event_type, dict(event.data)) for event in stored(rows)]

    async def require_sound(self) -> None:
        """Points and units are where the orders say, and the journal decides every order again as it was decided."""
        found = await self.market.registry.database.read(self._rows)
        holdings, posted, orders, holds = found
        assert {did: row["qty"] for did, row in holdings.items() if row["qty"]} == {
            did: points for did, points in posted.items() if points
        }
        locked: Counter[str] = Counter()
        for order in orders:
            if order["side"] == "sell":
                locked[order["agent_did"]] += order["remaining"]
        assert {did: row["locked"] for did, row in holdings.items() if row["locked"]} == dict(locked)
        due = {o["hold_id"]: o["remaining"] * o["price"] for o in orders if o["side"] == "buy"}
        assert holds == due, "each hold is what its order still buys"
        replayed = await self._replayed()
        resting = [
            Resting(o["seq"], o["agent_did"], o["owner"], o["side"], o["price"], o["remaining"])
            for o in orders
        ]
        assert replayed.fingerprint() == Book(replayed.seq, resting).fingerprint()
        assert replayed.seq in {0, (await self.public("book"))["seq"]}

    async def _rows(self, tx: Any) -> Any:
        holdings = await tx.fetch("SELECT * FROM exchange_holding WHERE ref = $1", self.ref)
        posted = await tx.fetch(
            "SELECT agent_did, sum(delta)::bigint AS points FROM exchange_point_posting"
            " WHERE ref = $1 AND agent_did <> '' GROUP BY agent_did",
            self.ref,
        )
        orders = await tx.fetch(
            "SELECT * FROM exchange_order WHERE ref = $1 AND ended_at IS NULL ORDER BY seq", self.ref
        )
        holds = await tx.fetch(
            "SELECT h.id, h.remaining FROM ledger_hold h JOIN exchange_order o ON h.owner_id = o.id::text"
            " WHERE h.owner_kind = 'exchange_order' AND o.ref = $1 AND h.remaining > 0",
            self.ref,
        )
        return (
            {row["agent_did"]: row for row in holdings},
            {row["agent_did"]: row["points"] for row in posted},
            orders,
            {row["id"]: row["remaining"] for row in holds},
        )

    async def _replayed(self) -> Book:
        """The book of the orders and ends in the journal, whose trades are those that the journal has."""
        book, traded, recorded = Book(), [], []
        by_number = sorted(await self.events(), key=lambda event: event[1].get("seq", 0))
        for event_type, data in by_number:
            command: Place | End | None = None
            if event_type == "OrderPlaced":
                price = None if data["price"] is None else int(parse_amount(data["price"]))
                command = Place(
                    data["seq"],
                    data["did"],
                    data["owner"],
                    data["side"],
                    data["qty"],
                    price,
                    data["time_in_force"],
                    post_only=data["post_only"],
                    replaces=data["replaces"],
                )
            elif event_type == "OrderEnded" and data["because"] in {
                "cancelled",
                "expired",
                "suspended",
                "delisted",
            }:
                command = End(data["seq"], data["order_seq"], data["because"])
            elif event_type == "TradeExecuted":
                recorded.append((data["seq"], data["price"], data["qty"]))
            elif event_type == "PointsMoved":
                # A movement draws a number, and no order has a part in it.
                book.seq = data["seq"]
            if command is not None:
                events = apply(book, command)
                book.advance(events)
                traded += [(e.seq, format_amount(e.price), e.qty) for e in events if isinstance(e, Traded)]
        assert traded == recorded
        return book

    async def units(self, agent: TestAgent) -> tuple[str, str]:
        """Liquid units of an agent, and those in escrow."""
        found = await self.market.registry.database.read(lambda tx: ledger.balance_of(tx, agent.did))
        return format_amount(found.liquid), format_amount(found.escrow)

    async def points(self, agent: TestAgent) -> int:
        return (await self.market.points(self.listing)).get(agent.did, 0)


async def floor(market: Market, points: int = 20, **terms: Any) -> Floor:
    """A listing that trades; one agent bought points at 2 units in its launch. The fee is 0.5 %."""
    listing = await market.launching(**terms)
    found = Floor(market, listing)
    holder = await found.agent()
    found.agents.append(holder)
    bought = await market.buy(holder, listing, points)
    assert bought.status_code == 201, bought.text
    await market.elapse(listing, 1)
    assert (await market.read(listing))["status"] == "TRADING"
    return found
