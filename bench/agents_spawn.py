"""agents/spawn: children spawned and ended by many parents at once, beside agents that are created in the same run."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from statistics import median
from typing import TypeVar

from bench.figures import Figures, percentile
from bench.process_cpu import used_by
from bench.seed import bench_runtime, temporary_directory
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import IS_DEVELOPER_SUSPENDED, Agent, Developer
from hansa.foundation.values.money import units
from hansa.rooms import agents, auditor, ledger, people, spawn

PARENTS, PARENTS_IN_FULL = 48, 480
DEVELOPERS, AT_ONCE = 16, 16
ROUNDS = 3
"""Each parent is created in one of them, and then has one child."""
PASSWORD = "Correct-Horse-7-Battery"
ADDRESS = {"url": "https://agent.example.org/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
CARD = {
    "name": "Parent",
    "description": "A parent of the bench.",
    "version": "1.0.0",
    "supportedInterfaces": [ADDRESS],
    "capabilities": {"streaming": False},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "main", "name": "Parent", "description": "Spawns.", "tags": ["bench"]}],
}
Made = TypeVar("Made")


async def run(*, full: bool) -> Figures:
    figures, count = Figures(), PARENTS_IN_FULL if full else PARENTS
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        developers = [await _developer(runtime, number) for number in range(DEVELOPERS)]
        created, spawned, ended, late = [], [], [], []
        used = {"a creation": 0.0, "a spawn": 0.0, "an end": 0.0}
        for number in range(ROUNDS):
            tokens = [await _token(runtime, developers[one % DEVELOPERS]) for one in range(count)]
            before = used_by(os.getpid())
            rate, _, dids = await _measured(lambda token: _create(runtime, token), tokens)
            created.append(rate)
            used["a creation"] += used_by(os.getpid()) - before
            parents = [await _funded(runtime, did, number) for did in dids]
            before = used_by(os.getpid())
            rate, took, children = await _measured(lambda parent: _spawn(runtime, parent), parents)
            spawned.append(rate)
            late.append(percentile(sorted(took), 0.99))
            used["a spawn"] += used_by(os.getpid()) - before
            before = used_by(os.getpid())
            pairs = list(zip(parents, children, strict=True))
            rate, _, _ = await _measured(lambda pair: _end(runtime, *pair), pairs)
            ended.append(rate)
            used["an end"] += used_by(os.getpid()) - before
        figures.add("agents created", "/s", created)
        figures.add("children spawned, each in a tree of its own", "/s", spawned)
        figures.add(f"a spawn, {AT_ONCE} at once, p99", "ms", late)
        figures.add("children ended and swept", "/s", ended)
        for act, seconds in used.items():
            figures.add(f"CPU of process and database for {act}", "ms", [seconds * 1000 / (ROUNDS * count)])
        figures.notes.append(f"ratio of spawns to creations: {median(spawned) / median(created):.2f}")
        figures.books_are_sound = (await runtime.database.read(auditor.audit_supply)).is_ok
    return figures


async def _measured(
    act: Callable[[Made], Awaitable[str]], given: Sequence[Made]
) -> tuple[float, list[float], list[str]]:
    """Acts each second, the milliseconds of each, and what they returned, in order."""
    places, took = asyncio.Semaphore(AT_ONCE), []

    async def acted(one: Made) -> str:
        async with places:
            start = time.perf_counter()
            made = await act(one)
            took.append((time.perf_counter() - start) * 1000)
            return made

    began = time.perf_counter()
    made = await asyncio.gather(*map(acted, given))
    return len(given) / (time.perf_counter() - began), took, made


async def _developer(runtime: Runtime, number: int) -> Developer:
    email = f"bench{number}@example.org"
    admitted = await people.admit_administrator(
        name=f"Bench {number}", email=email, password=PASSWORD, areas=()
    )
    await runtime.database.transaction(lambda tx: people.create_administrator(tx, admitted))
    found: int = await runtime.database.query(
        lambda tx: tx.fetchval("SELECT id FROM people_developer WHERE email = $1", email)
    )
    return Developer(found, email, "bench", True, frozenset(), False)


async def _token(runtime: Runtime, developer: Developer) -> str:
    async def issued(tx: Tx) -> str:
        made = await agents.issue_bootstrap_token(
            tx,
            developer,
            agent_type_hint=None,
            requested_by=None,
            lifetime_seconds=3600,
            is_suspended=IS_DEVELOPER_SUSPENDED.of(runtime),
            organizations=agents.ORGANIZATION_AGENTS.of(runtime),
        )
        return made.token

    return await runtime.database.transaction(issued)


async def _create(runtime: Runtime, token: str) -> str:
    settings, identity = runtime.settings, agents.new_identity(runtime.settings, None)
    asked = agents.Onboarding(token, identity, host=None, card=CARD, site="bench")
    is_suspended = IS_DEVELOPER_SUSPENDED.of(runtime)
    organizations = agents.ORGANIZATION_AGENTS.of(runtime)
    await runtime.database.transaction(
        lambda tx: agents.create_agent(tx, asked, settings, is_suspended, organizations)
    )
    return identity.did


async def _funded(runtime: Runtime, did: str, number: int) -> Agent:
    book = ledger.Book.of(runtime.settings)
    await runtime.database.transaction(
        lambda tx: ledger.grant(tx, payee=did, amount=units(100), ref=f"bench {number}", book=book)
    )
    return await runtime.database.query(lambda tx: agents.active_agent(tx, did))


async def _spawn(runtime: Runtime, parent: Agent) -> str:
    identity = agents.new_identity(runtime.settings, None)
    order = spawn.SpawnOrder(
        card={"name": "Helper"},
        is_listed=False,
        roles=None,
        funding=units(10),
        policy={},
        ttl_seconds=None,
        identity=identity,
    )
    made = await runtime.database.transaction(lambda tx: spawn.spawn(tx, parent, parent.did, order, runtime))
    assert isinstance(made, spawn.Spawned)
    return identity.did


async def _end(runtime: Runtime, parent: Agent, did: str) -> str:
    ended = await runtime.database.transaction(lambda tx: spawn.end_child(tx, parent, did, runtime))
    assert ended.child.state == "ended"
    return did
