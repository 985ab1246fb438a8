"""Metrics of agents equal what is recomputed from the events of the journal, whatever was counted when, and after which crash."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from hansa.foundation.events import A2APaymentFailed, CrossRegistryTransferCompleted
from hansa.foundation.values.money import Minor
from hansa.rooms import journal
from hansa.rooms.journal.store import COLUMNS, stored
from hansa.rooms.operations.metrics import counting, rules
from hansa.rooms.operations.metrics.counting import add_settled
from hansa.rooms.operations.metrics.records import Figures
from tests.paying import Payments
from tests.properties.scale import by_tier, printed_seed
from tests.registry import StartRegistry, TestAgent, TestRegistry, another_process

ROUNDS = by_tier(6, 60, 400)
FAULT_ROUNDS = 6
"""Enough histories to find each planted fault."""
ACTS_A_ROUND = 8
AGES = [
    *(timedelta(0), timedelta(minutes=20), timedelta(hours=3), timedelta(hours=23), timedelta(days=3)),
    *(timedelta(days=20), timedelta(days=50), timedelta(days=500)),
]
EDGES = 0.5
"""Share of ages that end at the edge of a minute."""
EXACT = ("paid_calls", "failed", "earned", "spent", "fees")


class Crash(Exception):
    """End of a process before its commit."""


class History:
    """Acts of a few agents in one registry, and the figures that follow from their events."""

    def __init__(self, registry: TestRegistry, agents: list[TestAgent], chance: random.Random) -> None:
        self.registry, self.agents, self.chance = registry, agents, chance

    async def act(self) -> None:
        payer, payee = self.chance.sample(self.agents, 2)
        payments = Payments(self.registry, payer, payee)
        amount = f"{self.chance.randrange(1, 30_000_000) / 10**8:.8f}"
        kind = self.chance.choice(["transfer", "call", "reserved", "released", "part", "failed", "in", "out"])
        if kind == "transfer":
            await payer.transfer(payee, amount)
        elif kind in {"failed", "in", "out"}:
            await self.registry.database.transaction(
                lambda tx: journal.append(tx, self._event(kind, payer, payee))
            )
        else:
            await self._call(payments, kind, amount)

    async def _call(self, payments: Payments, kind: str, amount: str) -> None:
        capture = {"capture_by": "payee"} if kind == "part" else {}
        made = await payments.authorized(amount, reserve=kind in {"reserved", "part"}, **capture)
        if kind == "released":
            await payments.release(made["token"])
        elif kind == "part":
            half = f"{Decimal(amount) / 3:.8f}"
            await payments.settle(made["token"], by=payments.service, wait=10, capture_amount=half)
        else:
            await payments.settle(made["token"], wait=10)

    def _event(self, kind: str, payer: TestAgent, payee: TestAgent) -> object:
        if kind == "failed":
            return A2APaymentFailed(
                token_id=str(uuid4()),
                caller=payer.did,
                payee=payee.did,
                amount="1",
                currency="AVT",
                task_id=None,
                reason="timeout",
            )
        elsewhere = "did:web:elsewhere.example"
        return CrossRegistryTransferCompleted(
            transfer_id=str(uuid4()),
            direction=kind,
            sender_did=payer.did if kind == "out" else elsewhere,
            receiver_did=elsewhere if kind == "out" else payee.did,
            amount="1.25",
            amount_received="1.2",
            fee="0.05",
            currency="AVT",
            counterparty_frame="elsewhere",
        )

    async def age(self) -> None:
        """Move the events that are not counted yet into the past, often to the very edge of a minute.

        The journal refuses every change but this one.
        """

        async def moved(tx) -> None:
            await tx.execute("SET LOCAL session_replication_role = replica")
            await tx.execute(
                "UPDATE journal_event SET recorded_at ="
                " CASE WHEN $2 THEN date_trunc('minute', recorded_at) ELSE recorded_at END - $1::interval"
                " WHERE xid >= (SELECT before_xid FROM operations_metric_counted)",
                self.chance.choice(AGES),
                self.chance.random() < EDGES,
            )

        await self.registry.transactions_ended()
        await self.registry.database.transaction(moved)

    async def count(self) -> None:
        """Count in one process or in two at once, of which one may crash before its commit."""
        processes = [self.registry.runtime, another_process(self.registry.runtime)]
        await asyncio.gather(
            *(
                self._count(process, crashes=self.chance.random() < 0.4)
                for process in processes[: self.chance.randrange(1, 3)]
            )
        )

    async def _count(self, process, *, crashes: bool) -> None:
        async def counted(tx) -> None:
            await add_settled(tx, process)
            if crashes:
                raise Crash

        try:
            await process.database.transaction(counted)
        except Crash:
            assert crashes

    @asynccontextmanager
    async def late(self) -> AsyncIterator[None]:
        """A payment failed in a transaction that commits after later events were counted."""
        appended, may_commit = asyncio.Event(), asyncio.Event()

        async def held(tx) -> None:
            await journal.append(tx, self._event("failed", *self.agents[:2]))
            appended.set()
            await may_commit.wait()

        late = asyncio.create_task(self.registry.database.transaction(held))
        await appended.wait()
        try:
            yield
        finally:
            may_commit.set()
            await late

    async def events(self) -> list[journal.StoredEvent]:
        statement = f"SELECT {COLUMNS} FROM (SELECT x.* FROM journal_event e CROSS JOIN LATERAL journal_expand(e) x) event"
        return stored(await self.registry.database.read(lambda tx: tx.fetch(statement)))

    async def times(self) -> dict[str, float]:
        rows = await self.registry.database.read(
            lambda tx: tx.fetch(
                "SELECT id, extract(epoch FROM ended_at - created_at) * 1000 AS taken FROM commerce_payment_token WHERE status = 'settled'"
            )
        )
        return {str(row["id"]): float(row["taken"]) for row in rows}

    async def prove(self) -> None:
        """Compare the metrics of each agent in each range, whole and point by point, with the events."""
        events, times = await self.events(), await self.times()
        for agent in self.agents:
            for time_range, wanted in rules.RANGES.items():
                answer = await self.registry.get(
                    f"/agent-metrics/{agent.did}", params={"time_range": time_range}, headers=agent.headers
                )
                found = answer.json()
                begins = datetime.fromisoformat(found["from"])
                length = timedelta(seconds=wanted.seconds)
                within = [event for event in events if event.timestamp >= begins]
                compare(found["totals"], agent.did, within, times)
                for one in found["series"]:
                    at = datetime.fromisoformat(one["at"])
                    compare(
                        one,
                        agent.did,
                        [event for event in within if at <= event.timestamp < at + length],
                        times,
                    )


def compare(shown: dict, did: str, events: list, times: dict[str, float]) -> None:
    recomputed = dict.fromkeys(EXACT, Decimal(0))
    taken = []
    for event in events:
        data = event.data
        if event.event_type == "LedgerBalanceChanged" and data["tx_type"] in {"transfer", "capture"}:
            moved = sum(
                (Decimal(one["delta"]) for one in data["entries"] if one["account"] == did), Decimal(0)
            )
            if data["entries"][0]["account"] == did:
                recomputed["fees"] += Decimal(data["fee"])
                recomputed["spent"] -= moved + Decimal(data["fee"])
            else:
                recomputed["earned"] += moved
        elif event.event_type == "CrossRegistryTransferCompleted" and event.aggregate_id == did:
            is_out = data["direction"] == "out"
            recomputed["spent" if is_out else "earned"] += Decimal(
                data["amount" if is_out else "amount_received"]
            )
        elif event.event_type == "A2APaymentSettled" and did in {data["caller"], data["payee"]}:
            recomputed["paid_calls"] += 1
            taken.append(times[data["token_id"]])
        elif event.event_type == "A2APaymentFailed" and did in {data["caller"], data["payee"]}:
            recomputed["failed"] += 1
    assert {name: Decimal(shown[name]) for name in EXACT} == recomputed
    ended = recomputed["paid_calls"] + recomputed["failed"]
    assert shown["success_rate"] == (round(float(recomputed["paid_calls"] / ended), 4) if ended else None)
    for name, share in (("settle_p50_ms", 0.5), ("settle_p95_ms", 0.95)):
        if not taken:
            assert shown[name] is None
            continue
        exact = max(sorted(taken)[ceil(share * len(taken)) - 1], 1)
        # Milliseconds are whole before they are put into buckets, and afterwards.
        assert abs(shown[name] - exact) <= 0.045 * exact + 1.1


async def play(history: History, rounds: int) -> None:
    """Let rounds of acts be counted, each judged."""
    registry, chance = history.registry, history.chance
    for _ in range(rounds):
        async with history.late():
            for _ in range(chance.randrange(ACTS_A_ROUND)):
                await history.act()
            await history.count()
        for _ in range(chance.randrange(ACTS_A_ROUND)):
            await history.act()
        await history.age()
        await history.count()
        await registry.transactions_ended()
        await registry.database.transaction(lambda tx: add_settled(tx, registry.runtime))
        await history.prove()


async def test_metrics_equal_what_is_recomputed_from_the_events(start_registry: StartRegistry):
    registry = await start_registry()
    chance = random.Random(printed_seed())
    await play(History(registry, [await registry.agent() for _ in range(3)], chance), ROUNDS)


def _fee_missed(patch: pytest.MonkeyPatch) -> None:
    payments = journal.payments_between

    async def without_fees(*portion: Any) -> list[journal.Paid]:
        return [replace(one, fee=Minor(0)) for one in await payments(*portion)]

    patch.setattr(counting.journal, "payments_between", without_fees)


def _counted_on_both_sides_of_an_edge(patch: pytest.MonkeyPatch) -> None:
    take = counting.Tally._take

    def twice(tally: counting.Tally, event: journal.StoredEvent) -> None:
        take(tally, event)
        if event.timestamp == counting.minute_of(event.timestamp):
            take(tally, replace(event, timestamp=event.timestamp - timedelta(minutes=1)))

    patch.setattr(counting.Tally, "_take", twice)


def _sign_of_crossings_wrong(patch: pytest.MonkeyPatch) -> None:
    crossed = counting._crossed

    def reversed_(event: journal.StoredEvent) -> Figures:
        figures = crossed(event)
        return Figures(earned=figures.spent, spent=figures.earned)

    patch.setattr(counting, "_crossed", reversed_)


FAULTS = {
    "a fee is missed": _fee_missed,
    "a payment at the edge of a minute counts on both sides": _counted_on_both_sides_of_an_edge,
    "what comes in from another registry counts as spent": _sign_of_crossings_wrong,
}
SEED_OF_FAULTS = 7


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_planted_fault_is_found(
    start_registry: StartRegistry, fault: str, monkeypatch: pytest.MonkeyPatch
):
    registry = await start_registry()
    history = History(registry, [await registry.agent() for _ in range(3)], random.Random(SEED_OF_FAULTS))
    FAULTS[fault](monkeypatch)
    with pytest.raises(AssertionError):
        await play(history, FAULT_ROUNDS)
