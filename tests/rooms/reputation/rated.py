"""Agents that are paid for jobs, in a registry whose reputation can be brought up to date at once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import parse_amount
from hansa.rooms import ledger
from hansa.rooms.journal.store import COLUMNS, stored
from hansa.rooms.people.check import check_developer
from hansa.rooms.reputation import scores
from hansa.rooms.reputation.scores.epochs import show_scores
from tests.all_events import ALL_EVENTS
from tests.founded import open_copy
from tests.paying import Payments
from tests.registry import DatabaseFarm, TestAgent, TestRegistry
from tests.running_jobs import run_due

_NEW_EVENTS = f"""
SELECT {COLUMNS} FROM {ALL_EVENTS} e WHERE event_type = ANY($1)
  AND seq > coalesce((SELECT max(event_seq) FROM reputation_signal), 0) ORDER BY seq
"""


@dataclass(frozen=True)
class Rated:
    """A registry with its reputation."""

    registry: TestRegistry

    async def fund(self, agent: TestAgent, amount: str) -> None:
        """An administrator grants the agent units from the treasury."""
        administrator = await self.registry.administrator("admin_treasury")
        developer = await check_developer(self.registry.runtime, administrator.token)
        book = ledger.Book.of(self.registry.settings)
        await self.registry.database.transaction(
            lambda tx: ledger.grant_by_administrator(
                tx, developer, payee=agent.did, amount=parse_amount(amount), ref=f"for {uuid4()}", book=book
            )
        )

    async def pay_funded(self, payer: TestAgent, payee: TestAgent, amount: str) -> None:
        """A paid call, settled, with units that an administrator granted."""
        await self.fund(payer, str(Decimal(amount) * Decimal("1.05")))
        await self.pay(payer, payee, amount)

    async def pay(self, payer: TestAgent, payee: TestAgent, amount: str) -> None:
        """A paid call, settled."""
        payments = Payments(self.registry, payer, payee)
        made = await payments.authorized(amount)
        settled = await payments.settle(made["token"], by=payer, wait=10)
        assert settled.json()["status"] == "settled", settled.text

    async def rule(self, complainant: TestAgent, defendant: TestAgent, ruling: str) -> None:
        """A dispute without a subject, filed and decided."""
        body = {"defendant_did": defendant.did, "reason_code": "OTHER", "description": "Bad work."}
        filed = await self.registry.post("/disputes/", json=body, headers=complainant.headers)
        assert filed.status_code == 201, filed.text
        administrator = await self.registry.administrator("admin_enforcement")
        for act, sent in (("open-voting", None), ("ruling", {"ruling": ruling, "note": "As found."})):
            path = f"/api/v1/admin/disputes/{filed.json()['id']}/{act}"
            answer = await self.registry.http.put(path, json=sent, headers=administrator.headers)
            assert answer.status_code == 200, answer.text

    async def follow(self) -> None:
        """Bring the new events into the signals and the records."""

        async def react(tx: Tx) -> None:
            rows = await tx.fetch(_NEW_EVENTS, list(scores.SIGNALS.type_names))
            for event in stored(rows):
                await scores.SIGNALS.react(tx, event)

        await self.registry.database.transaction(react)
        await run_due(self.registry.runtime, scores.RECORD_SIGNALS)

    async def compute(self, days_later: int = 1) -> date:
        """Everything is followed, and scores are computed as on a later day; cards show them."""
        await self.follow()
        epoch = (datetime.now(UTC) + timedelta(days=days_later)).date()
        await scores.compute_epoch(self.registry.runtime, epoch)
        await self.registry.database.transaction(show_scores)
        return epoch

    async def reputation(self, did: str) -> dict[str, Any]:
        return await self.read(f"/agents/{did}/reputation")

    async def track_record(self, did: str) -> dict[str, Any]:
        return await self.read(f"/agents/{did}/track-record")

    async def read(self, path: str, **query: Any) -> dict[str, Any]:
        answer = await self.registry.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def exported(self, limit: int = 1000) -> dict[str, Any]:
        """All pages of the export."""
        page = whole = await self.read("/reputation/export", limit=limit)
        while page["next"]:
            page = await self.read("/reputation/export", limit=limit, **page["next"])
            whole = {
                **whole,
                "events": whole["events"] + page["events"],
                "scores": whole["scores"] + page["scores"],
            }
        return whole


@asynccontextmanager
async def open_rated(farm: DatabaseFarm, directory: Path, **settings: object) -> AsyncIterator[Rated]:
    async with open_copy(farm, directory, **settings) as registry:
        yield Rated(registry)
