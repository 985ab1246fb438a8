"""Paid calls over three service processes that are killed, as their payer and the registry are, on a faulty network.

Afterwards: no token was worked for twice, no call was paid twice, every payment has an answer that can still be fetched, and
the books of the registry add up.
"""

import asyncio
import json
import random
import sqlite3
import sys
from asyncio.subprocess import Process
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2

from hansa_client import AgentCredentials, AsyncRegistry
from hansa_client.pay import AsyncPendingPayments, Journal
from tests.client.paid_processes import PRICE
from tests.operation.registry_process import RegistryProcess, free_port
from tests.properties.scale import by_tier, printed_seed
from tests.registry import PASSWORD, card_of

CALLS = by_tier(60, 100_000, 300_000)
SERVICES = 3
KILLS = by_tier(3, 400, 1200)
SECONDS = by_tier(540, 14_000, 40_000)
FETCHED_AGAIN = by_tier(20, 500, 500)


@dataclass
class Fleet:
    """The processes of the run."""

    stated: dict[str, Any]
    services: dict[int, Process] = field(default_factory=dict)
    payer: Process | None = None

    async def start_service(self, port: int) -> None:
        self.services[port] = await _process("service", {**self.stated, "port": port})

    async def start_payer(self) -> None:
        self.payer = await _process("payer", self.stated)

    async def kill(self, process: Process | None) -> None:
        if process and process.returncode is None:
            process.kill()
            await process.wait()


async def test_paid_calls_survive_a_faulty_network_and_killed_processes(
    tmp_path: Path, founded_data: Path
) -> None:
    chance = random.Random(printed_seed())
    registry = RegistryProcess(
        tmp_path / "registry",
        port=free_port(),
        founded=founded_data,
        HANSA_RATE_LIMIT_READS="off",
    )
    await registry.start()
    ports = [free_port() for _ in range(SERVICES)]
    try:
        fleet = Fleet(await _market(registry.url, ports, tmp_path))
        for port in ports:
            await fleet.start_service(port)
        await fleet.start_payer()
        async with asyncio.timeout(SECONDS):
            await _disturb(fleet, registry, chance)
            await _finish(fleet)
            await _judge(fleet, registry.url)
    finally:
        for process in [*fleet.services.values(), fleet.payer]:
            await fleet.kill(process)
        await registry.kill()


async def _disturb(fleet: Fleet, registry: RegistryProcess, chance: random.Random) -> None:
    """Kill a process each time that some more calls are done."""
    done = Path(fleet.stated["done"])
    for number in range(KILLS):
        while _lines(done) < CALLS * (number + 1) // (KILLS + 2):
            await _restart_payer(fleet)
            await asyncio.sleep(0.05)
        victim = (
            chance.choice(["service", "service", "payer", "registry"])
            if number > 2
            else ("service", "payer", "registry")[number]
        )
        if victim == "service":
            port = chance.choice(list(fleet.services))
            await fleet.kill(fleet.services[port])
            await fleet.start_service(port)
        elif victim == "payer":
            await fleet.kill(fleet.payer)
        else:
            await registry.kill()
            await registry.start()


async def _finish(fleet: Fleet) -> None:
    while await _restart_payer(fleet):
        assert fleet.payer
        await fleet.payer.wait()


async def _restart_payer(fleet: Fleet) -> bool:
    """Start the payer again unless it runs, or is done."""
    if fleet.payer and fleet.payer.returncode is None:
        return True
    if fleet.payer and fleet.payer.returncode == 0:
        return False
    await fleet.start_payer()
    return True


async def _judge(fleet: Fleet, url: str) -> None:
    stated = fleet.stated
    assert _executed_twice(stated) == []
    outcomes = _outcomes(stated)
    assert set(outcomes) == {str(number) for number in range(CALLS)}
    async with AsyncRegistry(url, agent=AgentCredentials(*stated["payer_credentials"])) as registry:
        journal = Journal(stated["journal"])
        pending = AsyncPendingPayments(registry, journal)
        while await pending.list():
            pass
        journal.close()
        settled = _entries(stated["journal"], "settled")
        assert max(Counter(settled.values()).values()) == 1
        answered = {body for body, outcome in outcomes.items() if outcome == "200"}
        assert len(settled) == len(answered)
        for payment_id, fingerprint in random.sample(
            sorted(settled.items()), min(len(settled), FETCHED_AGAIN)
        ):
            await _require_fetchable(registry, stated, payment_id, fingerprint)
    async with httpx2.AsyncClient(base_url=url, timeout=60) as http:
        supply = (await http.get("/api/v1/public/supply-invariant")).json()
        assert float(supply["delta"]) == 0, supply
        headers = {"Authorization": f"Bearer {await _agent_token(http, stated['payee_credentials'])}"}
        balance = (await http.get("/api/v1/teg/balance", headers=headers)).json()["balance"]
    assert Decimal(balance) - Decimal(stated["payee_balance"]) == len(settled) * Decimal(PRICE)


def _executed_twice(stated: dict[str, Any]) -> list[str]:
    """Executions that have the body and the token of another one. A call whose first payment was returned has a second token."""
    executed = Counter(Path(stated["executions"]).read_text().splitlines())
    return [execution for execution, times in executed.items() if times > 1]


def _outcomes(stated: dict[str, Any]) -> dict[str, str]:
    return dict(line.split(" ") for line in Path(stated["done"]).read_text().splitlines())


async def _require_fetchable(
    registry: AsyncRegistry, stated: dict[str, Any], payment_id: str, body: str
) -> None:
    capture_by = "payee" if int(body) % 3 else None
    token = await registry.payments.authorize(
        stated["payee"], PRICE, ttl_seconds=900, capture_by=capture_by, key=payment_id
    )
    headers = {"X-Payment-Token": token.token, "X-Payment-Issuer": token.issuer}
    async with httpx2.AsyncClient(timeout=60) as http:
        url = f"http://127.0.0.1:{random.choice(stated['ports'])}/work"
        answer = await http.post(url, content=body.encode(), headers=headers)
    assert (answer.status_code, answer.text) == (200, f"answer to {body}"), answer.text


def _entries(journal: str, progress: str) -> dict[str, str]:
    """The payments of this progress, and the body that each is for, found by its fingerprint."""
    connection = sqlite3.connect(journal)
    rows = connection.execute(
        "SELECT payment_id, fingerprint, url FROM payment WHERE progress = ?", (progress,)
    ).fetchall()
    connection.close()
    bodies = {
        _fingerprint(url, str(number)): str(number)
        for url in {row[2] for row in rows}
        for number in range(CALLS)
    }
    return {payment_id: bodies[fingerprint] for payment_id, fingerprint, _ in rows}


def _fingerprint(url: str, body: str) -> str:
    from hansa_client.pay.options import fingerprint_of

    return fingerprint_of(httpx2.Request("POST", url, content=body.encode()))


async def _market(url: str, ports: list[int], directory: Path) -> dict[str, Any]:
    """A payee at three addresses, and a payer."""
    async with httpx2.AsyncClient(base_url=url, timeout=60) as http:
        interfaces = [
            {"url": f"http://127.0.0.1:{port}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            for port in ports
        ]
        pricing = {"base_rate": PRICE, "payment_required": True}
        payee = await _agent(
            http, "payee@example.org", card_of("Payee", supportedInterfaces=interfaces, pricing=pricing)
        )
        payer = await _agent(http, "payer@example.org", card_of("Payer"))
        headers = {"Authorization": f"Bearer {await _agent_token(http, payee[1])}"}
        balance = (await http.get("/api/v1/teg/balance", headers=headers)).json()["balance"]
    return {
        "registry": url,
        "payee": payee[0],
        "payee_credentials": payee[1],
        "payee_balance": str(balance),
        "payer_credentials": payer[1],
        "ports": ports,
        "fault_rate": 0.2,
        "calls": CALLS,
        **{name: str(directory / name) for name in ("store", "journal", "executions", "done")},
    }


async def _agent(http: httpx2.AsyncClient, address: str, card: dict[str, Any]) -> tuple[str, list[str]]:
    """The DID and the credentials of a new agent of a new developer."""
    person = {
        "name": address,
        "email": address,
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
    }
    await http.post("/api/v1/auth/register", json=person)
    login = await http.post("/api/v1/auth/login", data={"username": address, "password": PASSWORD})
    headers = {"Authorization": f"Bearer {login.json()['access_token']}"}
    bootstrap = await http.post("/api/v1/onboard/bootstrap/request-token", json={}, headers=headers)
    config = (await http.get("/api/v1/public/registry-config")).json()
    made = await http.post(
        "/api/v1/onboard/create_agent",
        json={"agent_did_method": config["did_method"], "agent_card": card},
        headers={"Bootstrap-Token": bootstrap.json()["bootstrap_token"]},
    )
    assert made.status_code == 201, made.text
    return made.json()["agent_did"], [made.json()["client_id"], made.json()["client_secret"]]


async def _agent_token(http: httpx2.AsyncClient, credentials: list[str]) -> str:
    form = dict(zip(("username", "password"), credentials, strict=True))
    answer = await http.post("/api/v1/auth/agent/token", data=form)
    return str(answer.json()["access_token"])


async def _process(role: str, stated: dict[str, Any]) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.client.paid_processes", role, json.dumps(stated)
    )


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0
