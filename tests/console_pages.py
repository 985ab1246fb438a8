"""Every page of the console with the person who reads it, found in the rights matrix, on a registry in which each list has rows."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation
from hansa.rooms.operations.metrics.counting import add_settled
from tests.browsing import BrowserOf
from tests.hostile import exchange_requests, organization_requests, proof_requests
from tests.hostile.credentials import peer_of
from tests.hostile.well_formed import Stage, set_stage, well_formed
from tests.house.rights import read_rights
from tests.registry import TestAgent, TestRegistry

ANYONE, OWNER, ADMINISTRATOR = "anyone", "owner", "administrator"
OF_OWNERS = ("GET /account", "GET /docs/operations/{name}/run", "GET /oauth/authorize")
OF_ADMINISTRATORS = "GET /administration"
# Documents and parts, which no person opens as a page.
NO_PAGES = ("GET /api/", "GET /.well-known/", "GET /session/menu", "GET /events/stream")
UNBROKEN, WIDE_NAME = "unbroken" * 20, "W" * 100
SKILL = {
    "id": "s",
    "name": "s" * 100,
    "description": UNBROKEN,
    "tags": ["t" * 60],
    "examples": ["e" * 200],
}
PEER = f"{'w' * 50}.registry-with-a-long-name.example"
VERDICTS = [
    {"step": "schema", "ok": True, "reason": "every member is one of registry card 0.6"},
    {"step": "name", "ok": False, "reason": f"card_name_mismatch: {UNBROKEN}"},
]
POOL = """
INSERT INTO transfers_pool (peer, frame, currency, is_home, mode, reserve_own, reserve_foreign)
SELECT spiffe_id, ledger_id, 'LONGCURR', true, 'pool', 1234567800000000, 987654300000001 FROM federation_peer
"""
MINUTES = """
INSERT INTO transfers_pool_minute (peer, minute, reserve_own, reserve_foreign, swaps, fees_own, fees_foreign)
SELECT peer, date_trunc('minute', now()) - n * interval '17 minutes', reserve_own - n * 1000000007, reserve_foreign + n * 999999937,
  (n + 1)::int, 12345678 * (n + 1), 87654321 FROM transfers_pool CROSS JOIN generate_series(0, 11::bigint) n
"""
# Requests that find or make an object of each kind, so that each list has more than one row.
MAKING = (
    "GET /account/agents/{did}/contracts/{contract_id:int}",
    "GET /account/agents/{did}/disputes/{dispute_id:int}",
    "GET /account/approvals/{approval_id:uuid}",
    "GET /pay/{token_id:uuid}",
    "POST /api/v1/admin/disputes/{dispute_id}/approve",
    "POST /administration/admissions/{licence_id:uuid}/{act}",
    "POST /administration/jobs/{job_id:int}/{act}",
)
ROWS = 2


@dataclass(frozen=True)
class ConsolePage:
    """A page: its operation in the rights matrix, its reader, and an address that is good once it was made."""

    operation: str
    reader: str
    address: str


async def furnish(registry: TestRegistry) -> Stage:
    """A stage on which the own agent has a long name, and lists have rows with long texts."""
    stage = await set_stage(registry, streams=True)
    agent = await stage.developer.agent(
        name=WIDE_NAME,
        description=UNBROKEN,
        tags=["t" * 60],
        skills=[SKILL],
        documentationUrl=f"https://agent.example.org/{UNBROKEN}",
        iconUrl="https://pictures.example.org/icon.png",
    )
    card = (await registry.get(f"/agents/by-did/{agent.did}")).json()
    stage = replace(stage, agent=agent, card_name=card["human_readable_id"])
    await _peer_with_a_pool(registry)
    await _agreements(stage)
    await _account(stage)
    await _organization(stage)
    await _watched(stage)
    await _released(stage)
    await exchange_requests.furnish(stage)
    await proof_requests.furnish(stage)
    for operation in MAKING:
        for _ in range(ROWS):
            await well_formed(operation, stage)
    await registry.indexed()
    return stage


async def pages_of(stage: Stage) -> AsyncIterator[tuple[ConsolePage, BrowserOf]]:
    """Each page with a browser in which its reader is logged in and which has opened it once.

    The object of a page is made right before; a later one may replace it.
    """
    browsers = {
        ANYONE: BrowserOf(stage.registry),
        OWNER: await BrowserOf(stage.registry).log_in(stage.developer.email),
        ADMINISTRATOR: await BrowserOf(stage.registry).log_in(stage.administrator.email),
    }
    for row in read_rights():
        if not row.operation.startswith("GET ") or row.operation.startswith(NO_PAGES):
            continue
        request = await well_formed(row.operation, stage)
        address = request.path + (f"?{urlencode(request.query)}" if request.query else "")
        page = ConsolePage(row.operation, reader_of(row.operation), address)
        browser = browsers[page.reader]
        answer = await browser.http.get(page.address)
        if answer.status_code == 200 and answer.headers["content-type"].startswith("text/html"):
            yield page, browser


def reader_of(operation: str) -> str:
    """The person for whom a page is made."""
    if operation.startswith(OF_ADMINISTRATORS):
        return ADMINISTRATOR
    return OWNER if operation.startswith(OF_OWNERS) else ANYONE


async def _peer_with_a_pool(registry: TestRegistry) -> None:
    """A peer of which things were refused, whose card does not hold, and a pool with it in which swaps were made for hours."""
    await peer_of(registry, PEER)

    async def fill(tx: Tx) -> None:
        await tx.execute(
            "UPDATE federation_peer SET card_verdicts = $1, last_synced_at = now(), trouble = 'circuit_open'",
            json.dumps(VERDICTS),
        )
        peer = await federation.peer_by_name(tx, PEER)
        await federation.count_refusal(tx, peer.id, "bundle_root_collision", 12_345)
        await federation.count_refusal(tx, peer.id, "card_name_mismatch")
        await tx.execute(POOL)
        await tx.execute(MINUTES)

    await registry.database.transaction(fill)


async def _released(stage: Stage) -> None:
    """Versions of the code of the own agent, and a deployment that waits."""
    path = f"/agents/{stage.agent.did}"
    for number in range(ROWS):
        body = {"version": f"{number}.0", "commit_hash": "0123456789abcdef" * 4, "release_notes": UNBROKEN}
        made = await stage.registry.post(f"{path}/versions", json=body, headers=stage.developer.headers)
        assert made.status_code == 200, made.text
    asked = {"version_id": made.json()["version_id"], "note": UNBROKEN[:500]}
    await stage.registry.post(f"{path}/deployments", json=asked, headers=stage.developer.headers)


async def _watched(stage: Stage) -> None:
    """Entries in the log of the own agent, long ones too, and metrics."""
    entries = [
        {"level": "DEBUG", "message": "Started", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"},
        {"level": "ERROR", "message": UNBROKEN, "log_metadata": {UNBROKEN: UNBROKEN}},
    ]
    path = f"/agents/{stage.agent.did}/logs"
    await stage.registry.post(path, json={"entries": entries * ROWS}, headers=stage.agent.headers)
    await stage.registry.database.transaction(lambda tx: add_settled(tx, stage.registry.runtime))


async def _agreements(stage: Stage) -> None:
    """Transfers, a contract whose work was submitted, a receipt and a dispute of the own agent."""
    agent, payee = stage.agent, stage.payee
    for payer, receiver in ((agent, payee), (payee, agent)):
        await payer.transfer(receiver, "1", message=UNBROKEN)
    contract = await _posted(
        agent,
        "/contracts",
        provider_did=payee.did,
        title=f"Certificate of {UNBROKEN}",
        contract_type="attestation",
        amount="12.34567891",
        terms={"clauses": [UNBROKEN, {"within": "Two days", "amount": 0.5}]},
        acceptance_criteria=UNBROKEN,
        review_by=(datetime.now(UTC) + timedelta(days=2)).isoformat(),
        milestones=[{"title": UNBROKEN, "amount": "12.34567891"}],
    )
    path = f"/contracts/{contract['id']}"
    await _posted(payee, f"{path}/accept")
    uri = f"https://agent.example.org/{UNBROKEN}"
    await _posted(payee, f"{path}/submit", milestone=0, sha256="c" * 64, uri=uri, note=UNBROKEN)
    for _ in range(ROWS):
        token = await _posted(
            agent, "/a2a-payment/authorize", target_agent_did=payee.did, amount="0.01", resource=uri
        )
    await _posted(agent, "/a2a-payment/settle", token=token["token"], task_id="7")
    await _posted(agent, "/disputes/", defendant_did=payee.did, reason_code="OTHER", description=UNBROKEN)


async def _account(stage: Stage) -> None:
    """A webhook with deliveries, API keys, capabilities, invitations, and a suspended agent."""
    registry, owner, office = stage.registry, stage.developer.headers, stage.administrator.headers
    webhook = {"url": f"https://receiver.example.com/{UNBROKEN}", "event_types": ["*"]}
    made = await registry.post("/developers/webhooks", json=webhook, headers=owner)
    for number in range(ROWS):
        await registry.post(f"/developers/webhooks/{made.json()['id']}/test", headers=owner)
        await registry.post("/auth/api-keys", json={"key_name": f"{number}{'n' * 99}"}, headers=owner)
        await _posted(
            stage.agent, "/agents/capabilities", caveats={"permissions": ["teg.transfer"]}, budget_total="5"
        )
        await registry.post("/admin/invite-codes/generate", json={"note": UNBROKEN}, headers=office)
    body = {"agent_dids": [stage.doomed.did], "reason": UNBROKEN}
    await registry.post("/admin/agents/bulk/suspend", json=body, headers=office)


async def _organization(stage: Stage) -> None:
    """An organization of the owner with long words, and a pending invitation to a long address."""
    headers = stage.developer.headers
    path = f"/organizations/{await organization_requests.organization(stage)}"
    named = {"name": WIDE_NAME, "description": UNBROKEN}
    await stage.registry.http.request("PATCH", f"/api/v1{path}", json=named, headers=headers)
    invited = {"email": f"{'i' * 60}@{'d' * 50}.example.org", "role": "admin"}
    answer = await stage.registry.post(f"{path}/invitations", json=invited, headers=headers)
    assert answer.status_code == 201, answer.text


async def _posted(agent: TestAgent, path: str, **body: Any) -> dict[str, Any]:
    """The answer to a request of an agent that is carried out."""
    headers = {**agent.headers, "Prefer": "wait=10"}
    answer = await agent.registry.post(path, json=body, headers=headers)
    assert answer.status_code < 300, answer.text
    made: dict[str, Any] = answer.json()
    return made
