"""http/paid-call: calls of a paid service through the kit, over loopback: bought, sent, worked on, settled and answered."""

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from rich.console import Console

from bench.figures import Figures, percentile
from bench.http_transfer import beside, served
from bench.process_cpu import used_alone, used_by
from bench.seed import bench_runtime, temporary_directory
from hansa.doors.demo.cards import demo_cards, echo_card
from hansa.doors.demo.client import DemoAgent, DemoClient
from hansa.doors.demo.screen import Screen
from hansa.rooms import auditor
from hansa_client import AgentCredentials, AsyncRegistry
from hansa_client.pay import AsyncPayingClient, paying

PRICE = "0.001"
# Each payer has at most 20 unused tokens.
PAYERS, CALLS_AT_ONCE_OF_EACH = 4, 8
CALLS_ALONE, CALLS, CALLS_IN_FULL = 100, 1_000, 20_000
WARM_UP = 20
PASSWORD = "Bench-Harbour-41-Lantern"
SETTINGS = {"RATE_LIMIT_READS": "off", "LOG_LEVEL": "warning"}


@dataclass
class Calls:
    """A service and its payers; `took` are milliseconds, of calls that were answered."""

    payers: list[AsyncPayingClient]
    payee: DemoAgent
    url: str
    service_pid: int
    is_sound: bool = True

    async def timed(self, payer: AsyncPayingClient, body: str, took: list[float]) -> None:
        started = time.perf_counter()
        answer = await payer.post(self.url, content=body.encode(), extensions=paying(payee=self.payee.did))
        took.append((time.perf_counter() - started) * 1000)
        self.is_sound &= (answer.status_code, answer.text) == (200, body)

    async def one_by_one(self, number: int) -> list[float]:
        took: list[float] = []
        for place in range(number):
            await self.timed(self.payers[0], f"alone {place}", took)
        return took

    async def at_once(self, number: int) -> list[float]:
        took: list[float] = []
        waiting = iter(range(number))

        async def work(payer: AsyncPayingClient) -> None:
            for place in waiting:
                await self.timed(payer, f"at once {place}", took)

        async with asyncio.TaskGroup() as group:
            for payer in self.payers * CALLS_AT_ONCE_OF_EACH:
                group.create_task(work(payer))
        return took


async def run(*, full: bool) -> Figures:
    figures = Figures()
    async with temporary_directory() as directory, AsyncExitStack() as opened:
        async with bench_runtime(directory):
            pass
        service = await opened.enter_async_context(served(directory, **SETTINGS))
        runtime = await opened.enter_async_context(beside(directory))
        calls = await opened.enter_async_context(_calls(service.url, directory))
        await calls.one_by_one(WARM_UP)
        alone = await calls.one_by_one(CALLS_ALONE)
        before, started = _used(service.pid, calls.service_pid), time.perf_counter()
        took = await calls.at_once(CALLS_IN_FULL if full else CALLS)
        seconds, after = time.perf_counter() - started, _used(service.pid, calls.service_pid)
        at_once = PAYERS * CALLS_AT_ONCE_OF_EACH
        for what, samples in (("one after the other", alone), (f"{at_once} at once", took)):
            figures.add(f"a paid call through the kit, {what}", "ms", samples)
            figures.add("p99 of these", "ms", [percentile(sorted(samples), 0.99)])
        figures.add(f"paid calls, {at_once} at once", "/s", [len(took) / seconds])
        for process, used in after.items():
            figures.add(f"CPU of these, {process}", "us", [(used - before[process]) * 1e6 / len(took)])
        figures.notes.append("targets, 32 at once: p50 15 ms, p99 60 ms")
        settled = await runtime.database.query(
            lambda tx: tx.fetchval("SELECT count(*) FROM commerce_payment_token WHERE status = 'settled'")
        )
        figures.books_are_sound = (
            calls.is_sound
            and settled == WARM_UP + len(alone) + len(took)
            and (await runtime.database.read(auditor.audit_supply)).is_ok
        )
    return figures


def _used(registry: int, service: int) -> dict[str, float]:
    """CPU seconds so far, by process; the payers are in this one."""
    whole, registry_alone = used_by(registry), used_alone(registry)
    used = {
        "payer": used_alone(os.getpid()),
        "service": used_by(service),
        "registry": registry_alone,
        "PostgreSQL": whole - registry_alone,
    }
    return {**used, "together": sum(used.values())}


@asynccontextmanager
async def _calls(url: str, directory: Path) -> AsyncIterator[Calls]:
    """The service in a process of its own, and its payers in this one."""
    async with AsyncExitStack() as opened:
        http = await opened.enter_async_context(httpx2.AsyncClient(base_url=url, timeout=60))
        client = DemoClient(http, Screen(Console(quiet=True), 0))
        listener = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        card = echo_card("bench", address, PRICE, "AVT")
        payee = await _agent(client, "payee", card)
        payers = [
            await _agent(client, f"payer{number}", demo_cards(f"{number}")[0]) for number in range(PAYERS)
        ]
        serving = _serving(url, payee, directory, listener.fileno())
        service_pid = await opened.enter_async_context(serving)
        paying_clients = []
        for number, payer in enumerate(payers):
            registry = await opened.enter_async_context(
                AsyncRegistry(url, agent=AgentCredentials(payer.client_id, payer.client_secret))
            )
            journal = directory / f"payer{number}.db"
            paying_client = AsyncPayingClient(registry, max_amount=PRICE, journal=journal)
            paying_clients.append(await opened.enter_async_context(paying_client))
        yield Calls(paying_clients, payee, f"{address}/work", service_pid)


async def _agent(client: DemoClient, name: str, card: dict[str, object]) -> DemoAgent:
    owner = await client.join(name, f"{name}@example.com", PASSWORD)
    return await client.create_agent(owner, "hansa", card)


@asynccontextmanager
async def _serving(url: str, payee: DemoAgent, directory: Path, listener: int) -> AsyncIterator[int]:
    """The process id of the service."""
    stated = {
        "listener": listener,
        "agent_did": payee.did,
        "registry_url": url,
        "credentials": [payee.client_id, payee.client_secret],
        "price": PRICE,
        "store": str(directory / "paid-calls.db"),
        "signing_key_pem": payee.private_key_pem,
    }
    command = (sys.executable, "-m", "bench.paid_service", json.dumps(stated))
    process = await asyncio.create_subprocess_exec(*command, pass_fds=(listener,))
    try:
        yield process.pid
    finally:
        process.terminate()
        await process.wait()
