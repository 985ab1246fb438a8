"""Revenue for tests: an organization that earns while a listing of it trades, and what always holds of its levies."""

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx2

from hansa.foundation.values.did import listing_did
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms import ledger
from hansa.rooms.exchange.revenue import COUNT_REVENUE, LEVY_REVENUE, LEVY_WHEN_DUE, PAY_DISTRIBUTIONS
from hansa.rooms.journal.store import COLUMNS, stored
from tests.exchange import Market
from tests.organizations import Organization
from tests.registry import TestAgent, TestDeveloper
from tests.running_jobs import run_due, run_scheduled_transactions


@dataclass(frozen=True)
class Earning:
    """A listing whose organization has an agent of its own, and one holder of points."""

    market: Market
    guild: Organization
    listing: Any
    own: TestAgent
    holder: TestAgent
    holder_owner: TestDeveloper

    @property
    def ref(self) -> str:
        return str(self.listing["ref"])

    @property
    def treasury(self) -> str:
        return str(self.listing["treasury_did"])

    @property
    def account(self) -> str:
        """The account with the distributions of the listing."""
        return listing_did(self.treasury, self.ref)

    async def agent(self) -> TestAgent:
        """An agent with an owner of its own and 100 units."""
        owner = await self.market.registry.developer()
        return await owner.agent()

    async def pay(self, payer: TestAgent, payee: str, amount: str) -> None:
        done = await self.market.registry.post(
            "/teg/transfer", json={"receiver_agent_id": payee, "amount": amount}, headers=payer.headers
        )
        assert done.status_code == 200, done.text

    async def next_day(self) -> None:
        """Let a day pass, and levy its revenue."""
        await self.market.elapse(self.listing, 1)
        await self.levy()

    async def levy(self) -> None:
        """Count revenue, levy what is due, and pay distributions."""
        runtime = self.market.registry.runtime
        await run_scheduled_transactions(runtime, COUNT_REVENUE, LEVY_WHEN_DUE)
        await run_due(runtime, LEVY_REVENUE, PAY_DISTRIBUTIONS)

    async def levies(self) -> list[tuple[str, str, str, str]]:
        """Revenue, due, taken and arrears of each levy, oldest first."""
        rows = await self.market.registry.database.read(
            lambda tx: tx.fetch(
                f"SELECT {COLUMNS} FROM journal_event WHERE event_type = 'RevenueLevied' AND data ->> 'ref' = $1"
                " ORDER BY xid, seq",
                self.ref,
            )
        )
        levied = [event.data for event in stored(rows)]
        return [(data["revenue"], data["due"], data["taken"], data["arrears"]) for data in levied]

    async def claim(
        self, agent: TestAgent, ref: str | None = None, key: str | None = None
    ) -> httpx2.Response:
        body = {} if ref is None else {"ref": ref}
        return await self.market.post(agent, "/agora/distributions/claim", body, key)

    async def move(self, agent: TestAgent, to: str | None, qty: int, **more: Any) -> httpx2.Response:
        body = {"to": to, "ref": self.ref, "qty": qty, **more}
        return await self.market.post(agent, "/agora/points/transfer", body)

    async def owed(self, agent: TestAgent) -> str:
        """Units that the agent can claim."""
        answer = await self.market.registry.get("/agora/portfolio", headers=agent.headers)
        assert answer.status_code == 200, answer.text
        return next((str(one["owed"]) for one in answer.json()["holdings"] if one["ref"] == self.ref), "0")

    async def units(self, did: str) -> str:
        """Liquid units of an account; one that was not opened has none."""
        found = await self.market.registry.database.read(lambda tx: ledger.balances_of(tx, [did]))
        return format_amount(found[did].liquid) if did in found else "0"

    async def pay_in_transaction(
        self, payer: TestAgent, payee: str, amount: str, ready: asyncio.Event, go: asyncio.Event
    ) -> None:
        """Pay by a transaction that commits once `go` is set."""
        registry = self.market.registry
        order = ledger.TransferOrder(payer.did, payee, parse_amount(amount))

        async def paid(tx: Any) -> None:
            await ledger.transfer(tx, order, ledger.Book.of(registry.settings))
            ready.set()
            await go.wait()

        await registry.database.transaction(paid)

    async def pay_out(self, amount: str, to: TestAgent | None = None) -> httpx2.Response:
        """Ask for a payment of the treasury, which is made at once."""
        body = {"kind": "payment", "receiver_did": (to or self.own).did, "amount": amount}
        return await self.guild.send(self.guild.owner, "POST", "/treasury/requests", json=body)

    async def enforce(self, act: str, agent: TestAgent) -> None:
        """Suspend or revoke an agent."""
        body = {"agent_dids": [agent.did], "reason": "For a test."}
        headers = self.market.enforcement.headers
        done = await self.market.registry.post(f"/admin/agents/bulk/{act}", json=body, headers=headers)
        assert done.status_code == 200, done.text

    async def empty(self) -> None:
        """Let the treasury and the agent of the organization pay all that they have to another agent."""
        stranger, registry = await self.agent(), self.market.registry
        book = ledger.Book.of(registry.settings)

        async def swept(tx: Any) -> None:
            for did in (self.treasury, self.own.did):
                ref = f"emptied {uuid4()}"
                await ledger.sweep_account(tx, did, stranger.did, ref=ref, memo="emptied", book=book)

        await registry.database.transaction(swept)

    @staticmethod
    def more(units: str, amount: str) -> str:
        return format_amount(parse_amount(units) + parse_amount(amount))

    @staticmethod
    def less(units: str, amount: str) -> str:
        return format_amount(parse_amount(units) - parse_amount(amount))

    async def invariant(self) -> Any:
        """The comparison of the exchange, as an administrator reads it."""
        treasurer = await self.market.registry.administrator("admin_treasury")
        answer = await self.market.registry.get("/agora/admin/invariant", headers=treasurer.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def require_sound(self) -> None:
        """The account has exactly what is owed and carried."""
        found = await self.invariant()
        assert (found["shares"], found["escrow"]) == ("OK", "OK")
        (own,) = (one for one in found["listings"] if one["ref"] == self.ref)
        assert Decimal(own["balance"]) == Decimal(own["owed"]) + Decimal(own["carried"]), own


async def earning(market: Market, points: int = 20, **terms: Any) -> Earning:
    """A listing that trades: 1,000 points at 2 units share a tenth of the revenue, and one agent bought some in the launch."""
    guild = await market.guild()
    own = await guild.agent()
    listing = await market.launching(guild, **terms)
    owner = await market.registry.developer()
    holder = await owner.agent()
    bought = await market.buy(holder, listing, points)
    assert bought.status_code == 201, bought.text
    await market.elapse(listing, 1)
    return Earning(market, guild, await market.read(listing), own, holder, owner)
