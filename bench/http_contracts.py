"""http/contracts: contracts, rulings and reads of reputation on a running service."""

import secrets
import time
from pathlib import Path

import httpx2

from bench.figures import Figures, percentile
from bench.http_transfer import Service, beside, prepare_callers, served
from bench.process_cpu import used_by
from bench.seed import bench_runtime, seed_agents, temporary_directory, use_log
from bench.wrk import drive, is_missing
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms import auditor, people

SECONDS, SECONDS_IN_FULL = 4, 30
ROUNDS = 3
CONNECTIONS, READING_CONNECTIONS = 32, 8
CALLERS = 500
RULINGS = 50
ADMINISTRATOR = "administrator@example.org"


async def run(*, full: bool) -> Figures:
    figures = Figures()
    if is_missing(figures):
        return figures
    password = f"Aa1!{secrets.token_urlsafe(24)}"
    async with temporary_directory() as directory:
        # Compensations are issued, which the whole supply would not allow.
        async with bench_runtime(directory, genesis_supply="89000000000") as runtime:
            dids = await seed_agents(runtime, 100_000 if full else 10_000)
            callers = await prepare_callers(runtime, dids[:CALLERS], directory)
            await _admit_administrator(runtime, password)
        limits = {"RATE_LIMIT_WRITES": "off", "RATE_LIMIT_READS": "off"}
        async with served(directory, **limits) as service, beside(directory) as runtime:
            await use_log(runtime)
            await _drive(service, runtime, callers, figures, SECONDS_IN_FULL if full else SECONDS)
            await _rule(service.url, callers, password, figures)
            figures.books_are_sound &= (await runtime.database.read(auditor.audit_supply)).is_ok
    figures.notes.append("targets: 150 contracts/s, a ruling 20 ms, reads of reputation p99 10 ms")
    return figures


async def _drive(service: Service, runtime: Runtime, callers: Path, figures: Figures, seconds: int) -> None:
    url = service.url
    approved, read, p99s, used, commits = [], [], [], [], []
    for number in range(ROUNDS):
        before = await _spent(service, runtime)
        driven = await drive(
            "contracts.lua", url, callers, f"round{number}", connections=CONNECTIONS, seconds=seconds
        )
        after = await _spent(service, runtime)
        approved.append(driven.per_second)
        used.append((after[0] - before[0]) * 1000 / driven.answered)
        commits.append((after[1] - before[1]) / driven.answered)
        figures.books_are_sound &= driven.refused == 0
    _, (_, did) = _first_two(callers)
    for _ in range(ROUNDS):
        driven = await drive(
            "reads.lua", url, callers, f"/api/v1/agents/{did}/reputation",
            connections=READING_CONNECTIONS, seconds=seconds,
        )  # fmt: skip
        read.append(driven.per_second)
        p99s.append(driven.p99_ms)
        figures.books_are_sound &= driven.refused == 0
    figures.add(f"contracts, created to approved: {CONNECTIONS} connections", "/s", approved)
    figures.add("CPU of service and database for each", "ms", used)
    figures.add("commits for each", "", commits)
    figures.add(f"GET reputation, {READING_CONNECTIONS} connections", "/s", read)
    figures.add("p99 of these", "ms", p99s)


async def _spent(service: Service, runtime: Runtime) -> tuple[float, int]:
    """CPU seconds of the service with its database, and how many transactions were committed."""
    commits = await runtime.database.query(
        lambda tx: tx.fetchval("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
    )
    return used_by(service.pid), commits


async def _rule(url: str, callers: Path, password: str, figures: Figures) -> None:
    """Rulings that slash and compensate, about transfers, one after the other."""
    (token, _), (_, payee) = _first_two(callers)
    payer = {"Authorization": f"Bearer {token}"}
    took = []
    async with httpx2.AsyncClient(base_url=f"{url}/api/v1", timeout=30) as http:
        form = {"username": ADMINISTRATOR, "password": password}
        login = (await http.post("/auth/login", data=form)).raise_for_status()
        evaluate = {"Authorization": f"Bearer {login.json()['access_token']}"}
        for number in range(RULINGS):
            dispute = await _dispute(http, payer, payee, number)
            opened = await http.put(f"/admin/disputes/{dispute}/open-voting", headers=evaluate)
            opened.raise_for_status()
            ruling = {
                "ruling": "IN_FAVOR_OF_COMPLAINANT",
                "slash_amount": "0.1",
                "compensation_amount": "0.1",
                "note": "Nothing was delivered.",
            }
            started = time.perf_counter()
            ruled = await http.put(f"/admin/disputes/{dispute}/ruling", json=ruling, headers=evaluate)
            took.append((time.perf_counter() - started) * 1000)
            figures.books_are_sound &= ruled.status_code == 200
    figures.add("a ruling that slashes and compensates", "ms", took)
    figures.add("p99 of these", "ms", [percentile(sorted(took), 0.99)])


async def _dispute(http: httpx2.AsyncClient, payer: dict[str, str], payee: str, number: int) -> int:
    paid = await http.post(
        "/teg/transfer",
        json={"receiver_agent_id": payee, "amount": "0.1"},
        headers={**payer, "Idempotency-Key": f"ruling-{number}"},
    )
    complaint = {
        "defendant_did": payee,
        "reason_code": "OTHER",
        "description": "Nothing was delivered.",
        "transaction_id": paid.raise_for_status().json()["transaction_id"],
    }
    filed = await http.post("/disputes/", json=complaint, headers=payer)
    return int(filed.raise_for_status().json()["id"])


def _first_two(callers: Path) -> list[list[str]]:
    """The access tokens and the DIDs of two of the prepared callers."""
    return [line.split() for line in callers.read_text().splitlines()[:2]]


async def _admit_administrator(runtime: Runtime, password: str) -> None:
    admitted = await people.admit_administrator(
        name="Administrator", email=ADMINISTRATOR, password=password, areas=("admin_enforcement",)
    )
    await runtime.database.transaction(lambda tx: people.create_administrator(tx, admitted))
