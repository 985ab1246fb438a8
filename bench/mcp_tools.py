"""mcp/tools: find_agents over 10,000 cards beside GET /agent-cards/discover, and buy_call beside POST /a2a-payment/buy.

- Searches are driven by wrk, by callers drawn at random: each has 120 calls of tools a minute.
- Purchases are made one after the other, in turns, by payers of their own: each has 20 calls of tools a minute that move units.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
from rich.console import Console

from bench.card_seed import load_cards
from bench.catalogue_search import mixed_searches
from bench.figures import Figures
from bench.http_transfer import Service, beside, prepare_callers, served
from bench.process_cpu import used_by
from bench.seed import bench_runtime, seed_agents, temporary_directory
from bench.wrk import drive, is_missing
from hansa.doors.demo.cards import echo_card
from hansa.doors.demo.client import DemoClient
from hansa.doors.demo.screen import Screen
from hansa.rooms import auditor

CARDS = 10_000
CALLERS = 1000
CONNECTIONS = 32
PAGE = 10
LOADED_AFTER = 20
SECONDS, SECONDS_IN_FULL = 5, 30
PERIODIC_TASKS = 3
PURCHASES, PURCHASES_OF_A_PAYER = 150, 15
PRICE = "0.01"
SETTINGS = {"RATE_LIMIT_READS": "off", "RATE_LIMIT_WRITES": "off", "LOG_LEVEL": "warning"}
FIELDS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
_numbers = count(1)


async def run(*, full: bool, workers: int = 1) -> Figures:
    """Measure a service of so many workers."""
    figures = Figures()
    if is_missing(figures):
        return figures
    async with temporary_directory() as directory, _payee() as address:
        async with bench_runtime(directory) as runtime:
            await load_cards(runtime.database.dsn, CARDS)
            dids = await seed_agents(runtime, CALLERS)
            callers = await prepare_callers(runtime, dids, directory)
        place = urlsplit(address).netloc
        settings = {**SETTINGS, "OUTGOING_ALLOW_USER_HOSTS": place}
        async with served(directory, workers, **settings) as service, beside(directory) as runtime:
            async with httpx2.AsyncClient(base_url=service.url, timeout=60) as http:
                client = DemoClient(http, Screen(Console(quiet=True), 0))
                owner = await client.join("payee", "payee@example.com", "Bench-Harbour-41-Lantern")
                payee = await client.create_agent(owner, "hansa", echo_card("bench", address, PRICE, "AVT"))
                tokens = [line.split()[0] for line in callers.read_text().splitlines()]
                await _loaded(http, tokens[0])
                await _buy_in_turns(http, tokens, payee.did, figures)
            seconds = SECONDS_IN_FULL if full else SECONDS
            await _search_in_turns(service, callers, directory, figures, seconds)
            figures.books_are_sound &= (await runtime.database.read(auditor.audit_supply)).is_ok
    return figures


async def _search_in_turns(
    service: Service, callers: Path, directory: Path, figures: Figures, seconds: int
) -> None:
    """The same searches by the tool and by the route."""
    searches = [_search(path) for path in mixed_searches(directory, CARDS).read_text().splitlines()]
    paths, messages = directory / "same-paths", directory / "messages"
    paths.write_text("".join(f"/api/v1/agent-cards/discover?{urlencode(search)}\n" for search in searches))
    calls = [_call("find_agents", {**search, "answerable_only": False}) for search in searches]
    messages.write_text("".join(f"{json.dumps(call)}\n" for call in calls))
    runs = {
        "find_agents": ("tools.lua", callers, messages),
        "GET /agent-cards/discover": ("search.lua", paths),
    }
    rates: dict[str, list[float]] = {name: [] for name in runs}
    p50s: dict[str, list[float]] = {name: [] for name in runs}
    p99s: dict[str, list[float]] = {name: [] for name in runs}
    used: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(PERIODIC_TASKS):
        for name, (script, *arguments) in runs.items():
            before = used_by(service.pid)
            driven = await drive(
                str(script), service.url, *arguments, connections=CONNECTIONS, seconds=seconds
            )
            figures.books_are_sound &= driven.refused == 0
            used[name].append((used_by(service.pid) - before) * 1000 / driven.answered)
            rates[name].append(driven.per_second)
            assert driven.p50_ms is not None
            p50s[name].append(driven.p50_ms)
            p99s[name].append(driven.p99_ms)
    for name in runs:
        figures.add(f"{name}, {CONNECTIONS} connections", "/s", rates[name])
        figures.add("  p50", "ms", p50s[name])
        figures.add("  p99", "ms", p99s[name])
        figures.add("  CPU of the registry and PostgreSQL", "ms", used[name])
    tool, route = used.values()
    added = [one - other for one, other in zip(tool, route, strict=True)]
    figures.add("find_agents adds, CPU", "ms", added)


def _search(path: str) -> dict[str, Any]:
    """The search of a path, as far as the tool has it."""
    query = dict(parse_qsl(urlsplit(path).query))
    query.pop("sort", None)
    return {**query, "offset": int(query.get("offset", 0)), "limit": PAGE}


def _call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": next(_numbers), "method": "tools/call", "params": params}


async def _loaded(http: httpx2.AsyncClient, token: str) -> None:
    """Wait until the tools are loaded in every process: so many new connections in a row are answered."""
    message, headers = _call("read_registry", {}), {**_of(token), "Connection": "close"}
    in_a_row = 0
    while in_a_row < LOADED_AFTER:
        answer = await http.post("/mcp/rpc", json=message, headers=headers)
        in_a_row = 0 if answer.status_code == httpx2.codes.SERVICE_UNAVAILABLE else in_a_row + 1
        await asyncio.sleep(0.1)


async def _buy_in_turns(http: httpx2.AsyncClient, tokens: list[str], payee: str, figures: Figures) -> None:
    """One purchase by the tool, one by the route, and again."""
    by_tool: list[float] = []
    by_route: list[float] = []
    for number in range(PURCHASES):
        headers = _of(tokens[number // PURCHASES_OF_A_PAYER])
        asked = {"agent": payee, "message": f"message {number}"}
        preview = await _timed(http, "/mcp/rpc", _call("preview_call", asked), headers, [])
        intent = preview["result"]["structuredContent"]["result"]["intent"]
        bought = await _timed(http, "/mcp/rpc", _call("buy_call", {"intent": intent}), headers, by_tool)
        body = {"target_agent_did": payee, "message": f"message {number}", "max_amount": PRICE}
        keyed = {**headers, "Idempotency-Key": f"bench-{number}"}
        directly = await _timed(http, "/api/v1/a2a-payment/buy", body, keyed, by_route)
        settled = (bought["result"]["structuredContent"]["result"]["status"], directly["status"])
        figures.books_are_sound &= settled == ("settled", "settled")
    tool = figures.add("buy_call, one after the other", "ms", by_tool)
    route = figures.add("POST /a2a-payment/buy, in turns with it", "ms", by_route)
    figures.notes.append(f"buy_call adds {tool - route:.2f} ms at the median (target: 6 ms)")
    figures.notes.append("targets of find_agents: 800/s on two cores, p99 60 ms")


async def _timed(
    http: httpx2.AsyncClient, path: str, body: dict[str, Any], headers: dict[str, str], took: list[float]
) -> Any:
    began = time.perf_counter()
    answer = await http.post(path, json=body, headers=headers)
    took.append((time.perf_counter() - began) * 1000)
    assert answer.status_code == httpx2.codes.OK, answer.text
    return answer.json()


def _of(token: str) -> dict[str, str]:
    return {**FIELDS, "Authorization": f"Bearer {token}"}


@asynccontextmanager
async def _payee() -> AsyncIterator[str]:
    """The address of a service that answers each call at once."""

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower():
                length = int(head.partition("content-length:")[2].split("\r\n")[0] or 0)
                if not length:
                    # A health check reads a card that is not there.
                    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                    continue
                call = json.loads(await reader.readexactly(length))
                result = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "done"}]}
                body = json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode()
                fields = f"Content-Type: application/json\r\nContent-Length: {len(body)}"
                writer.write(f"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n".encode() + body)
                await writer.drain()
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
