"""catalogue/writes: owners replace their cards, signed cards are made and served, single cards are read, over HTTP."""

import json
import random
import time
from pathlib import Path

import httpx2

from bench.card_seed import card_of, did_of, home_of, load_cards
from bench.figures import Figures
from bench.http_transfer import beside, served
from bench.seed import bench_runtime, temporary_directory
from bench.wrk import Driven, drive, is_missing
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Database
from hansa.rooms.catalogue.signatures import EXPORT_DESK

CONNECTIONS = 64
SECONDS = 5
PERIODIC_TASKS = 3
SIGNED = 2_000
OWNED = 500
SIZE = 10_000
SIZE_FULL = 100_000
EMAIL, PASSWORD = "owner@example.org", "Correct-Horse-7-Battery"
BASELINE = "/livez"

_OWNED = """
UPDATE catalogue_card SET developer_id = (SELECT id FROM people_developer WHERE email = $1), did = NULL
WHERE id IN (
  SELECT id FROM catalogue_card WHERE source_registry IS NULL AND status = 'active' ORDER BY id LIMIT $2
) RETURNING id, uuid
"""
_VERSIONS = "SELECT sum(version)::bigint FROM catalogue_card"


async def run(*, full: bool) -> Figures:
    figures = Figures()
    if is_missing(figures):
        return figures
    size = SIZE_FULL if full else SIZE
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            await load_cards(runtime.database.dsn, size)
            await _sign(runtime, size, figures)
        async with (
            served(directory, RATE_LIMIT_READS="off", LOG_LEVEL="warning") as service,
            beside(directory) as runtime,
        ):
            await _read(service.url, directory, size, figures)
            await _write(service.url, directory, runtime.database, figures)
    return figures


async def _sign(runtime: Runtime, size: int, figures: Figures) -> None:
    """Cards that were not signed before, one after the other."""
    desk = EXPORT_DESK.of(runtime)
    dids = _own_dids(size)[:SIGNED]
    began = time.perf_counter()
    for did in dids:
        await desk.export(did)
    figures.add("signed cards made, in process", "/s", [len(dids) / (time.perf_counter() - began)])


async def _read(url: str, directory: Path, size: int, figures: Figures) -> None:
    """Cards by their number and their DID, and signed cards that were mostly signed before."""
    api, lot = "/api/v1", random.Random(size)
    dids = lot.sample(_own_dids(size), SIGNED)
    requests = {
        BASELINE: [BASELINE],
        "a card by its number": [f"{api}/agent-cards/{lot.randint(1, size)}" for _ in range(SIGNED)],
        "a card by its DID": [f"{api}/agents/by-did/{did}" for did in dids],
        "a signed card": [f"{api}/agents/{did}/card-export" for did in dids],
    }
    medians = {}
    for name, paths in requests.items():
        file = directory / "paths"
        file.write_text("".join(f"{path}\n" for path in paths))
        rounds = [await _drive("search.lua", url, file) for _ in range(PERIODIC_TASKS)]
        medians[name] = _report(figures, f"GET {name}", rounds)
        figures.notes.append(f"{name}: {medians[name] / medians[BASELINE]:.2f} x {BASELINE}")


async def _write(url: str, directory: Path, database: Database, figures: Figures) -> None:
    """Whole documents by one owner, a new one each time; every answer is a new version of a card."""
    token = await _owner(url)
    owned = await database.transaction(lambda tx: tx.fetch(_OWNED, EMAIL, OWNED))
    file = directory / "cards"
    file.write_text("".join(f"/api/v1/agent-cards/{row['uuid']} {_body(row['id'] - 1)}\n" for row in owned))
    before = await database.query(lambda tx: tx.fetchval(_VERSIONS))
    rounds = [await _drive("writes.lua", url, file, token, number) for number in range(PERIODIC_TASKS)]
    written = await database.query(lambda tx: tx.fetchval(_VERSIONS)) - before
    _report(figures, "PUT a card", rounds)
    acknowledged = sum(driven.answered - driven.refused for driven in rounds)
    # What was under way when wrk stopped may be written without having been acknowledged.
    figures.books_are_sound &= acknowledged <= written <= acknowledged + CONNECTIONS * PERIODIC_TASKS
    figures.notes.append(f"{written:,} versions were written, {acknowledged:,} acknowledged")


async def _drive(script: str, url: str, *arguments: object) -> Driven:
    return await drive(script, url, *arguments, connections=CONNECTIONS, seconds=SECONDS)


def _report(figures: Figures, name: str, rounds: list[Driven]) -> float:
    figures.books_are_sound &= all(driven.refused == 0 for driven in rounds)
    median = figures.add(f"{name}, {CONNECTIONS} connections", "/s", [driven.per_second for driven in rounds])
    figures.add("  p99 of these", "ms", [driven.p99_ms for driven in rounds])
    return median


async def _owner(url: str) -> str:
    """The token of a developer, registered here."""
    async with httpx2.AsyncClient(base_url=f"{url}/api/v1") as http:
        account = {"name": "Owner", "email": EMAIL, "password": PASSWORD}
        made = await http.post(
            "/auth/register", json={**account, "tos_accepted": True, "age_confirmed": True}
        )
        assert made.status_code == 201, made.text
        login = await http.post("/auth/login", data={"username": EMAIL, "password": PASSWORD})
        return str(login.json()["access_token"])


def _own_dids(size: int) -> list[str]:
    dids = (did_of(number) for number in range(size) if home_of(number)[0] is None)
    return [did for did in dids if did is not None]


def _body(number: int) -> str:
    card = card_of(number)
    return json.dumps({"card_data": {**card, "description": f"{card['description']} @@"}})
