"""The exchange for tests: listings of public organizations, decisions of administrators, launches and their clock."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import httpx2

from hansa.foundation.values.money import format_amount
from hansa.rooms import ledger
from hansa.rooms.exchange.descriptor import ROOM
from hansa.rooms.exchange.launches import SUBSCRIPTIONS_FOLLOW
from hansa.rooms.exchange.revenue.store import begin
from hansa.rooms.journal.store import COLUMNS, stored
from tests.organizations import Organization, found
from tests.registry import TestAgent, TestDeveloper, TestRegistry
from tests.running_jobs import run_due, time_passes

SHA256 = "ab" * 32
DAY = 86_400
_numbers = count(1)

_INSERT = """
INSERT INTO exchange_listing (ref, organization_id, treasury_did, status, total, price, min_raise, opens_at, closes_at, per_owner_max,
  revenue_bps, term_months, tick, prospectus_url, prospectus_sha256, fee_bps, digest, approved_at, sold, launched_at, ends_at, last_price)
SELECT $1, o.id, o.treasury_did, $3, 1000, 100, 0, at + CASE WHEN $4 THEN interval '1 day' ELSE interval '-1 day' END,
  at + CASE WHEN $5 THEN interval '-1 hour' ELSE interval '2 days' END, 100, 10, 12, 100, 'https://guild.example/', decode(repeat('ab', 32), 'hex'),
  CASE WHEN NOT $6 THEN 50 END, CASE WHEN NOT $6 THEN decode(repeat('ab', 32), 'hex') END, CASE WHEN NOT $6 THEN at END,
  CASE WHEN $5 THEN 10 ELSE 0 END, CASE WHEN $5 THEN at END, CASE WHEN $5 THEN at + interval '12 months' END, CASE WHEN $5 THEN 100 END
FROM organizations_organization o, clock_timestamp() at WHERE o.id = $2::text::uuid
"""


def in_days(days: float) -> str:
    """A moment of a request."""
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


def terms(**more: Any) -> dict[str, Any]:
    """Terms that are sound: 1,000 points at 2 units, a launch from tomorrow until the day after."""
    return {
        "ref": f"R{next(_numbers):03}",
        "total": 1000,
        "price": "2",
        "min_raise": "10",
        "opens_at": in_days(1),
        "closes_at": in_days(2),
        "per_owner_max": 500,
        "revenue_bps": 1000,
        "term_months": 12,
        "tick": "0.01",
        "prospectus": {"url": "https://guild.example/prospectus.pdf", "sha256": SHA256},
        **more,
    }


async def insert(tx: Any, organization_id: str, status: str, ref: str | None = None) -> str:
    """The reference of a listing of the organization that is written in this status, with 1,000 points at 0.000001 units."""
    ref = ref or str(terms()["ref"])
    is_hidden, is_launched = status in {"DRAFT", "REVIEW"}, status in {"TRADING", "HALTED"}
    is_ahead = is_hidden or status == "APPROVED"
    await tx.execute(_INSERT, ref, organization_id, status, is_ahead, is_launched, is_hidden)
    if is_launched:
        await begin(tx, ref)
    return ref


@dataclass(frozen=True)
class Market:
    """A registry whose exchange is on, with its administrators."""

    registry: TestRegistry
    platform: TestDeveloper
    enforcement: TestDeveloper

    async def guild(self, **more: Any) -> Organization:
        """A new public organization."""
        return await found(self.registry, visibility="public", **more)

    async def try_draft(
        self, guild: Organization, by: TestDeveloper | None = None, **more: Any
    ) -> httpx2.Response:
        body = {"organization_id": guild.slug, "terms": terms(**more)}
        return await self.post(by or guild.owner, "/agora/listings", body)

    async def draft(self, guild: Organization, **more: Any) -> Any:
        made = await self.try_draft(guild, **more)
        assert made.status_code == 201, made.text
        return made.json()

    async def act(self, who: TestDeveloper, listing: Any, act: str) -> httpx2.Response:
        """Submit or withdraw."""
        return await self.post(who, f"/agora/listings/{listing['ref']}/{act}", None)

    async def decide(
        self, listing: Any, act: str, by: TestDeveloper | None = None, reason: str = "For a test."
    ) -> httpx2.Response:
        """Decide as an administrator of the area."""
        by = by or (self.enforcement if act in {"halt", "resume"} else self.platform)
        return await self.post(by, f"/admin/agora/listings/{listing['ref']}/{act}", {"reason": reason})

    async def approved(self, guild: Organization | None = None, **more: Any) -> Any:
        """An approved listing, of a new organization by default."""
        guild = guild or await self.guild()
        listing = await self.draft(guild, **more)
        submitted = await self.act(guild.owner, listing, "submit")
        assert submitted.status_code == 200, submitted.text
        decided = await self.decide(listing, "approve")
        assert decided.status_code == 200, decided.text
        return decided.json()

    async def launching(self, guild: Organization | None = None, **more: Any) -> Any:
        """A listing whose launch is open."""
        listing = await self.approved(guild, **more)
        await self.elapse(listing, 1)
        return await self.read(listing)

    async def traded(self, buyer: TestAgent, qty: int = 10, **more: Any) -> Any:
        """A listing that trades, of which an agent has bought points."""
        listing = await self.launching(**more)
        bought = await self.buy(buyer, listing, qty)
        assert bought.status_code == 201, bought.text
        await self.elapse(listing, 1)
        return await self.read(listing)

    async def read(self, listing: Any, who: TestDeveloper | None = None) -> Any:
        answer = await self.try_read(listing["ref"], who)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def try_read(self, ref: str, who: TestDeveloper | None = None) -> httpx2.Response:
        return await self.registry.get(f"/agora/listings/{ref}", headers=who.headers if who else {})

    async def listed(self, who: TestDeveloper | None = None) -> list[str]:
        answer = await self.registry.get("/agora/listings", headers=who.headers if who else {})
        assert answer.status_code == 200, answer.text
        return [one["ref"] for one in answer.json()["listings"]]

    async def buy(
        self, agent: TestAgent, listing: Any, qty: int, key: str | None = None, **more: Any
    ) -> httpx2.Response:
        headers = {**agent.headers, **({"Idempotency-Key": key} if key else {})}
        return await self.registry.post(_buy(listing), json={"qty": qty, **more}, headers=headers)

    async def subscription(self, agent: TestAgent, listing: Any) -> httpx2.Response:
        return await self.registry.get(_buy(listing), headers=agent.headers)

    async def cancel(self, agent: TestAgent, listing: Any) -> httpx2.Response:
        return await self.registry.http.delete(f"/api/v1{_buy(listing)}", headers=agent.headers)

    async def elapse(self, listing: Any, days: float) -> None:
        """Let days pass for this listing, and run the jobs that are due then."""
        await self.date_back(listing, days)
        await time_passes(self.registry.runtime, days * DAY)
        await self.run_jobs()

    async def date_back(self, listing: Any, days: float) -> None:
        """Date all that happened at this listing, and its terms, so many days back."""

        async def later(tx: Any) -> None:
            await tx.execute("SET LOCAL session_replication_role = replica")
            await tx.execute(
                "UPDATE exchange_listing SET opens_at = opens_at - $2::interval, closes_at = closes_at - $2::interval,"
                " launched_at = launched_at - $2::interval, ends_at = ends_at - $2::interval WHERE ref = $1",
                listing["ref"],
                timedelta(days=days),
            )
            await tx.execute(
                "UPDATE exchange_revenue SET launched_on = launched_on - $2::int, levied_on = levied_on - $2::int WHERE ref = $1",
                listing["ref"],
                int(days),
            )
            await tx.execute(
                "UPDATE exchange_levy SET day = day - $2::int WHERE ref = $1", listing["ref"], int(days)
            )

        await self.registry.database.transaction(later)

    async def react(self, agent: TestAgent) -> None:
        """Let the reactor see the events of the agent."""

        async def reacted(tx: Any) -> None:
            rows = await tx.fetch(
                f"SELECT {COLUMNS} FROM journal_event WHERE event_type = ANY($1) AND aggregate_id = $2 ORDER BY seq",
                list(SUBSCRIPTIONS_FOLLOW.type_names),
                agent.did,
            )
            for event in stored(rows):
                await SUBSCRIPTIONS_FOLLOW.react(tx, event)

        await self.registry.database.transaction(reacted)

    async def run_jobs(self) -> None:
        await run_due(self.registry.runtime, *ROOM.jobs)

    async def units(self, did: str) -> tuple[str, str]:
        """Liquid units of an account, and those in escrow."""
        found = await self.registry.database.read(lambda tx: ledger.balance_of(tx, did))
        return format_amount(found.liquid), format_amount(found.escrow)

    async def points(self, listing: Any) -> dict[str, int]:
        """Points of each agent."""
        rows = await self.registry.database.read(
            lambda tx: tx.fetch("SELECT agent_did, qty FROM exchange_holding WHERE ref = $1", listing["ref"])
        )
        return {row["agent_did"]: row["qty"] for row in rows}

    async def events(self, listing: Any) -> list[tuple[str, dict[str, Any]]]:
        newest = {"sort_order": "asc", "limit": 500}
        found = await self.registry.get("/events/", params=newest, headers=self.registry.internal)
        return [
            (event["event_type"], event["data"])
            for event in found.json()["items"]
            if event["data"].get("ref") == listing["ref"]
        ]

    async def post(
        self, who: TestDeveloper | TestAgent, path: str, body: Any, key: str | None = None
    ) -> httpx2.Response:
        headers = {**who.headers, **({"Idempotency-Key": key} if key else {})}
        return await self.registry.post(path, json=body, headers=headers)


async def market(registry: TestRegistry) -> Market:
    """The exchange of a registry that was started with EXCHANGE_ENABLED."""
    platform = await registry.administrator("admin_platform")
    return Market(registry, platform, await registry.administrator("admin_enforcement"))


def _buy(listing: Any) -> str:
    return f"/agora/listings/{listing['ref']}/launch/buy"
