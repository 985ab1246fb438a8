"""A suspension counts in every worker of a registry that is served as its operator serves it."""

import asyncio
from pathlib import Path
from typing import Any

import asyncpg
import httpx2

from tests.operation.conftest import Launch
from tests.operation.registry_process import run
from tests.registry import PASSWORD, card_of

WORKERS = 2
CONNECTIONS = 12


async def log_in(http: httpx2.AsyncClient, email: str) -> dict[str, str]:
    form = {"username": email, "password": PASSWORD}
    answer = await http.post("/auth/login", data=form)
    assert answer.status_code == 200, answer.text
    return {"Authorization": f"Bearer {answer.json()['access_token']}"}


async def onboard(http: httpx2.AsyncClient) -> tuple[str, dict[str, str]]:
    """Return the DID of a new agent, and the credential that it shows."""
    body = {"name": "Owner", "email": "owner@example.org", "password": PASSWORD}
    consent = {"tos_accepted": True, "age_confirmed": True}
    assert (await http.post("/auth/register", json={**body, **consent})).status_code == 201
    owner = await log_in(http, "owner@example.org")
    token = (await http.post("/onboard/bootstrap/request-token", json={}, headers=owner)).json()
    made = await http.post(
        "/onboard/create_agent",
        json={"agent_did_method": "hansa", "agent_card": card_of()},
        headers={"Bootstrap-Token": token["bootstrap_token"]},
    )
    agent = made.json()
    form = {"username": agent["client_id"], "password": agent["client_secret"]}
    token = (await http.post("/auth/agent/token", data=form)).json()["access_token"]
    return agent["agent_did"], {"Authorization": f"Bearer {token}"}


async def statuses_of(url: str, headers: dict[str, str]) -> set[int]:
    """Return the statuses of the agent's requests over separate connections, which the workers share among them."""

    async def ask() -> int:
        async with httpx2.AsyncClient(base_url=f"{url}/api/v1", trust_env=False, timeout=60) as alone:
            return (await alone.get("/agents/me", headers=headers)).status_code

    return set(await asyncio.gather(*(ask() for _ in range(CONNECTIONS))))


async def is_blocklisted(dsn: str, did: str) -> bool:
    connection = await asyncpg.connect(dsn)
    try:
        listed: Any = await connection.fetchval("SELECT 1 FROM federation_blocklist WHERE did = $1", did)
    finally:
        await connection.close()
    return listed is not None


async def until_blocklisted(dsn: str, did: str, *, wanted: bool) -> None:
    async with asyncio.timeout(60):
        while await is_blocklisted(dsn, did) != wanted:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_a_suspended_agent_is_refused_by_every_worker_and_the_blocklist_follows(
    operated: Launch, tmp_path: Path
):
    registry = operated(workers=WORKERS)
    await registry.start()
    named = ("--name", "Enforcer", "--email", "enforcer@example.org", "--areas", "admin_enforcement")
    admitted = await run("admin", "create", *named, data_dir=registry.data_dir, HANSA_ADMIN_PASSWORD=PASSWORD)
    assert admitted.code == 0, admitted
    dsn = await registry.database()
    async with httpx2.AsyncClient(base_url=f"{registry.url}/api/v1", trust_env=False, timeout=60) as http:
        did, agent = await onboard(http)
        enforcer = await log_in(http, "enforcer@example.org")
        assert await statuses_of(registry.url, agent) == {200}
        for act, status, listed in (("suspend", 403, True), ("reinstate", 200, False)):
            body = {"agent_dids": [did], "reason": "For a test."}
            done = await http.post(f"/admin/agents/bulk/{act}", json=body, headers=enforcer)
            assert done.status_code == 200, done.text
            assert await statuses_of(registry.url, agent) == {status}
            await until_blocklisted(dsn, did, wanted=listed)
    assert (await registry.stop()).code == 0
