"""federation/swaps: transfers into another currency between two `hansa serve`, and quotes, each registry with its own database."""

import asyncio
import json
from contextlib import AsyncExitStack
from time import monotonic
from typing import Any

import httpx2

from bench.crossing_client import drive
from bench.federation_crossings import QUIET_SECONDS, End, beside, command, join, prepared, quiet, serving
from bench.figures import Figures, percentile
from bench.http_transfer import PAYERS, Service
from bench.seed import temporary_directory
from hansa.doors import simulation
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import auditor

CONNECTIONS, QUOTING = 64, 8
ROUNDS = 3
SECONDS, SECONDS_FULL = 5.0, 30.0
ACCOUNTS, ACCOUNTS_FULL = 5_000, 100_000
RESERVE = "100000000"
PASSWORD = "Correct-Horse-7-Battery"  # of a registry that lives as long as the bench
TARGET_PER_SECOND, TARGET_QUOTE_P99_MS = 200, 20

_POOL = """
SELECT reserve_own, reserve_foreign, in_own + out_own + in_foreign + out_foreign AS pending,
  (SELECT liquid FROM ledger_account WHERE did LIKE '%:system:fx:%') AS leg FROM transfers_pool
"""


async def run(*, full: bool) -> Figures:
    figures = Figures()
    async with AsyncExitStack() as stack:
        homes = [await stack.enter_async_context(temporary_directory()) for _ in range(2)]
        currencies = ({"SETTLEMENT_CURRENCY": "ARA"}, {"SETTLEMENT_CURRENCY": "BOB"})
        a, b = await prepared(homes, ACCOUNTS_FULL if full else ACCOUNTS, *currencies)
        services = [await stack.enter_async_context(serving(end)) for end in (a, b)]
        await join(a, b)
        await _open_pool(a, b, services)
        await _measure(a, b, services, figures, SECONDS_FULL if full else SECONDS)
    figures.notes.append(f"target: {TARGET_PER_SECOND} swaps/s, p99 of a quote {TARGET_QUOTE_P99_MS} ms")
    figures.notes.append(
        "sound: no refusal, k never fell, reserves agree, legs hold them, delta zero on both sides"
    )
    played = simulation.pools.outcome(Settings())
    figures.notes += [": ".join(row) for table, _ in played.parts for row in table.rows]
    return figures


async def _open_pool(a: End, b: End, services: list[Service]) -> None:
    new = {"currency": "BOB", "peer": "b.example", "reserve_own": RESERVE, "reserve_foreign": RESERVE}
    for end, service, path, body in (
        (a, services[0], "pools", new),
        (b, services[1], "pools/ARA/fund", {"amount": RESERVE}),
    ):
        end.settings["HANSA_ADMIN_PASSWORD"] = PASSWORD
        await command(end, "admin", "create", "--name", "treasurer", "--email", "treasurer@example.org")
        async with httpx2.AsyncClient(base_url=f"{service.url}/api/v1") as client:
            form = {"username": "treasurer@example.org", "password": PASSWORD}
            token = (await client.post("/auth/login", data=form)).json()["access_token"]
            headers = {"Authorization": f"Bearer {token}"}
            opened = await client.post(f"/admin/fx/{path}", json=body, headers=headers)
            assert opened.is_success, opened.text
    deadline = monotonic() + QUIET_SECONDS
    while (await _pool(a))["reserve_foreign"] == 0:
        assert monotonic() < deadline, "the home did not receive the funding"
        await asyncio.sleep(0.1)


async def _measure(a: End, b: End, services: list[Service], figures: Figures, seconds: float) -> None:
    before = await _pool(a)

    def swap(number: int) -> tuple[str, str]:
        token, _ = a.callers[number % PAYERS]
        return token, json.dumps({"receiver_did": b.dids[number % len(b.dids)], "amount": "0.01"})

    def back(number: int) -> tuple[str, str]:
        token, _ = b.callers[number % PAYERS]
        return token, json.dumps({"receiver_did": a.dids[number % len(a.dids)], "amount": "0.01"})

    def quote(number: int) -> tuple[str, str]:
        token, _ = a.callers[number % PAYERS]
        return token, json.dumps({"to_currency": "BOB", "amount": "0.01"})

    refused: list[str] = []
    across = "/api/v1/teg/cross-registry-transfer"
    for what, url, body in (("from the home", services[0].url, swap), ("to the home", services[1].url, back)):
        rates, median, p99 = [], [], []
        for _ in range(ROUNDS):
            driven = await drive(url, across, body, connections=CONNECTIONS, seconds=seconds)
            await quiet(a, b)
            waited = sorted(driven.waited)
            assert waited, driven.refused[:1]
            refused += driven.refused
            rates.append(driven.per_second)
            median.append(percentile(waited, 0.5) * 1000)
            p99.append(percentile(waited, 0.99) * 1000)
        figures.add(f"swaps {what}, {CONNECTIONS} connections", "/s", rates)
        figures.add(f"until COMMIT, {what}, median", "ms", median)
        figures.add(f"until COMMIT, {what}, p99", "ms", p99)
    rates, p99 = [], []
    for _ in range(ROUNDS):
        driven = await drive(
            services[0].url, "/api/v1/teg/fx/quote", quote, connections=QUOTING, seconds=seconds
        )
        refused += driven.refused
        rates.append(driven.per_second)
        p99.append(percentile(sorted(driven.waited), 0.99) * 1000)
    figures.add(f"quotes, {QUOTING} connections", "/s", rates)
    figures.add("a quote, p99", "ms", p99)
    figures.notes.append(f"{len(refused)} refusals {refused[:1]}")
    figures.books_are_sound = not refused and await _sound(a, b, before)


async def _sound(a: End, b: End, before: dict[str, Any]) -> bool:
    home, away = await _pool(a), await _pool(b)
    verdicts = []
    for end in (a, b):
        async with beside(end) as runtime:
            verdicts.append((await runtime.database.read(auditor.audit_supply)).is_ok)
    agree = (home["reserve_own"], home["reserve_foreign"]) == (away["reserve_foreign"], away["reserve_own"])
    legs = all(one["leg"] == one["reserve_own"] and one["pending"] == 0 for one in (home, away))
    grew = home["reserve_own"] * home["reserve_foreign"] >= before["reserve_own"] * before["reserve_foreign"]
    return all(verdicts) and agree and legs and grew


async def _pool(end: End) -> dict[str, Any]:
    async with beside(end) as runtime:
        row = await runtime.database.query(lambda tx: tx.fetchrow(_POOL))
    assert row is not None
    return dict(row)
