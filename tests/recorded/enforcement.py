"""Recorded: suspension, reinstatement, revocation, and their effects on transfers; other acts of administrators."""

from typing import Any

from tests.recorded.parties import Parties, agent, bearer, developer, registration
from tests.recorded.recorder import ANYONE, Caller, RecordedAgent, Recorder
from tests.recorded.rights import UNKNOWN_ID
from tests.recorded.transfers import NOBODY, pay, send

BULK = "/admin/agents/bulk"
LICENCES = "/admin/federation/licence-keys"


async def record_enforcement(record: Recorder, by: Parties) -> None:
    """Everything that stops an agent or a developer."""
    doris = await agent(record, by.cleo, "Doris")
    await pay(record, by.carol, doris, "3")
    await _suspended(record, by, doris)
    await _developer_suspended(record, by)
    await _ended(record, by, doris)
    await _identities(record, by)


async def _suspended(record: Recorder, by: Parties, doris: RecordedAgent) -> None:
    root = by.administrator
    dids = {"agent_dids": [doris.did, NOBODY, doris.did], "reason": "Reported for spam."}
    await record.ask("POST", f"{BULK}/suspend", by.ada, json=dids)
    for body in (dids, dids, {**dids, "soft_suspend": True}):
        await record.ask("POST", f"{BULK}/suspend", root, json=body)
    for body in ({}, {"agent_dids": [], "reason": "x"}, {"agent_dids": [NOBODY], "reason": " "}):
        await record.ask("POST", f"{BULK}/suspend", root, json=body)
    await pay(record, by.bob, doris, "1")
    await send(record, by.bob, doris, "1")
    await send(record, by.bob, doris, "1", dry_run=True)
    await pay(record, doris, by.bob, "1")
    await record.ask("GET", "/agents/me", doris)
    await record.ask("GET", "/teg/balance", doris)
    await record.ask("GET", f"/agent-cards/{doris.did}")
    await record.ask("DELETE", f"/agents/{doris.did}", by.cleo)
    await record.ask("GET", "/admin/agents/by-developer/4", root)
    await record.ask(
        "POST", f"{BULK}/reinstate", root, json={"agent_dids": [doris.did], "reason": "Mistaken."}
    )
    await record.ask("POST", f"{BULK}/reinstate", root, json={"agent_dids": [doris.did, NOBODY]})
    await pay(record, by.bob, doris, "1")
    await pay(record, doris, by.bob, "0.5")


async def _developer_suspended(record: Recorder, by: Parties) -> None:
    """Record a suspended developer with one agent: those of several are stopped in the order of their DIDs, which is random."""
    root, gita = by.administrator, await developer(record, "Gita")
    gus = await agent(record, gita, "Gus")
    number = (await record.ask("GET", "/auth/profile", gita)).json()["id"]
    await record.ask("POST", f"/admin/developers/{number}/suspend", root, json={"reason": "Under review."})
    await record.ask("POST", "/onboard/bootstrap/request-token", gita, json={})
    await pay(record, gus, by.bob, "1")
    await pay(record, by.bob, gus, "1")
    await record.ask("GET", f"/admin/agents/by-developer/{number}?limit=1", root)
    await record.ask("POST", f"/admin/developers/{number}/reinstate", root)
    await pay(record, by.bob, gus, "1")
    await record.ask("POST", "/admin/developers/999/suspend", root, json={"reason": "x"})
    await record.ask("POST", f"/admin/developers/{number}/suspend", by.ada, json={"reason": "x"})


async def _ended(record: Recorder, by: Parties, doris: RecordedAgent) -> None:
    root = by.administrator
    dids = {"agent_dids": [doris.did], "reason": "For good."}
    await record.ask("POST", f"{BULK}/revoke", root, json=dids)
    await record.ask("POST", f"{BULK}/suspend", root, json=dids)
    for _ in range(2):
        await record.ask("POST", f"{BULK}/revoke", root, json=dids)
    await pay(record, by.bob, doris, "1")
    await send(record, by.bob, doris, "1")
    await pay(record, doris, by.bob, "1")
    await record.ask("POST", f"{BULK}/reinstate", root, json=dids)
    await record.ask("GET", f"/agents/{doris.did}/public-key")
    await record.ask("DELETE", "/agents/me", by.bob)
    spare = await agent(record, by.ben, "Spare")
    for caller, did in ((by.ada, spare.did), (by.ben, spare.did), (by.ben, spare.did), (by.ben, NOBODY)):
        await record.ask("DELETE", f"/agents/{did}", caller)
    await pay(record, by.bob, spare, "1")
    await record.ask("GET", f"/agent-cards/{spare.did}")


async def _identities(record: Recorder, by: Parties) -> None:
    for method, path in (
        ("GET", "mtls-status"), ("POST", "enable-mtls"), ("GET", "mtls-status"), ("POST", "enable-mtls"),
        ("GET", "revoked-identities"), ("POST", "disable-mtls"), ("POST", "disable-mtls"), ("GET", "revoked-identities"),
    ):  # fmt: skip
        await record.ask(method, f"/agent/{path}", by.alice)
    await record.ask("POST", "/agent/enable-mtls", ANYONE)
    await record.ask("POST", "/agents/me/rotate-signing-key", by.alice, json={})
    await record.ask(
        "POST", "/agents/me/rotate-signing-key", by.alice, json={"public_key_jwk": {"kty": "RSA"}}
    )
    await record.ask("GET", f"/agents/{by.alice.did}/keys?limit=1", ANYONE)


async def record_administration(record: Recorder, by: Parties) -> None:
    """Invitations, licences of other registries, the signing key, the audit log."""
    await _invitations(record, by)
    await _licences(record, by)
    root = by.administrator
    await record.ask("POST", "/admin/registry-signing-key/rotate", root, json={"reason": "Yearly."})
    await record.ask("GET", "/public/registry-keys")
    await record.ask("GET", "//.well-known/registry-jwks.json")
    await record.ask("GET", "//.well-known/registry-jwks-history.json")
    await record.ask("GET", "/admin/agent-card-pullsync/status", root)
    await record.ask("GET", "/admin/agent-card-pullsync/events", root)
    await record.ask("GET", "/admin/reactors", root)
    await record.ask("POST", "/admin/reactors/nothing/retry", root)
    await record.ask("GET", "/admin/audit-log?limit=6", root)
    await record.ask("GET", "/admin/audit-log", root, params={"act": "registry_key.rotate"})
    await record.ask("GET", "/admin/audit-log", by.ada)


async def _invitations(record: Recorder, by: Parties) -> None:
    root, path = by.administrator, "/admin/invite-codes"
    body = {"count": 2, "max_uses": 1, "expires_days": 30, "note": "For the pilot"}
    one, other = [
        made["code"] for made in (await record.ask("POST", f"{path}/generate", root, json=body)).json()
    ]
    for refused in ({"count": 0}, {"max_uses": 0}, {"admin_flags": ["admin_everything"]}):
        await record.ask("POST", f"{path}/generate", root, json=refused)
    await record.ask("POST", f"{path}/generate", by.ada, json={})
    invited = registration("Fritz", invite_code=one)
    for name in ("Fritz", "Gerd"):
        body = {**invited, "name": name, "email": f"{name.lower()}@example.org"}
        await record.ask("POST", "/auth/register", json=body)
    for _ in range(2):
        await record.ask("DELETE", f"{path}/{other}", root)
    await record.ask("GET", path, root)


async def _licences(record: Recorder, by: Parties) -> None:
    root = by.administrator

    async def issue(**body: Any) -> dict[str, Any]:
        return (await record.ask("POST", LICENCES, root, json=body)).json()

    issued = await issue(trust_domain="peer.example", note="First peer", expires_in_days=30)
    await issue(trust_domain="peer.example")
    await issue(trust_domain="hansa.local")
    await issue(trust_domain="no domain")
    peer = Caller("peer.example", {"X-Federation-License": issued["licence_key"]})
    page = await record.ask("GET", LICENCES, root)
    number = page.json()["items"][0]["id"]
    for act in ("reinstate", "suspend", "suspend", "reinstate", "suspend", "revoke", "reinstate"):
        await record.ask("POST", f"{LICENCES}/{number}/{act}", root, json={"reason": f"To {act} it."})
        await record.ask("GET", "/projections/supply-audit", peer)
    await record.ask("POST", f"{LICENCES}/{UNKNOWN_ID}/suspend", root, json={"reason": "x"})
    await record.ask("GET", "/events/?limit=1", bearer("licence as bearer", issued["licence_key"]))
