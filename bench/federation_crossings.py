"""federation/crossings: transfers from one `hansa serve` to another over mutual TLS, each with its own database.

The baseline is the local transfer of the same callers on the same two registries, in the same run.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from time import monotonic
from typing import Any

from bench.crossing_client import drive
from bench.figures import Figures, percentile
from bench.http_transfer import PAYERS, Service, prepare_callers
from bench.process_cpu import used_alone, used_by
from bench.seed import bench_runtime, seed_agents, temporary_directory
from hansa.doors.startup import open_runtime
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import read_settings
from hansa.foundation.plumbing.storage.embedded import running_dsn
from hansa.rooms import auditor, ledger

CONNECTIONS = 128
ROUNDS = 3
SECONDS, SECONDS_FULL = 5.0, 30.0
ACCOUNTS, ACCOUNTS_FULL = 10_000, 100_000
TARGET_PER_SECOND, TARGET_P99_MS = 500, 400
QUIET_SECONDS = 120

_UNDER_WAY = """
SELECT EXISTS (SELECT FROM transfers_sent WHERE next_at IS NOT NULL)
  OR EXISTS (SELECT FROM transfers_received WHERE next_at IS NOT NULL)
"""


@dataclass(frozen=True)
class End:
    """One of the two registries: its data directory, the settings of its operator, and its agents."""

    directory: Path
    settings: dict[str, str]
    dids: list[str]
    callers: list[tuple[str, str]]
    """Token and DID."""

    @property
    def trust_domain(self) -> str:
        return self.settings["TRUST_DOMAIN"]


async def run(*, full: bool) -> Figures:
    figures = Figures()
    async with AsyncExitStack() as stack:
        homes = [await stack.enter_async_context(temporary_directory()) for _ in range(2)]
        a, b = await prepared(homes, ACCOUNTS_FULL if full else ACCOUNTS)
        services = [await stack.enter_async_context(serving(end)) for end in (a, b)]
        await join(a, b)
        await _measure(a, b, services, figures, SECONDS_FULL if full else SECONDS)
    figures.notes.append(f"target: {TARGET_PER_SECOND}/s, p99 {TARGET_P99_MS} ms")
    figures.notes.append("sound: no refusal, every transfer credited once, delta zero on both sides")
    return figures


async def prepared(homes: list[Path], accounts: int, *more: dict[str, str]) -> list[End]:
    """Two registries with agents; `more` are settings of each."""
    ports = free_ports(4)
    ends = []
    for number, home in enumerate(homes):
        public, federated = ports[2 * number : 2 * number + 2]
        settings = {
            "TRUST_DOMAIN": f"{'ab'[number]}.example",
            "REGISTRY_NAME": f"registry-{'ab'[number]}",
            "PORT": str(public),
            "PUBLIC_BASE_URL": f"http://127.0.0.1:{public}",
            "FEDERATION_PORT": str(federated),
            "FEDERATION_BASE_URL": f"https://127.0.0.1:{federated}",
            "OUTGOING_ALLOW_HOSTS": ",".join(f"127.0.0.1:{port}" for port in ports),
            "LOG_LEVEL": "warning",
            **(more[number] if more else {}),
        }
        named = named_settings(settings)
        # Below the limit of the whole supply, which what comes in counts toward.
        async with bench_runtime(home, genesis_supply="9000000000", **named) as runtime:
            dids = await seed_agents(runtime, accounts)
            listed = await prepare_callers(runtime, dids[:PAYERS], home)
        lines = [line.split() for line in listed.read_text().splitlines()]
        ends.append(End(home, settings, dids, [(token, did) for token, did in lines]))
    return ends


async def _measure(a: End, b: End, services: list[Service], figures: Figures, seconds: float) -> None:
    url = services[0].url

    def local(number: int) -> tuple[str, str]:
        token, _ = a.callers[number % PAYERS]
        payee = a.dids[PAYERS + number % (len(a.dids) - PAYERS)]
        return token, json.dumps({"receiver_agent_id": payee, "amount": "0.01"})

    def across(number: int) -> tuple[str, str]:
        token, _ = a.callers[number % PAYERS]
        return token, json.dumps({"receiver_did": b.dids[number % len(b.dids)], "amount": "0.01"})

    theirs, ours, median, p99, crossed, refused = [], [], [], [], 0, []
    pids = [service.pid for service in services]
    cpu: list[list[float]] = [[] for _ in range(3)]
    for _ in range(ROUNDS):
        base = await drive(url, "/api/v1/teg/transfer", local, connections=CONNECTIONS, seconds=seconds)
        theirs.append(base.per_second)
        used = _used(pids)
        driven = await drive(
            url, "/api/v1/teg/cross-registry-transfer", across, connections=CONNECTIONS, seconds=seconds
        )
        await quiet(a, b)
        waited = sorted(driven.waited)
        assert waited, driven.refused[:1]
        crossed += len(waited)
        refused += base.refused + driven.refused
        ours.append(driven.per_second)
        median.append(percentile(waited, 0.5) * 1000)
        p99.append(percentile(waited, 0.99) * 1000)
        for samples, before, after in zip(cpu, used, _used(pids), strict=True):
            samples.append((after - before) / len(waited) * 1000)
    baseline = figures.add(f"POST /teg/transfer, {CONNECTIONS} connections", "/s", theirs)
    rate = figures.add(f"crossings, {CONNECTIONS} connections", "/s", ours)
    figures.add("until COMMIT, median", "ms", median)
    figures.add("until COMMIT, p99", "ms", p99)
    for what, samples in zip(
        ("both registries", "the sender's service", "the receiver's service"), cpu, strict=True
    ):
        figures.add(f"CPU of {what}", "ms each", samples)
    figures.notes.append(
        f"ratio {rate / baseline:.2f} x the local transfer; {len(refused)} refusals {refused[:1]}"
    )
    figures.books_are_sound = not refused and await _sound(a, b, crossed)


def _used(pids: list[int]) -> list[float]:
    """CPU seconds of both registries with their databases, and of each service process."""
    return [sum(used_by(pid) for pid in pids), *(used_alone(pid) for pid in pids)]


async def _sound(a: End, b: End, crossed: int) -> bool:
    async with beside(a) as home, beside(b) as away:
        verdicts = [await one.database.read(auditor.audit_supply) for one in (home, away)]
        out = await home.database.query(lambda tx: ledger.totals_with(tx, b.trust_domain, _book(home)))
        into = await away.database.query(lambda tx: ledger.totals_with(tx, a.trust_domain, _book(away)))
    assert out is not None
    assert into is not None
    moved = crossed * 1_000_000
    return all(verdict.is_ok for verdict in verdicts) and (
        out.committed_out == out.confirmed_out == into.committed_in == moved
    )


def _book(runtime: Runtime) -> ledger.Book:
    return ledger.Book.of(runtime.settings)


def named_settings(settings: dict[str, str]) -> dict[str, str]:
    """The settings that a database is founded with."""
    names = ("TRUST_DOMAIN", "REGISTRY_NAME", "REGISTRY_TIER", "SETTLEMENT_CURRENCY")
    return {name.lower(): settings[name] for name in names if name in settings}


async def quiet(*ends: End) -> None:
    """Wait until both registries hold each other's receipts."""
    deadline = monotonic() + QUIET_SECONDS
    for end in ends:
        async with beside(end) as runtime:
            while await runtime.database.query(lambda tx: tx.fetchval(_UNDER_WAY)):
                assert monotonic() < deadline, "receipts are lacking"
                await asyncio.sleep(0.1)


async def join(a: End, b: End) -> None:
    """Make the two registries, which serve, peers of each other."""
    invited = json.loads(await command(a, "peer", "invite", "--json"))
    await command(b, "peer", "accept", invited["invitation"], "--json")
    for end in (a, b):
        async with beside(end) as runtime:
            await runtime.database.transaction(
                lambda tx: tx.execute("UPDATE federation_peer SET net_in_limit = NULL")
            )
        deadline = monotonic() + QUIET_SECONDS
        while not _is_active(json.loads(await command(end, "peer", "list", "--json"))):
            assert monotonic() < deadline, "the registries did not become peers"
            await asyncio.sleep(0.2)


def _is_active(peers: list[dict[str, Any]]) -> bool:
    return [peer["status"] for peer in peers] == ["active"]


async def command(end: End, *arguments: str) -> str:
    """Return the output of a command of this registry."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hansa.doors.operate", *arguments, f"--data-dir={end.directory}",
        stdout=asyncio.subprocess.PIPE, env={**os.environ, **end.settings},
    )  # fmt: skip
    output, _ = await process.communicate()
    assert process.returncode == 0, arguments
    return output.decode()


@asynccontextmanager
async def serving(end: End) -> AsyncIterator[Service]:
    """The registry as a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hansa.doors.operate", "serve", f"--data-dir={end.directory}",
        stdout=asyncio.subprocess.PIPE, env={**os.environ, **end.settings},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        yield Service(line.removeprefix("ready ").strip(), process.pid)
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def beside(end: End) -> AsyncIterator[Runtime]:
    """The database of a registry that serves."""
    settings = read_settings(data_dir=end.directory, **named_settings(end.settings))
    async with open_runtime(settings, running_dsn(end.directory)) as runtime:
        yield runtime


def free_ports(count: int) -> list[int]:
    """So many ports of this machine that are free now, each another one."""
    with ExitStack() as bound:
        free = [bound.enter_context(socket()) for _ in range(count)]
        for one in free:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in free]
