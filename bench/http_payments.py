"""http/payments: paid calls, verifications, bulk transfers and payments of wallets on a running service."""

import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import asyncpg
import httpx2

from bench.figures import Figures
from bench.http_transfer import CONNECTIONS, Service, beside, prepare_callers, served
from bench.seed import Pgbench, bench_runtime, seed_agents, temporary_directory, use_log
from bench.wrk import drive, is_missing
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.values.money import UNIT
from hansa.rooms import auditor
from hansa.rooms.commerce.x402.networks import Networks
from tests.wallets import TestWallet, required, signed

SECONDS, SECONDS_IN_FULL = 4, 30
PERIODIC_TASKS = 3
CALLERS = 2000
TOKENS_OF_EACH = 10
BULK_CONNECTIONS = 4
WALLET_PAYMENTS = 50


_TOKENS = """
INSERT INTO commerce_payment_token (id, token_sha256, caller, payee, amount, slot, expires_at)
SELECT gen_random_uuid(), t.hash, c.dids[1 + p.n % $2], c.dids[1 + (p.n + 1) % $2], 1000000, 1 + p.n / $2,
  now() + interval '1 day'
FROM unnest($1::bytea[]) WITH ORDINALITY AS t (hash, place) CROSS JOIN LATERAL (SELECT (t.place - 1)::int AS n) p
CROSS JOIN (SELECT $3::text[] AS dids) c
"""


@dataclass(frozen=True)
class Prepared:
    """The files of callers and of tokens that wrk reads."""

    callers: Path
    tokens: Path


async def run(*, full: bool, workers: int = 1) -> Figures:
    """Measure a service of so many workers."""
    figures = Figures()
    if is_missing(figures):
        return figures
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            dids = await seed_agents(runtime, 1_000_000 if full else 10_000)
            callers = await prepare_callers(runtime, dids[:CALLERS], directory)
            prepared = Prepared(
                callers, await _prepare_tokens(runtime, dids[CALLERS : 2 * CALLERS], directory)
            )
        async with (
            served(directory, workers, RATE_LIMIT_WRITES="off") as service,
            beside(directory) as runtime,
        ):
            baseline = Pgbench(runtime.database.dsn)
            await baseline.prepare()
            await use_log(runtime)
            await _drive_all(service, prepared, baseline, figures, SECONDS_IN_FULL if full else SECONDS)
            await _pay_with_wallets(service.url, callers, runtime, figures)
            figures.books_are_sound &= (await runtime.database.read(auditor.audit_supply)).is_ok
            figures.books_are_sound &= await _are_paid(runtime)
    return figures


async def _drive_all(
    service: Service, prepared: Prepared, baseline: Pgbench, figures: Figures, seconds: int
) -> None:
    modes = {"cycle": CONNECTIONS, "verify": CONNECTIONS, "bulk": BULK_CONNECTIONS}
    rates: dict[str, list[float]] = {mode: [] for mode in modes}
    p99s: dict[str, list[float]] = {mode: [] for mode in modes}
    theirs = []
    for number in range(PERIODIC_TASKS):
        for mode, connections in modes.items():
            # Tokens are verified from another place on in each round.
            name = number * CALLERS * TOKENS_OF_EACH // PERIODIC_TASKS
            driven = await drive(
                "payments.lua", service.url, mode, prepared.callers, prepared.tokens, name,
                connections=connections, seconds=seconds,
            )  # fmt: skip
            rates[mode].append(driven.per_second)
            p99s[mode].append(driven.p99_ms)
            figures.books_are_sound &= driven.refused == 0
        theirs.append(await baseline.per_second(seconds))
    connected = f"{service.named_workers}{CONNECTIONS} connections"
    figures.add(f"authorize, verify, settle: {connected}", "/s", rates["cycle"])
    figures.add("p99 of a request of these", "ms", p99s["cycle"])
    figures.add(f"verify, 9 repeated to 1 first, {connected}", "/s", rates["verify"])
    figures.add("p99 of verify", "ms", p99s["verify"])
    ours = figures.add("transfers by POST /teg/transfers, 500 lines", "/s", rates["bulk"])
    base = figures.add("pgbench TPC-B-like, 64 clients", "/s", theirs)
    figures.notes.append(f"bulk transfers: {ours / base:.2f} x pgbench")


async def _prepare_tokens(runtime: Runtime, dids: list[str], directory: Path) -> Path:
    """A file of authorized tokens, which are written as they are."""
    secrets = [
        f"apt_{sha256(f'bench {number}'.encode()).hexdigest()}"
        for number in range(len(dids) * TOKENS_OF_EACH)
    ]
    hashes = [sha256(secret.encode()).digest() for secret in secrets]
    connection = await asyncpg.connect(runtime.database.dsn)
    await connection.execute(_TOKENS, hashes, len(dids), dids)
    await connection.execute("ANALYZE")
    await connection.close()
    tokens = directory / "tokens.txt"
    tokens.write_text("".join(f"{secret}\n" for secret in secrets))
    return tokens


async def _are_paid(runtime: Runtime) -> bool:
    """Each settled token has its one transaction and its one event."""
    return bool(
        await runtime.database.query(
            lambda tx: tx.fetchval(
                "SELECT count(*) = count(t.id) AND count(*) = count(DISTINCT t.ref) AND count(*) ="
                " (SELECT count(*) FROM journal_event WHERE event_type = 'A2APaymentSettled')"
                " FROM commerce_payment_token p LEFT JOIN ledger_transaction t"
                " ON t.id = p.tx_id AND t.ref = 'a2a-pay-' || p.id WHERE p.status = 'settled'",
                timeout=120,
            )
        )
    )


async def _pay_with_wallets(url: str, callers: Path, runtime: Runtime, figures: Figures) -> None:
    """Payments of one wallet, one after the other."""
    token, payee_token = _first_two(callers)
    wallet, networks = TestWallet(), Networks.of(runtime.settings)
    took: dict[str, list[float]] = {"verify": [], "settle": []}
    async with httpx2.AsyncClient(base_url=url) as http:
        await _bind(http, wallet, token)
        listed = await http.get(
            "/api/v1/agents/me/wallets", headers={"Authorization": f"Bearer {payee_token}"}
        )
        terms = required(networks, listed.json()["receive_address"], UNIT // 100)
        for _ in range(WALLET_PAYMENTS):
            body = signed(wallet, networks, terms)
            for step, samples in took.items():
                started = time.perf_counter()
                answer = await http.post(f"/x402/{step}", json=body)
                samples.append((time.perf_counter() - started) * 1000)
                said = answer.json()
                figures.books_are_sound &= bool(said.get("isValid") or said.get("success"))
    for step, samples in took.items():
        figures.add(f"x402 {step} of a wallet's payment", "ms", samples)


def _first_two(callers: Path) -> list[str]:
    """The access tokens of two of the prepared callers."""
    return [line.split()[0] for line in callers.read_text().splitlines()[:2]]


async def _bind(http: httpx2.AsyncClient, wallet: TestWallet, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    asked = await http.post(
        "/api/v1/agents/me/wallets/challenge", json={"address": wallet.address}, headers=headers
    )
    challenge = asked.json()["challenge"]
    body = {"address": wallet.address, "challenge": challenge, "signature": wallet.sign_text(challenge)}
    (await http.post("/api/v1/agents/me/wallets", json=body, headers=headers)).raise_for_status()
