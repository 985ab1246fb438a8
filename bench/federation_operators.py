"""federation/operators: transfers within 1, 2 and 4 operator registries of one frame, and crossings between them.

Every registry is a `hansa serve` with its own database, all on this machine: with more registries than cores the sum says
the capacity of one machine, and the CPU of each transfer the need of a machine of its own. The baseline are two registries of
trust domains of their own, as many callers at each.
"""

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import asyncpg
import httpx2

from bench.crossing_client import Body, Driven, drive
from bench.federation_crossings import (
    QUIET_SECONDS,
    End,
    beside,
    command,
    free_ports,
    join,
    named_settings,
    prepared,
    quiet,
    serving,
)
from bench.figures import Figures
from bench.http_transfer import Service, prepare_callers
from bench.process_cpu import used_by
from bench.seed import bench_runtime, seed_agents, temporary_directory
from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import auditor, ledger
from hansa.rooms.federation.did_claims import CLAIM_DIDS

COUNTS = (1, 2, 4)
CONNECTIONS = 32
"""Of the callers of each registry."""
AGENTS = 100
FUNDING = "100"
SECONDS, SECONDS_FULL = 4.0, 8.0
ROUNDS, ROUNDS_FULL = 1, 2
TARGET_RATIO = 1.5
UNAVAILABLE = 503
TRUST_DOMAIN = "frame.example"
NAMES = ("north", "south", "east", "west")

_OPEN = "INSERT INTO ledger_account (did, kind) SELECT unnest($1::text[]), 'agent'"
_CLAIM = """
INSERT INTO federation_did_claim (digest, state) SELECT sha256(convert_to(did, 'UTF8')), $2 FROM unnest($1::text[]) did
"""


@dataclass(frozen=True)
class _Sender:
    """A registry whose agents pay each other, and those of another one."""

    end: End
    service: Service
    target: End


@dataclass(frozen=True)
class _Rounds:
    count: int
    seconds: float


async def run(*, full: bool) -> Figures:
    figures = Figures()
    rounds = _Rounds(ROUNDS_FULL, SECONDS_FULL) if full else _Rounds(ROUNDS, SECONDS)
    async with AsyncExitStack() as stack:
        homes = [await stack.enter_async_context(temporary_directory()) for _ in range(2)]
        # Each pays to and fro: what an operator costs above a registry of its own is measured at the same concurrency.
        a, b = await prepared(homes, AGENTS)
        services = [await stack.enter_async_context(serving(end)) for end in (a, b)]
        await join(a, b)
        senders = [_Sender(a, services[0], b), _Sender(b, services[1], a)]
        plain = await _measured("2 registries of their own", senders, services, rounds, figures)
        await _check([a, b], figures)
    async with AsyncExitStack() as stack:
        homes = [await stack.enter_async_context(temporary_directory()) for _ in range(max(COUNTS) + 1)]
        frame, operators = await _prepared(homes)
        services = [await stack.enter_async_context(serving(end)) for end in (frame, *operators)]
        await _join(frame, operators)
        await _fund(frame, services[0], operators)
        for count in COUNTS:
            working = operators[:count]
            targets = working[1:] + working[:1] if count > 1 else [frame]
            senders = [_Sender(*one) for one in zip(working, services[1:], targets, strict=False)]
            # Operators that do nothing meanwhile are none of the federation that is measured.
            each = await _measured(f"{count} operators", senders, services[: count + 1], rounds, figures)
            figures.notes.append(
                f"{count} operators: {each / plain:.2f} x a crossing of 2 registries of their own (target {TARGET_RATIO})"
            )
        await _check([frame, *operators], figures)
    figures.notes.append(
        "sound: no refusal, delta zero everywhere, and each pair has the same totals on both sides"
    )
    return figures


async def _measured(
    what: str, senders: Sequence[_Sender], services: Sequence[Service], rounds: _Rounds, figures: Figures
) -> float:
    """Transfers within and across; returns the processor time of a crossing at all registries, in milliseconds."""
    ends = [sender.end for sender in senders]
    cost = 0.0
    for kind, path, bodies in (
        ("transfers within", "/api/v1/teg/transfer", [_within(end) for end in ends]),
        (
            "crossings",
            "/api/v1/teg/cross-registry-transfer",
            [_across(sender.end, sender.target) for sender in senders],
        ),
    ):
        # First connections, first plans, and DIDs that are met for the first time.
        await _driven(senders, path, bodies, rounds.seconds / 2)
        await quiet(*ends)
        rates, cpu = [], []
        for _ in range(rounds.count):
            before = _used(services)
            driven = await _driven(senders, path, bodies, rounds.seconds)
            await quiet(*ends)
            done = sum(len(one.waited) for one in driven)
            rates.append(sum(one.per_second for one in driven))
            cpu.append((_used(services) - before) / max(1, done) * 1000)
            refused = [answer for one in driven for answer in one.refused]
            figures.books_are_sound &= not refused
            figures.notes += [f"{what}, {kind}: refused {refused[0]}"] if refused else []
        figures.add(f"{what}: {kind}", "/s", rates)
        cost = figures.add(f"{what}: CPU of all registries, {kind}", "ms each", cpu)
    return cost


async def _check(ends: Sequence[End], figures: Figures) -> None:
    await quiet(*ends)
    figures.books_are_sound &= await _sound(ends)


def _used(services: Sequence[Service]) -> float:
    return sum(used_by(service.pid) for service in services)


def _within(one: End) -> Body:
    def body(number: int) -> tuple[str, str]:
        token, _ = one.callers[number % AGENTS]
        payee = one.dids[(number + 1 + number // AGENTS % (AGENTS - 1)) % AGENTS]
        amount = "0.00000001"
        return token, json.dumps({"receiver_agent_id": payee, "amount": amount})

    return body


def _across(one: End, other: End) -> Body:
    def body(number: int) -> tuple[str, str]:
        token, _ = one.callers[number % AGENTS]
        return token, json.dumps({"receiver_did": other.dids[number % AGENTS], "amount": "0.001"})

    return body


async def _driven(
    senders: Sequence[_Sender], path: str, bodies: Sequence[Body], seconds: float
) -> list[Driven]:
    return await asyncio.gather(
        *(
            drive(sender.service.url, path, body, connections=CONNECTIONS, seconds=seconds)
            for sender, body in zip(senders, bodies, strict=True)
        )
    )


async def _prepared(homes: Sequence[Path]) -> tuple[End, list[End]]:
    """A frame with funded agents, and operator registries whose agents hold nothing yet."""
    ports = free_ports(2 * len(homes))
    ends = []
    for number, home in enumerate(homes):
        settings = _settings(number, ports)
        more = {"genesis_supply": "9000000000"} if number == 0 else {"genesis_supply": "0"}
        async with bench_runtime(home, **more, **named_settings(settings)) as runtime:
            dids = await (seed_agents(runtime, AGENTS) if number == 0 else _open_agents(runtime))
            await _claim(runtime, dids)
            listed = await prepare_callers(runtime, dids, home)
        lines = [line.split() for line in listed.read_text().splitlines()]
        ends.append(End(home, settings, dids, [(token, did) for token, did in lines]))
    return ends[0], ends[1:]


def _settings(number: int, ports: Sequence[int]) -> dict[str, str]:
    public, federated = ports[2 * number : 2 * number + 2]
    return {
        "TRUST_DOMAIN": TRUST_DOMAIN,
        "REGISTRY_NAME": "frame" if number == 0 else NAMES[number - 1],
        **({} if number == 0 else {"REGISTRY_TIER": "cloud-operator"}),
        "PORT": str(public),
        "PUBLIC_BASE_URL": f"http://127.0.0.1:{public}",
        "FEDERATION_PORT": str(federated),
        "FEDERATION_BASE_URL": f"https://127.0.0.1:{federated}",
        "OUTGOING_ALLOW_HOSTS": ",".join(f"127.0.0.1:{port}" for port in ports),
        "LOG_LEVEL": "warning",
    }


async def _open_agents(runtime: Runtime) -> list[str]:
    """Accounts without units."""
    name = runtime.settings.registry_name
    dids = [f"did:hansa:{TRUST_DOMAIN}:{name}-{number}" for number in range(AGENTS)]
    connection = await asyncpg.connect(runtime.database.dsn)
    await connection.execute(_OPEN, dids)
    await connection.close()
    return dids


async def _claim(runtime: Runtime, dids: list[str]) -> None:
    """The frame holds its own DIDs; an operator claims its own there once it is enrolled."""

    async def claim(tx: Tx) -> None:
        if runtime.settings.is_operator:
            await tx.execute(_CLAIM, dids, "waiting")
            await jobs.enqueue(tx, CLAIM_DIDS.name, "own")
        else:
            await tx.execute(_CLAIM, dids, "held")

    await runtime.database.transaction(claim)


async def _join(frame: End, operators: Sequence[End]) -> None:
    """Enrol each operator at the frame, make the operators peers of each other, and wait for the claims of their DIDs."""
    for operator in operators:
        name = operator.settings["REGISTRY_NAME"]
        invited = json.loads(await command(frame, "peer", "invite", "--operator", name, "--json"))
        await command(operator, "peer", "accept", invited["invitation"], "--json")
    for number, one in enumerate(operators):
        for other in operators[number + 1 :]:
            invited = json.loads(await command(one, "peer", "invite", "--json"))
            await command(other, "peer", "accept", invited["invitation"], "--json")
    for end in (frame, *operators):
        async with beside(end) as runtime:
            await runtime.database.transaction(
                lambda tx: tx.execute("UPDATE federation_peer SET net_in_limit = NULL")
            )
            await _until(runtime, "SELECT bool_and(status = 'active') FROM federation_peer")
            await _until(
                runtime, "SELECT NOT EXISTS (SELECT FROM federation_did_claim WHERE state = 'waiting')"
            )


async def _until(runtime: Runtime, condition: str) -> None:
    deadline = monotonic() + QUIET_SECONDS
    while not await runtime.database.query(lambda tx: tx.fetchval(condition)):
        assert monotonic() < deadline, condition
        await asyncio.sleep(0.2)


async def _fund(frame: End, service: Service, operators: Sequence[End]) -> None:
    """Pay every agent of the operators from the frame: an operator issues no units."""
    async with httpx2.AsyncClient(base_url=service.url, timeout=60) as http:
        places = asyncio.Semaphore(16)

        async def ask(number: int, did: str) -> httpx2.Response:
            token, _ = frame.callers[number % AGENTS]
            return await http.post(
                "/api/v1/teg/cross-registry-transfer",
                json={"receiver_did": did, "amount": FUNDING},
                headers={"Authorization": f"Bearer {token}"},
            )

        async def pay(number: int, did: str) -> None:
            async with places:
                answer = await ask(number, did)
                # The first connections to a new peer take long: what was aborted meanwhile moved nothing.
                while answer.status_code == UNAVAILABLE:
                    answer = await ask(number, did)
            assert answer.status_code == 200, answer.text

        payees = [did for operator in operators for did in operator.dids]
        await asyncio.gather(*(pay(number, did) for number, did in enumerate(payees)))
    await quiet(frame, *operators)


async def _sound(ends: Sequence[End]) -> bool:
    """Return whether delta is zero at every registry, and each pair has sent and received the same."""
    totals = {}
    is_ok = True
    for end in ends:
        async with beside(end) as runtime:
            is_ok &= (await runtime.database.read(auditor.audit_supply)).is_ok
            for other in ends:
                if other is not end:
                    found = await runtime.database.query(lambda tx, other=other: _totals(tx, runtime, other))  # type: ignore[misc]
                    totals[_ledger_id(end), _ledger_id(other)] = found
    return is_ok and all(out == totals[b, a][1] for (a, b), (out, _) in totals.items())


async def _totals(tx: Tx, runtime: Runtime, other: End) -> tuple[int, int]:
    """Return the amounts committed to the other registry, and from it."""
    found = await ledger.totals_with(tx, _ledger_id(other), ledger.Book.of(runtime.settings))
    return (0, 0) if found is None else (found.committed_out, found.committed_in)


def _ledger_id(end: End) -> str:
    is_operator = "REGISTRY_TIER" in end.settings
    return f"{TRUST_DOMAIN}/registry/{end.settings['REGISTRY_NAME']}" if is_operator else end.trust_domain
