"""A request for each operation that, with the right credential, is carried out."""

import dataclasses
import itertools
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import uuid4

import httpx2
import pyotp
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.doors.console.client_pages import client_wheels
from hansa.doors.mcp import PROTOCOL
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.foundation.values.jwk import jwk_of
from hansa.foundation.values.money import parse_amount
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import auditor, federation, journal, ledger
from hansa.rooms.people.two_factor.setup import close_seed
from tests.built_agents import asked
from tests.connections import REDIRECT
from tests.hostile import (
    exchange_requests,
    federation_requests,
    governance_requests,
    organization_requests,
    phone_requests,
    pipeline_requests,
    proof_requests,
    release_requests,
    status_requests,
    support_requests,
    work_order_requests,
)
from tests.hostile.agent_and_administration_forms import AGENT_AND_ADMINISTRATION_FORMS, forget_flares
from tests.hostile.children import let_children_be_older, new_child
from tests.hostile.console_forms import (
    BACKUP_CODE,
    CONSOLE_FORMS,
    ROLES,
    FilledForm,
    authorization_query,
    form_key,
    headers_of_a_page,
)
from tests.hostile.peer_signing import statement_of_totals
from tests.images import png
from tests.licences import TestGenesis
from tests.registry import PASSWORD, TestAgent, TestDeveloper, TestRegistry, card_of, open_registry, text_of
from tests.wallets import TestWallet

# With these settings every operation can be carried out.
EVERYTHING_ON: dict[str, Any] = {
    "staking_rewards_enabled": True,
    "enable_projection_snapshots": True,
    "is_central_registry": True,
    "sovereign_mainframes": ["hansa.local"],
    "security_contact": "mailto:security@registry.example",
    "federation_base_url": "https://registry.example.com:8443",
    "relay_cards": True,
    "exchange_enabled": True,
    "zkp_phases": "1,2",
    "agent_rbac_default_roles": ",".join(ROLES),
}

# Where the act is a part of the path.
ACTS_OF_PAGES = {
    "POST /account/support/{ticket_id:uuid}/{act}": "messages",
    "POST /account/agents/{did}/wallet/bond/{act}": "deposit",
    "POST /administration/admissions/{licence_id:uuid}/{act}": "suspend",
    "POST /administration/developers/{developer_id:int}/{act}": "reinstate",
    "POST /administration/jobs/{job_id:int}/{act}": "retry",
    "POST /administration/peers/{peer_id:int}/{act}": "pause",
    "POST /administration/pools/{peer_id:int}/{act}": "fund",
    "POST /administration/pools/{peer_id:int}/{act}/check": "drain",
}

_numbers = itertools.count(1)


# The root of a tree without leaves.
EMPTY_ROOT = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="


@dataclass(frozen=True)
class WellFormed:
    """One request: the path holds no templates any more, and no credential is in it."""

    method: str
    path: str
    json: Any = None
    form: Mapping[str, str] | None = None
    text: str | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, tuple[str, bytes]] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)

    async def send(self, registry: TestRegistry, headers: Mapping[str, str]) -> httpx2.Response:
        cookies = [headers.get("Cookie"), *(f"{name}={value}" for name, value in self.cookies.items())]
        if any(cookies):
            headers = {**headers, "Cookie": "; ".join(filter(None, cookies))}
        body = {"json": self.json} if self.json is not None else {"data": self.form} if self.form else {}
        return await registry.http.request(
            self.method,
            self.path,
            params=self.query or None,
            files=self.files,
            content=self.text,
            headers={**registry.elsewhere(), **self.headers, **headers},
            **body,
        )


MCP_SERVER = {
    "name": "com.example/weather",
    "description": "Forecasts.",
    "version": "1.0.0",
    "remotes": [{"type": "streamable-http", "url": "https://mcp.example.com/mcp"}],
}


@dataclass(frozen=True)
class Stage:
    """Objects that the requests refer to."""

    registry: TestRegistry
    developer: TestDeveloper
    agent: TestAgent
    payee: TestAgent
    spare: TestAgent
    doomed: TestAgent
    administrator: TestDeveloper
    card_name: str
    verification_token: str
    bystander_id: int


async def set_stage(registry: TestRegistry, *, streams: bool = False) -> Stage:
    """A registry with a developer, two agents and a link to verify an address; streams end at once unless they are wanted."""
    developer = await registry.developer()
    agent = await developer.agent(name="Staged")
    payee = await registry.agent(pricing={"base_rate": "0.0001"})
    spare, doomed = [await developer.agent(name=name) for name in ("Spare", "Doomed")]
    card = (await registry.get(f"/agents/by-did/{agent.did}")).json()
    link = await _verification_token(registry)
    administrator = await registry.administrator(*ADMIN_AREAS)
    await registry.post(
        "/admin/registry-card/icon", files={"file": ("icon.png", png(1, 1))}, headers=administrator.headers
    )
    bystander = await registry.developer()
    await bystander.agent(name="Bystander")
    profile = (await registry.get("/auth/profile", headers=bystander.headers)).json()
    await registry.indexed()
    await auditor.run_cycle(registry.runtime)
    if not streams:
        # A stream has no end of its own.
        journal.LIVE_FEED.of(registry.runtime).end_streams()
    return Stage(
        registry,
        developer,
        agent,
        payee,
        spare,
        doomed,
        administrator,
        card["human_readable_id"],
        link,
        bystander_id=profile["id"],
    )


def with_some_id(path: str) -> str:
    """The path of an operation with an id in it that fits, where others would lead nowhere."""
    return re.sub(r"\{\w+:int\}", "1", re.sub(r"\{\w+:uuid\}", "1b4e28ba-2fa1-41d2-883f-0016d3cca427", path))


async def well_formed(operation: str, stage: Stage) -> WellFormed:
    """A fresh request for the operation, as `METHOD /path` of the map; it can be sent once."""
    method, path = operation.split(" ")
    if path.startswith("/.well-known/federation-licence"):
        await _genesis(stage)
    for template, make in _MADE_ANEW.items():
        if template in path:
            path = path.replace(template, template.partition("{")[0] + await make(stage))
    for template, value in _places(stage, operation).items():
        path = path.replace(template, value)
    assert "{" not in path, f"{operation} needs a well-formed request here"
    if operation in _BEFORE:
        await _BEFORE[operation](stage)
    if operation in _FORMS:
        filled = await _FORMS[operation](stage)
        headers = headers_of_a_page(stage.registry)
        return WellFormed(
            method, path, form=filled.fields, files=filled.files, headers=headers, cookies=filled.cookies
        )
    if operation in _BODIES:
        return dataclasses.replace(await _BODIES[operation](stage), method=method, path=path)
    return WellFormed(method, path, query=_QUERIES.get(operation, lambda _: {})(stage))


def _places(stage: Stage, operation: str) -> dict[str, str]:
    # Whoever loses its secret or ends here is not asked anything else.
    agent = stage.spare if operation.endswith("/rotate-secret") else stage.agent
    agent = stage.doomed if operation == "DELETE /api/v1/agents/{did}" else agent
    switched_off = operation == "DELETE /api/v1/agent-cards/{card_id}"
    return {
        "{human_readable_id:path}": stage.card_name,
        "{server_name:path}": server_name(stage),
        "{attestation_id}": "1",
        "{saga_id}": "5e0bd4a6-2b3d-4b8c-9d5e-3f3a1f1f1f1f",
        "{currency}": "BOB",
        "{template_id}": "translate-and-review",
        "{transfer_id}": "5e0bd4a6-2b3d-4b8c-9d5e-3f3a1f1f1f1f",
        "{sequence:int}": "1",
        "{tx_id:int}": "1",
        "{tile:path}": "0/000.p/1",
        "{card_id}": (stage.spare if switched_off else stage.agent).created["agent_card_id"],
        "{did}": agent.did,
        "{agent_did}": agent.did,
        "{identifier:path}": f"urn:air:{stage.registry.settings.trust_domain}:{agent.did}",
        "{page_number}": "0",
        "{identifier}": agent.did.partition(":")[2].partition(":")[2],
        "{unique:uuid}": agent.did.rpartition(":")[2],
        "{card_key}": agent.did,
        "{code}": "BODY_INVALID",
        "{version}": "1.0.1" if "/v0.1/servers/" in operation else "1",
        "{version:int}": "1",
        "{event_type}": "TokensStaked",
        "{type}": "AGENT_ONBOARDED",
        "{developer_id}": str(stage.bystander_id),
        "{developer_id:int}": str(stage.bystander_id),
        "{action}": "registry.operation",
        "{kind}": "registry",
        "{act}": ACTS_OF_PAGES.get(operation, ""),
        "{organization}": stage.card_name.partition("/")[0],
        "{name}": _name_in(operation, stage),
    }


def server_name(stage: Stage) -> str:
    """The name of the staged agent in the MCP registry API."""
    namespace = ".".join(reversed(stage.registry.settings.trust_domain.split(".")))
    return f"{namespace}/{stage.card_name.replace('/', '.')}"


def _name_in(operation: str, stage: Stage) -> str:
    names = {
        "GET /agents/{organization}/{name}": stage.card_name.partition("/")[2],
        "GET /docs/operations/{name}": "transfer_units",
        "GET /docs/operations/{name}/run": "transfer_units",
        "POST /docs/operations/{name}/run": "list_contracts_of_agent",
        "GET /guides/{name}": "webhooks",
        "GET /client/{name}": client_wheels()[0].name,
    }
    return names.get(operation, "enforcement: blocklist")


async def _key_to_revoke(stage: Stage) -> str:
    """The id of a new key; those that no request has revoked are, so that the account may have another one."""
    spent = "UPDATE people_api_key SET revoked_at = now() WHERE description = 'Staged' AND revoked_at IS NULL"
    await stage.registry.database.transaction(lambda tx: tx.execute(spent))
    made = await stage.registry.post("/auth/api-keys", json="Staged", headers=stage.developer.headers)
    assert made.status_code == 200, made.text
    return str(made.json()["api_key_info"]["id"])


async def _pending_approval(stage: Stage) -> str:
    """A payment of the staged agent that waits for its owner."""
    made = await stage.registry.database.transaction(
        lambda tx: tx.fetchval(
            "INSERT INTO agents_spend_approval (agent_id, payee, amount, expires_at)"
            " SELECT id, $2, $3, now() + interval '1 day' FROM agents_agent WHERE did = $1 RETURNING id",
            stage.agent.did,
            stage.payee.did,
            next(_numbers),
        )
    )
    return str(made)


async def staked_position(stage: Stage) -> str:
    """The newest position of the agent on the stage that may stake, or else of the one in its middle."""
    found = await stage.registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT max(p.id) FROM ledger_stake_position p JOIN ledger_account a ON a.id = p.account_id"
            " JOIN agents_agent g ON g.did = a.did WHERE g.did = $1 OR g.roles && '{staker}'"
            " GROUP BY g.did ORDER BY g.did = $1 LIMIT 1",
            stage.agent.did,
        )
    )
    return f"stake-{found}"


async def _connection_to_end(stage: Stage) -> str:
    """A connected client of the staged developer; those of earlier requests end, so that there is room for it."""
    made = await stage.registry.database.transaction(
        lambda tx: tx.fetchval(
            "WITH ended AS (UPDATE people_grant SET ended_at = now(), ended_because = 'revoked' WHERE ended_at IS NULL)"
            " INSERT INTO people_grant (developer_id, client_id, client_name, scopes, per_call, per_day, ask_above, ends_at)"
            " SELECT id, 'hcl_staged', 'Staged', '{mcp:read}', 5, 10, 1, now() + interval '1 day' FROM people_developer"
            " WHERE email = $1 RETURNING id",
            stage.developer.email,
        )
    )
    return str(made)


async def _deployment(stage: Stage) -> WellFormed:
    await release_requests.end_deployments(stage)
    version_id = await release_requests.draft(stage)
    return _json(version_id=version_id, url="https://agent.example.com/a2a")


async def _stored_bundle(stage: Stage) -> str:
    """A bundle of the staged agent; the forks of a minute before are as if they were older."""
    await _everybody(
        stage, "UPDATE agents_spawn SET spawned_at = spawned_at - interval '1 hour' WHERE parent_did IS NULL"
    )
    made = await stage.registry.post(f"/agents/{stage.agent.did}/export", headers=stage.developer.headers)
    assert made.status_code == 200, made.text
    return str(made.json()["bundle_id"])


async def _bundle(stage: Stage) -> WellFormed:
    return _json(bundle=await release_requests.bundle(stage))


async def _fork(_: Stage) -> WellFormed:
    return _json(name="Forked")


async def _project(_: Stage) -> WellFormed:
    return _json(**asked("paid_function"))


async def _version(_: Stage) -> WellFormed:
    return _json(version=f"staged {next(_numbers)}")


async def _job_to_change(stage: Stage) -> str:
    """The id of a new job that nothing runs."""
    return str(
        await stage.registry.database.transaction(
            lambda tx: enqueue(tx, "forgotten password", str(next(_numbers)))
        )
    )


async def _invitation_to_revoke(stage: Stage) -> str:
    made = await stage.registry.post(
        "/admin/invite-codes/generate", json={}, headers=stage.administrator.headers
    )
    assert made.status_code == 201, made.text
    return made.json()[0]["code"]


async def _admitted_registry(stage: Stage) -> str:
    """The id of a new licence that is active."""
    number = next(_numbers)
    made = await stage.registry.database.transaction(
        lambda tx: tx.fetchval(
            "INSERT INTO federation_licence_key (key_hash, trust_domain, issued_by) VALUES ($1, $2, 1) RETURNING id",
            fingerprint(f"licence {number}"),
            f"admitted{number}.example",
        )
    )
    return str(made)


async def _suspended_registry(stage: Stage) -> str:
    made = await _admitted_registry(stage)
    suspended = "UPDATE federation_licence_key SET status = 'suspended' WHERE id = $1"
    await stage.registry.database.transaction(lambda tx: tx.execute(suspended, made))
    return f"{made}/reinstate"


async def _forget_licences(stage: Stage) -> None:
    """Let the registry hold and have issued no certificates, as before its first."""

    async def forget(tx: Tx) -> None:
        await tx.execute("DELETE FROM federation_certificate")
        await tx.execute("DELETE FROM federation_network_certificate")

    await stage.registry.database.transaction(forget)


async def _genesis(stage: Stage) -> str:
    """The hash of the certificate that the registry issued to itself."""
    await _forget_licences(stage)
    made = await stage.registry.post(
        "/admin/federation/licences/genesis", json={}, headers=stage.administrator.headers
    )
    assert made.status_code == 201, made.text
    return str(made.json()["hash"])


async def _issued_lid(stage: Stage) -> str:
    """The id of a certificate that the registry issued."""
    await _genesis(stage)
    lid = "SELECT lid FROM federation_certificate WHERE type = 'genesis'"
    return str(await stage.registry.database.read(lambda tx: tx.fetchval(lid)))


async def _before_genesis(stage: Stage) -> WellFormed:
    await _forget_licences(stage)
    return _json()


async def _installation_form(stage: Stage) -> FilledForm:
    delivered = (await _installation(stage)).json
    fields = {"certificate": delivered["certificate"], "chain": delivered["chain"][0]}
    return FilledForm({"form_key": await form_key(stage.registry, stage.administrator), **fields})


def _operator() -> dict[str, Any]:
    return {"sub": {"trust_domain": "hansa.local", "name": "north"}, "plan": "operator-free"}


async def _operator_licence(stage: Stage) -> WellFormed:
    await _forget_licences(stage)
    return _json(**_operator())


def _licence(act: str) -> Callable[[Stage], Awaitable[str]]:
    async def make(stage: Stage) -> str:
        """The id of a new certificate, which the act can change."""
        await _forget_licences(stage)
        root = "/admin/federation/licences"
        made = await stage.registry.post(root, json=_operator(), headers=stage.administrator.headers)
        assert made.status_code == 201, made.text
        lid = made.json()["lid"]
        if act == "reinstate":
            reason = {"reason": "For a test."}
            await stage.registry.post(
                f"{root}/{lid}/suspend", json=reason, headers=stage.administrator.headers
            )
        return f"{lid}/{act}"

    return make


async def _installation(stage: Stage) -> WellFormed:
    """A frame certificate for this registry by a genesis that nobody here knows."""
    await _forget_licences(stage)
    own = await stage.registry.get("/admin/federation/licences/key", headers=stage.administrator.headers)
    genesis = TestGenesis("genesis.example")
    frame = genesis.frame("hansa.local", {name: own.json()[name] for name in ("kty", "crv", "x")})
    return _json(certificate=frame, chain=[genesis.certificate])


async def _webhook(stage: Stage) -> str:
    """The id of a new webhook, the only one that its owner has."""
    body = {"url": "https://receiver.example.com/hook", "event_types": ["*"]}
    await _forget_webhooks(stage)
    made = await stage.registry.post("/developers/webhooks", json=body, headers=stage.developer.headers)
    assert made.status_code == 201, made.text
    return made.json()["id"]


async def _delivery(stage: Stage) -> str:
    """The id of a delivery of the newest webhook."""
    return await stage.registry.database.transaction(
        lambda tx: tx.fetchval(
            "INSERT INTO notifications_webhook_delivery (id, webhook_id, event_type, payload)"
            " SELECT replace(id, 'whk_', 'msg_'), id, 'webhook.test', '{}' FROM notifications_webhook"
            " ORDER BY created_at DESC LIMIT 1 RETURNING id"
        )
    )


async def _forget_webhooks(stage: Stage) -> None:
    await stage.registry.database.transaction(lambda tx: tx.execute("DELETE FROM notifications_webhook"))


async def _session_to_end(stage: Stage) -> str:
    """A session of the developer's that no test is logged in with."""
    made = await stage.registry.database.transaction(
        lambda tx: tx.fetchval(
            "INSERT INTO people_session (developer_id) SELECT id FROM people_developer WHERE email = $1"
            " RETURNING id",
            stage.developer.email,
        )
    )
    return str(made)


async def _capability_to_use(stage: Stage) -> str:
    """A capability that the staged agent issued."""
    wanted = await _capability(stage)
    made = await stage.registry.post("/agents/capabilities", json=wanted.json, headers=stage.agent.headers)
    assert made.status_code == 200, made.text
    return made.json()["id"]


def _contract(
    act: str, *, provided: bool, submitted: bool = False, kind: str = "service"
) -> Callable[[Stage], Awaitable[str]]:
    """The end of the path of an act on a new contract, in the state that it needs, of the staged agent."""

    async def made(stage: Stage) -> str:
        contractor, provider = (stage.spare, stage.agent) if provided else (stage.agent, stage.spare)
        status = "SUBMITTED" if submitted else "ACCEPTED" if act in {"submit", "mark-failed"} else "PROPOSED"
        contract_id = await stage.registry.database.transaction(
            lambda tx: tx.fetchval(
                "INSERT INTO commerce_contract (version, title, contract_type, amount, currency, contractor_did,"
                " provider_did, terms, acceptance_criteria, auto_approve, funded, status, expires_at, turn_at,"
                " created_at) VALUES (1, 'Staged', $4, 1, 'UNIT', $1, $2, '\"\"', '\"\"', false, false, $3,"
                " now() + interval '1 day', now(), now()) RETURNING id",
                contractor.did,
                provider.did,
                status,
                kind,
            )
        )
        return f"{contract_id}/{act}".removesuffix("/")

    return made


async def _proved_contract(stage: Stage) -> str:
    """The id of a countersigned attestation contract on which a live authorization rests."""
    made = await _contract("submit", provided=True, kind="attestation")(stage)
    contract_id = int(made.partition("/")[0])
    await stage.registry.database.transaction(
        lambda tx: tx.execute("UPDATE commerce_contract SET accepted_at = now() WHERE id = $1", contract_id)
    )
    await _record_authorization(stage, {"tier": "contract", "contract_id": contract_id})
    return str(contract_id)


async def _authorization_to_withdraw(stage: Stage) -> str:
    return await _record_authorization(stage, {"tier": "reference", "reference": "Register no. 42"})


async def _record_authorization(stage: Stage, evidence: dict[str, Any]) -> str:
    """The id of a new authorization; there is room for it."""
    await stage.registry.database.transaction(lambda tx: tx.execute("DELETE FROM federation_authorization"))
    body = {**_AUTHORIZATION, "evidence": evidence}
    made = await stage.registry.post(
        "/admin/jurisdiction/authorizations", json=body, headers=stage.administrator.headers
    )
    assert made.status_code == 201, made.text
    return made.json()["id"]


_AUTHORIZATION = {"action": "fiat.lane", "authority": "Example authority", "subject": "hansa.local"}


async def _authorization(stage: Stage) -> WellFormed:
    await stage.registry.database.transaction(lambda tx: tx.execute("DELETE FROM federation_authorization"))
    return _json(**_AUTHORIZATION, evidence={"tier": "hash", "sha256": "0" * 64})


def _award(act: str) -> Callable[[Stage], Awaitable[str]]:
    """The end of the path of an act on the award of a new ruling for the staged agent, by a bystander."""

    async def made(stage: Stage) -> str:
        dispute_id = await stage.registry.database.transaction(
            lambda tx: tx.fetchval(
                "INSERT INTO commerce_dispute (complainant_did, defendant_did, payment, payer_did, subject_amount, paid_amount,"
                " held_amount, is_malpractice, reason_code, description, status, ruling, compensation_amount, award_amount,"
                " award_status, ruled_by, opened_at, evidence_until, rule_by, voting_at, closed_at) VALUES ($1, $2, $3, $1, 100,"
                " 100, 0, false, 'OTHER', 'Staged', 'CLOSED', 'IN_FAVOR_OF_COMPLAINANT', 100, 100, 'PENDING', $4, now(),"
                " now() + interval '1 day', now() + interval '2 days', now(), now()) RETURNING id",
                stage.agent.did,
                stage.spare.did,
                f"transaction:{10**9 + next(_numbers)}",
                stage.bystander_id,
            )
        )
        return f"{dispute_id}/{act}"

    return made


def _dispute(act: str, status: str) -> Callable[[Stage], Awaitable[str]]:
    """The end of the path of an act on a new dispute of the staged agent, in this state."""

    async def made(stage: Stage) -> str:
        dispute_id = await stage.registry.database.transaction(
            lambda tx: tx.fetchval(
                "INSERT INTO commerce_dispute (complainant_did, defendant_did, is_malpractice, reason_code, description,"
                " status, opened_at, evidence_until, rule_by, voting_at) VALUES ($1, $2, false, 'OTHER', 'Staged', $3,"
                " now(), now() + interval '1 day', now() + interval '2 days', $4) RETURNING id",
                stage.agent.did,
                stage.spare.did,
                status,
                datetime.now(UTC) if status == "VOTING" else None,
            )
        )
        return f"{dispute_id}/{act}".removesuffix("/")

    return made


async def _org_and_name(stage: Stage) -> str:
    return stage.card_name


async def _authorized(stage: Stage) -> dict[str, str]:
    """A new payment token of the staged agent, which has no other that is unused."""
    await stage.registry.database.transaction(
        lambda tx: tx.execute(
            "DELETE FROM commerce_payment_token WHERE status = 'authorized' AND hold_id IS NULL"
        )
    )
    body = {"target_agent_did": stage.payee.did, "amount": "0.0001"}
    made = await stage.registry.post("/a2a-payment/authorize", json=body, headers=stage.agent.headers)
    assert made.status_code == 200, made.text
    answer: dict[str, str] = made.json()
    return answer


async def _token_id(stage: Stage) -> str:
    return (await _authorized(stage))["token_id"]


async def _settled_id(stage: Stage) -> str:
    made = await _authorized(stage)
    headers = {**stage.agent.headers, "Prefer": "wait=10"}
    settled = await stage.registry.post("/a2a-payment/settle", json={"token": made["token"]}, headers=headers)
    assert settled.json()["status"] == "settled", settled.text
    return made["token_id"]


async def _wallet_to_unbind(stage: Stage) -> str:
    """The address of a new wallet of the staged agent, the only one that it has."""
    await _forget_wallets(stage)
    wallet = TestWallet()
    assert (await wallet.bind(stage.agent)).is_success
    return wallet.address


async def _forget_wallets(stage: Stage) -> None:
    """How many wallets an agent binds in an hour is not the question of these tests."""
    statements = (
        "DELETE FROM agents_wallet",
        "DELETE FROM plumbing_rate_limit WHERE bucket LIKE 'wallet-binding%'",
    )
    for statement in statements:
        await stage.registry.database.transaction(lambda tx, statement=statement: tx.execute(statement))


async def _capability_to_narrow(stage: Stage) -> str:
    """The end of the path of an act on a capability that the staged agent holds."""
    wanted = (await _capability(stage)).json | {"holder_agent_did": stage.agent.did}
    made = await stage.registry.post("/agents/capabilities", json=wanted, headers=stage.agent.headers)
    assert made.status_code == 200, made.text
    return f"{made.json()['id']}/narrow"


async def saga_of_the_bridge(stage: Stage) -> str:
    """The id of a redemption of the staged agent whose home does not answer."""
    made = await stage.registry.database.transaction(
        lambda tx: tx.fetchval(
            "INSERT INTO transfers_bridge_saga (saga_id, direction, peer, frame, sender_did, receiver_did, amount, currency,"
            " state, history, deadline, next_at) VALUES (gen_random_uuid(), 'redeem', 'spiffe://elsewhere.example/registry',"
            " 'elsewhere.example', $1, $2, 100, 'BOB', 'UNLOCK_REQUESTED', '[]', now() + interval '1 day',"
            " now() + interval '1 day') RETURNING saga_id",
            stage.agent.did,
            f"did:hansa:elsewhere.example:{uuid4()}",
        )
    )
    return str(made)


async def _colleague(stage: Stage) -> str:
    """The number of a new administrator of one area."""
    colleague = await stage.registry.administrator("admin_support")
    return str((await stage.registry.get("/auth/profile", headers=colleague.headers)).json()["id"])


async def _child_to_end(stage: Stage) -> str:
    return f"{await new_child(stage)}/spawn/end"


_MADE_ANEW: dict[str, Callable[[Stage], Awaitable[str]]] = {
    **work_order_requests.MADE_ANEW,
    **exchange_requests.MADE_ANEW,
    **governance_requests.MADE_ANEW,
    **proof_requests.MADE_ANEW,
    **organization_requests.MADE_ANEW,
    **pipeline_requests.MADE_ANEW,
    **phone_requests.MADE_ANEW,
    **status_requests.MADE_ANEW,
    **support_requests.MADE_ANEW,
    "/agent-cards/{org}/{name:card_name}": _org_and_name,
    "/jurisdiction/contracts/{contract_id}": _proved_contract,
    "{authorization_id:uuid}": _authorization_to_withdraw,
    "/contracts/{contract_id:int}": _contract("", provided=False, kind="attestation"),
    "{contract_id}/page-link": _contract("page-link", provided=False),
    "{contract_id}/accept-federated": _contract("accept-federated", provided=True),
    "{contract_id}/submit-federated": _contract("submit-federated", provided=True),
    "{contract_id}/dispute-federated": _contract("dispute-federated", provided=True),
    "{contract_id}/federated": _contract("federated", provided=True),
    "{contract_id}/accept": _contract("accept", provided=True),
    "{contract_id}/submit": _contract("submit", provided=True),
    "{contract_id}/cancel": _contract("cancel", provided=False),
    "{contract_id}/mark-failed": _contract("mark-failed", provided=False),
    "{contract_id}/request-changes": _contract("request-changes", provided=False, submitted=True),
    "{contract_id}/approve-completion": _contract("approve-completion", provided=False, submitted=True),
    "{contract_id}": _contract("", provided=False),
    "{dispute_id:int}/approve": _award("approve"),
    "{dispute_id:int}/reject": _award("reject"),
    "{dispute_id}/approve": _award("approve"),
    "{dispute_id}/reject": _award("reject"),
    "{dispute_id:int}/open-voting": _dispute("open-voting", "OPEN"),
    "{dispute_id:int}/ruling": _dispute("ruling", "VOTING"),
    "{dispute_id:int}": _dispute("", "OPEN"),
    "{job_id:int}": _job_to_change,
    "{invite_id}": _invitation_to_revoke,
    "{lid}/{act}": _licence("suspend"),
    "{dispute_id}/bundle": _dispute("bundle", "OPEN"),
    "{dispute_id}/evidence": _dispute("evidence", "OPEN"),
    "{dispute_id}/open-voting": _dispute("open-voting", "OPEN"),
    "{dispute_id}/ruling": _dispute("ruling", "VOTING"),
    "{dispute_id}": _dispute("", "OPEN"),
    "{approval_id:uuid}": _pending_approval,
    "{did}/spawn/end": _child_to_end,
    "{position_id}": staked_position,
    "{connection_id}": _connection_to_end,
    "{connection_id:uuid}": _connection_to_end,
    "/capabilities/{capability_id:uuid}/narrow": _capability_to_narrow,
    "{capability_id:uuid}": _capability_to_use,
    "/bridge/{saga_id:uuid}": saga_of_the_bridge,
    "/administrators/{developer_id:int}": _colleague,
    "{key_id}": _key_to_revoke,
    "{key_id:int}": _key_to_revoke,
    "/pay/{token_id:uuid}": _settled_id,
    "{token_id:uuid}": _token_id,
    "{job_id}": _job_to_change,
    "{bundle_id}": _stored_bundle,
    "{version_id}": release_requests.draft,
    "{deployment_id}": release_requests.active_deployment,
    "/admin/invite-codes/{code}": _invitation_to_revoke,
    "/licences/{lid:uuid}": _issued_lid,
    "{lid}/suspend": _licence("suspend"),
    "{lid}/reinstate": _licence("reinstate"),
    "{lid}/revoke": _licence("revoke"),
    "{cert_hash}": _genesis,
    "{licence_id:uuid}/reinstate": _suspended_registry,
    "{licence_id:uuid}": _admitted_registry,
    "{webhook_id}": _webhook,
    "{delivery_id}": _delivery,
    "{session_id}": _session_to_end,
    "{session_id:uuid}": _session_to_end,
    "/agents/me/wallets/{address}": _wallet_to_unbind,
    "{settlement_id:int}/{act}": federation_requests.settlement_that_can("approve"),
    "{settlement_id}/approve": federation_requests.settlement_that_can("approve"),
    "{settlement_id}/reject": federation_requests.settlement_that_can("reject"),
    "{settlement_id}/write-off": federation_requests.settlement_that_can("write-off"),
    "{settlement_id}/evidence": federation_requests.settlement_that_can("evidence"),
    "{settlement_id}": federation_requests.settlement_that_can(""),
    "/peer-slash-config/{peer_id}": federation_requests.peer_to_configure,
    "{peer_id:int}": federation_requests.number_of_a_peer,
    "{jti:uuid}": federation_requests.open_invitation,
    "/federation/peers/{name:peer}/net-in-limit": federation_requests.peer_that_can("net-in-limit"),
    "/federation/peers/{name:peer}/sync": federation_requests.peer_that_can("sync"),
    "/federation/peers/{name:peer}/pause": federation_requests.peer_that_can("pause"),
    "/federation/peers/{name:peer}/resume": federation_requests.peer_that_can("resume"),
    "/federation/peers/{name:peer}/quarantine": federation_requests.peer_that_can("quarantine"),
    "/federation/peers/{name:peer}/release": federation_requests.peer_that_can("release"),
    "/federation/peers/{name:peer}": federation_requests.a_peer,
}


async def _fund_a_bond(stage: Stage) -> None:
    await _bond_deposit(stage)


async def _withdraw_proposals(stage: Stage) -> None:
    """An agent has a hundred open proposals at most; those that the requests of this stage speak of are many more."""
    await _everybody(
        stage,
        "UPDATE commerce_contract SET status = 'CANCELLED', ended_because = 'cancelled', ended_at = now(), due_at = NULL"
        " WHERE status = 'PROPOSED'",
    )


_BEFORE: dict[str, Callable[[Stage], Awaitable[None]]] = {
    **exchange_requests.BEFORE,
    **support_requests.BEFORE,
    "POST /account/agents/{did}/wallet/bond/{act}": _fund_a_bond,
    "POST /account/agents/{did}/contracts": _withdraw_proposals,
    "POST /administration/licences/genesis": _forget_licences,
    "POST /administration/licences/install": _forget_licences,
}
_FORMS = {
    **CONSOLE_FORMS,
    **AGENT_AND_ADMINISTRATION_FORMS,
    "POST /administration/licences/install": _installation_form,
}

_QUERIES: dict[str, Callable[[Stage], dict[str, str]]] = {
    "GET /oauth/authorize": authorization_query,
    "GET /api/v1/attestations": lambda stage: {"agent": stage.agent.did},
    "GET /attestations": lambda stage: {"agent": stage.agent.did},
    "GET /account/call": lambda stage: {"agent": stage.payee.did},
    "GET /api/v1/a2a-payment/quote": lambda stage: {"target_agent_did": stage.payee.did},
    "GET /api/v1/auth/verify-email": lambda stage: {"token": stage.verification_token},
    "GET /log/proof": lambda _: {"index": "0"},
    "GET /witness/checkpoint": lambda _: {"origin": "nobody.example/log"},
    "GET /log/consistency": lambda _: {"old_size": "1"},
    "GET /verify-email": lambda stage: {"token": stage.verification_token},
    "GET /api/v1/contracts/{contract_id}/federated": lambda _: {"contractor_registry": "elsewhere.example"},
    "GET /api/v1/discover": lambda stage: {"query": "translator"},
    "DELETE /api/v1/agora/orders": lambda _: {"listing": exchange_requests.TRADED},
    "GET /api/v1/teg/fx/rate": lambda stage: {"to": "BOB"},
    "GET /api/v1/teg/fx/pool": lambda stage: {"to": "BOB"},
    "GET /api/v1/agent-cards/by-hri": lambda stage: {"hri": stage.card_name},
}


async def _registration(stage: Stage) -> WellFormed:
    number = next(_numbers)
    return _json(
        name=f"Newcomer {number}",
        email=f"newcomer{number}@example.net",
        password=PASSWORD,
        tos_accepted=True,
        age_confirmed=True,
    )


async def _imported_server(_: Stage) -> WellFormed:
    return _json(server_json=MCP_SERVER)


async def _new_card(stage: Stage) -> WellFormed:
    return _json(card_data=card_of(f"Listing {next(_numbers)}"))


async def _same_card(stage: Stage) -> WellFormed:
    return _json(card_data=card_of("Staged"), is_active=True)


async def _listing(stage: Stage) -> WellFormed:
    return _json(unlisted=False)


async def _login(stage: Stage) -> WellFormed:
    newcomer = await _registration(stage)
    answer = await stage.registry.post(
        "/auth/register", json=newcomer.json, headers=stage.registry.elsewhere()
    )
    assert answer.status_code == 201, answer.text
    return WellFormed("", "", form={"username": newcomer.json["email"], "password": PASSWORD})


async def _refresh(stage: Stage) -> WellFormed:
    login = await _login(stage)
    answer = await stage.registry.post("/auth/login", data=login.form, headers=stage.registry.elsewhere())
    return _json(refresh_token=answer.json()["refresh_token"])


async def _setup_of_an_app(stage: Stage) -> WellFormed:
    await _everybody(stage, "DELETE FROM people_second_factor")
    return await _nothing()


async def _first_code_of_an_app(stage: Stage) -> WellFormed:
    seed = pyotp.random_base32()
    developers = await stage.registry.database.read(lambda tx: tx.fetch("SELECT id FROM people_developer"))
    seal = stage.registry.runtime.seal
    await _everybody(stage, "DELETE FROM people_second_factor")
    for developer in developers:
        await _everybody(
            stage,
            "INSERT INTO people_second_factor (developer_id, sealed_seed) VALUES ($1, $2)",
            developer["id"],
            close_seed(seal, developer["id"], seed),
        )
    return _json(code=pyotp.TOTP(seed).now())


async def _end_of_an_app(stage: Stage) -> WellFormed:
    await _have_everybody_use_an_app(stage)
    return _json(password=PASSWORD, code=BACKUP_CODE)


async def _recovery_from_a_lost_app(stage: Stage) -> WellFormed:
    await _have_everybody_use_an_app(stage)
    key = f"avrec-{next(_numbers):08x}-00000000-00000000"
    await _everybody(
        stage,
        "INSERT INTO people_recovery_key (developer_id, key_hash) SELECT id, $1 FROM people_developer",
        fingerprint(key),
    )
    return _json(recovery_key=key)


async def _second_step(stage: Stage) -> WellFormed:
    return _json(partial_token=await _partial_login(stage), code=BACKUP_CODE)


async def _second_step_in_a_browser(stage: Stage) -> WellFormed:
    return WellFormed(
        "",
        "",
        form={"code": BACKUP_CODE},
        headers=headers_of_a_page(stage.registry),
        cookies={"hansa_login": await _partial_login(stage)},
    )


async def _partial_login(stage: Stage) -> str:
    """The partial token of a login that waits for its code."""
    await _have_everybody_use_an_app(stage)
    token = f"hpt_{next(_numbers)}"
    await _everybody(
        stage,
        "INSERT INTO people_partial_token (token_hash, developer_id, expires_at)"
        " SELECT $1, min(id), now() + interval '5 minutes' FROM people_developer",
        fingerprint(token),
    )
    return token


async def _have_everybody_use_an_app(stage: Stage) -> None:
    await _everybody(
        stage,
        "INSERT INTO people_second_factor (developer_id, sealed_seed, enabled_at)"
        " SELECT id, '', now() FROM people_developer"
        " ON CONFLICT (developer_id) DO UPDATE SET enabled_at = now(), paused_until = NULL",
    )
    await _everybody(
        stage,
        "INSERT INTO people_backup_code (developer_id, code_hash) SELECT id, $1 FROM people_developer"
        " ON CONFLICT DO NOTHING",
        fingerprint(BACKUP_CODE),
    )


async def _everybody(stage: Stage, statement: str, *values: Any) -> None:
    await stage.registry.database.transaction(lambda tx: tx.execute(statement, *values))


async def _forgotten(stage: Stage) -> WellFormed:
    return _json(email=f"forgetful{next(_numbers)}@example.net")


async def _recovery(stage: Stage) -> WellFormed:
    newcomer = await _registration(stage)
    answer = await stage.registry.post(
        "/auth/register", json=newcomer.json, headers=stage.registry.elsewhere()
    )
    return _json(email=newcomer.json["email"], recovery_key=answer.json()["recovery_keys"][0])


async def _accepted_terms(stage: Stage) -> WellFormed:
    return _json(tos_version=stage.registry.settings.tos_version)


async def _changed_password(stage: Stage) -> WellFormed:
    return _json(current_password=PASSWORD, new_password="Another-Horse-9-Stable")


async def _renewal_of_keys(stage: Stage) -> WellFormed:
    await _everybody(stage, "DELETE FROM people_second_factor")
    # The password of an account is proved ten times a minute at most.
    await _everybody(stage, "DELETE FROM plumbing_rate_limit WHERE bucket LIKE 'login-account:%'")
    return _json(password=PASSWORD, code="000000")


async def _new_password(stage: Stage) -> WellFormed:
    return _json(new_password="Another-Horse-9-Stable")


async def _agent_token(stage: Stage) -> WellFormed:
    made = stage.agent.created
    return WellFormed("", "", form={"username": made["client_id"], "password": made["client_secret"]})


async def _client_credentials(stage: Stage) -> WellFormed:
    filled = await _agent_token(stage)
    assert filled.form is not None
    client_id, client_secret = filled.form["username"], filled.form["password"]
    form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": client_secret}
    return dataclasses.replace(filled, form=form)


async def _revocation(stage: Stage) -> WellFormed:
    return WellFormed("", "", form={"token": "hrt_unknown", "client_id": "hcl_unknown"})


async def _client(stage: Stage) -> WellFormed:
    return WellFormed("", "", json={"redirect_uris": [REDIRECT], "client_name": "Staged"})


async def _lower_limit(stage: Stage) -> WellFormed:
    return WellFormed("", "", json={"limits": {"per_call": "0"}})


async def _bootstrap_request(stage: Stage) -> WellFormed:
    return _json(agent_type_hint="translator", requested_by="test")


async def _creation(stage: Stage) -> WellFormed:
    method = stage.registry.settings.did_method
    return _json(agent_did_method=method, agent_card=card_of(f"Created {next(_numbers)}"))


async def _validation(stage: Stage) -> WellFormed:
    return _json(card_data=card_of("Judged"))


async def _search(stage: Stage) -> WellFormed:
    return _json(query={"text": "staged", "filter": {"tags": ["test"]}}, federation="none", pageSize=5)


async def _count(stage: Stage) -> WellFormed:
    return _json(query={"text": "staged"}, resultType={"facets": [{"field": "tags", "limit": 3}]})


async def _wallet_challenge(stage: Stage) -> WellFormed:
    return _json(address=TestWallet().address)


async def _wallet(stage: Stage) -> WellFormed:
    await _forget_wallets(stage)
    wallet = TestWallet()
    return _json(**await wallet.signed_challenge(stage.agent))


async def _flare_to_buy(stage: Stage) -> WellFormed:
    """A flare that no agent has."""
    await forget_flares(stage)
    return _json(variant="anchor", price="2")


async def _no_flares(stage: Stage) -> WellFormed:
    return _json(corner=None)


async def _shown_achievements(stage: Stage) -> WellFormed:
    return _json(shown=True)


async def _bond_deposit(stage: Stage) -> WellFormed:
    """Return a bond deposit, after a grant of the units that the staged agent needs for it."""
    amount = parse_amount(stage.registry.settings.bond_minimum)
    book = ledger.Book.of(stage.registry.settings)
    await stage.registry.database.transaction(
        lambda tx: ledger.grant(tx, payee=stage.agent.did, amount=amount, ref="staged", book=book)
    )
    return _json(amount=stage.registry.settings.bond_minimum)


async def _bond_release(stage: Stage) -> WellFormed:
    """The staged agent has a bond, and no contract or dispute that keeps it."""
    path = f"/agents/{stage.agent.did}/reputation-bond/deposit"
    body = (await _bond_deposit(stage)).json
    answer = await stage.registry.post(path, json=body, headers=stage.agent.headers)
    assert answer.status_code == 200, answer.text
    ended = """
        UPDATE commerce_contract SET status = 'FAILED', ended_because = 'rejected', due_at = NULL, hold_release_at = NULL
        WHERE status IN ('ACCEPTED', 'SUBMITTED') AND (contractor_did = $1 OR provider_did = $1)
    """
    closed = """
        UPDATE commerce_dispute SET status = 'CLOSED', ruling = 'DISMISSED', closed_at = now(), voting_at = coalesce(voting_at, now())
        WHERE status <> 'CLOSED' AND (complainant_did = $1 OR defendant_did = $1)
    """
    for statement in (ended, closed):
        await stage.registry.database.transaction(
            lambda tx, statement=statement: tx.execute(statement, stage.agent.did)
        )
    return await _nothing()


async def _bond_unlock(stage: Stage) -> WellFormed:
    await _bond_release(stage)
    path = f"/agents/{stage.agent.did}/reputation-bond/release"
    answer = await stage.registry.post(path, headers=stage.agent.headers)
    assert answer.status_code == 200, answer.text
    matured = "UPDATE reputation_bond SET releasable_at = now() WHERE agent_did = $1"
    await stage.registry.database.transaction(lambda tx: tx.execute(matured, stage.agent.did))
    return await _nothing()


async def _proposal(stage: Stage) -> WellFormed:
    return _json(
        title="Translate a manual",
        contract_type="service",
        amount="0.0001",
        terms="German to English.",
        acceptance_criteria="All pages.",
    )


async def _federated_contract(stage: Stage) -> WellFormed:
    return _json(contractor_registry="elsewhere.example")


async def _federated_dispute(stage: Stage) -> WellFormed:
    return _json(
        contractor_registry="elsewhere.example",
        defendant_did=stage.agent.did,
        reason_code="OTHER",
        description="Nothing was delivered.",
    )


async def _relayed_act(stage: Stage) -> WellFormed:
    return _json(
        request_id="1b4e28ba-2fa1-41d2-883f-0016d3cca427",
        contract_id=2**40,
        act="read",
        actor_did="did:hansa:peer.example:1b4e28ba-2fa1-41d2-883f-0016d3cca427",
        body={},
    )


async def _stated_contract(stage: Stage) -> WellFormed:
    timestamp, nobody = "2026-01-01T00:00:00Z", "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
    contractor = f"did:hansa:peer.example:{nobody}"
    absent = "submit_by review_by ended_because payment_tx_id hold_release_at dispute_id accepted_at submitted_at completed_at"
    proposed = {
        "act": "proposed",
        "actor_did": contractor,
        "milestone": None,
        "note": None,
        "at": timestamp,
    }
    contract = {
        **dict.fromkeys(absent.split()),
        "id": 2**40,
        "version": 1,
        "title": "Translate a page",
        "contract_type": "service",
        "amount": "10",
        "amount_paid": "0",
        "currency": "AVT",
        "contractor_did": contractor,
        "provider_did": f"did:hansa:{stage.registry.settings.issuer}:{nobody}",
        "contractor_registry": "peer.example",
        "provider_registry": stage.registry.settings.trust_domain,
        "terms": "One page.",
        "acceptance_criteria": "It reads well.",
        "auto_approve": False,
        "funded": False,
        "milestones": [],
        "deliverables": [],
        "status": "PROPOSED",
        "expires_at": timestamp,
        "created_at": timestamp,
        "history": [proposed],
    }
    return _json(contract=contract)


async def _hint(stage: Stage) -> WellFormed:
    return _json(next="newest")


async def _availability_of_agents(stage: Stage) -> WellFormed:
    return _json(messages=["header.payload.signature"])


async def _receipts_of_acts(stage: Stage) -> WellFormed:
    return _json(receipts=["header.payload.signature"])


async def _complaint(stage: Stage) -> WellFormed:
    return _json(defendant_did=stage.payee.did, reason_code="OTHER", description="It never answers.")


async def _malpractice(stage: Stage) -> WellFormed:
    contract_id = int((await _contract("submit", provided=True)(stage)).split("/")[0])
    submission = (
        "INSERT INTO commerce_contract_history (contract_id, act, actor_did, deliverable, at)"
        " SELECT id, 'submitted', provider_did, jsonb_build_object('sha256', repeat('0', 64), 'uri', NULL, 'note', NULL), now()"
        " FROM commerce_contract WHERE id = $1"
    )
    await stage.registry.database.transaction(lambda tx: tx.execute(submission, contract_id))
    return _json(contract_id=contract_id, evidence="The work was copied.")


async def _evidence(_: Stage) -> WellFormed:
    return _json(sha256="0" * 64, note="What was delivered.")


async def _ruling(_: Stage) -> WellFormed:
    return _json(ruling="DISMISSED", note="Nothing was shown.")


async def _transfer(stage: Stage) -> WellFormed:
    return _json(receiver_agent_id=stage.payee.did, amount="0.0001", message="thanks")


async def _x402_payment(stage: Stage) -> WellFormed:
    asked = await stage.registry.http.get("/x402/supported")
    kind = asked.json()["kinds"][0]
    terms = {
        "scheme": "exact",
        "network": kind["network"],
        "amount": "1",
        "asset": kind["extra"]["asset"],
        "payTo": TestWallet().address,
        "maxTimeoutSeconds": 60,
    }
    payload = {"x402Version": 2, "accepted": terms, "payload": {}}
    return _json(x402Version=2, paymentPayload=payload, paymentRequirements=terms)


async def _tools(stage: Stage) -> WellFormed:
    await PROTOCOL.of(stage.registry.runtime).load()
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    return WellFormed("", "", json=message, headers={"Accept": "application/json"})


async def _bulk(stage: Stage) -> WellFormed:
    line = {"receiver_did": stage.payee.did, "amount": "0.0001", "message": "thanks"}
    return _json(transfers=[{**line, "key": f"line-{next(_numbers)}"} for _ in range(2)], atomic=True)


async def _purchase(stage: Stage) -> WellFormed:
    return _json(target_agent_did=stage.payee.did, message="Hello", max_amount="1", timeout_seconds=1)


async def _payment(stage: Stage) -> WellFormed:
    return _json(target_agent_did=stage.payee.did, amount="0.0001")


async def _own_token(stage: Stage) -> WellFormed:
    return _json(token=(await _authorized(stage))["token"])


async def _own_tokens(stage: Stage) -> WellFormed:
    return _json(tokens=[{"token": (await _authorized(stage))["token"]}])


async def _totals(stage: Stage) -> WellFormed:
    settings = stage.registry.settings
    reader = federation.registry_id_of(settings.trust_domain, settings.registry_name)
    return _json(messages=[statement_of_totals(reader)])


async def _did_digests(stage: Stage) -> WellFormed:
    return _json(digests=[sha256(stage.agent.did.encode()).hexdigest()])


async def _crossing(stage: Stage) -> WellFormed:
    receiver = f"did:hansa:elsewhere.example:{uuid4()}"
    return _json(receiver_did=receiver, amount="0.0001", message="thanks")


async def _swap_quote(stage: Stage) -> WellFormed:
    return _json(to_currency="BOB", amount="1")


async def _new_pool(stage: Stage) -> WellFormed:
    return _json(currency="BOB", peer="elsewhere.example", reserve_own="10", reserve_foreign="10")


async def _peer_limit(stage: Stage) -> WellFormed:
    return _json(net_in_limit="5")


async def _pool_rate(stage: Stage) -> WellFormed:
    return _json(rate="2.5")


async def _pool_act(stage: Stage) -> WellFormed:
    return _json(act_id=str(uuid4()), kind="fund", currency="BOB", amount="1", asked="0", mode="pool")


async def _bridge_transfer(stage: Stage) -> WellFormed:
    return _json(receiver_did=f"did:hansa:elsewhere.example:{uuid4()}", amount="0.0001")


async def _redemption(stage: Stage) -> WellFormed:
    receiver = f"did:hansa:elsewhere.example:{uuid4()}"
    return _json(wrapped_currency="AVT.elsewhere.example", amount="0.0001", receiver_did=receiver)


async def _slash_config(stage: Stage) -> WellFormed:
    return _json(auto_slash_enabled=True, auto_slash_max_avt=50)


async def _step_of_a_saga(stage: Stage) -> WellFormed:
    return _json(saga_id=str(uuid4()))


async def _transfer_messages(stage: Stage) -> WellFormed:
    return _json(messages=["e30.e30.e30"])


async def _renewal(stage: Stage) -> WellFormed:
    return _json(csrs=["registry", "operator"])


async def _sending(stage: Stage) -> WellFormed:
    return _json(receiver_did=stage.payee.did, amount="0.0001", message="thanks")


async def _stake(stage: Stage) -> WellFormed:
    return _json(amount="10", lock_period=0)


async def _compounding(stage: Stage) -> WellFormed:
    return _json(auto_compound=True)


async def _correction(stage: Stage) -> WellFormed:
    return _json(account=stage.payee.did, amount="0.0001", direction="debit", ref=uuid4().hex)


async def _release(stage: Stage) -> WellFormed:
    return _json(amount="0.01")


async def _role(stage: Stage) -> WellFormed:
    return _json(role="client")


async def _logs(_: Stage) -> WellFormed:
    return _json(level="INFO", message="Started")


async def _spawn(stage: Stage) -> WellFormed:
    await let_children_be_older(stage)
    return _json(name="Helper", description="Helps with one task.", funding="0.01", ttl_seconds=3600)


async def _rotation(stage: Stage) -> WellFormed:
    return _json(public_key_jwk=jwk_of(Ed25519PrivateKey.generate().public_key().public_bytes_raw()))


async def _api_key(stage: Stage) -> WellFormed:
    return _json(key_name="Staged", scopes=["profile:read"], expires_in_days=30)


async def _invitations(stage: Stage) -> WellFormed:
    return _json(count=2, max_uses=1, expires_days=30, note="For a friend", grants_admin=False)


async def _admission(stage: Stage) -> WellFormed:
    return _json(trust_domain=f"newcomer{next(_numbers)}.example", note="For a friend", expires_in_days=30)


async def _suspension(stage: Stage) -> WellFormed:
    agent = await stage.developer.agent(name=f"Stopped {next(_numbers)}")
    return _json(agent_dids=[agent.did], reason="For a test.")


async def _suspended(stage: Stage) -> WellFormed:
    """Return a request that names a suspended agent."""
    suspension = await _suspension(stage)
    answer = await stage.registry.post(
        "/admin/agents/bulk/suspend", json=suspension.json, headers=stage.administrator.headers
    )
    assert answer.status_code == 200, answer.text
    return suspension


async def _native_baseline(stage: Stage) -> WellFormed:
    return _json(baseline="12.5", ref="For a test.")


async def _reference(stage: Stage) -> WellFormed:
    return _json(ref="For a test.")


async def _empty(stage: Stage) -> WellFormed:
    return _json()


async def _peer_to_add(stage: Stage) -> WellFormed:
    return _json(**await federation_requests.added(stage))


async def _invitation_to_accept(stage: Stage) -> WellFormed:
    return _json(**await federation_requests.accepted(stage))


async def _invitation_to_redeem(stage: Stage) -> WellFormed:
    return _json(**await federation_requests.redeemed(stage))


async def _reason(stage: Stage) -> WellFormed:
    return _json(reason="For a test.")


async def _registry_card(stage: Stage) -> WellFormed:
    return _json(description="A registry for tests.")


async def _checkpoint(stage: Stage) -> WellFormed:
    return WellFormed("", "", text=f"old 0\n\nlog.example\n0\n{EMPTY_ROOT}\n\n\u2014 log.example AAAA\n")


async def _icon(stage: Stage) -> WellFormed:
    return WellFormed("", "", files={"file": ("icon.png", png(1, 1))})


async def _policy(stage: Stage) -> WellFormed:
    return _json(skip_in_projection=True)


async def _capability(stage: Stage) -> WellFormed:
    caveats = {"permissions": ["teg.transfer"], "max_per_tx": "10", "operations": ["teg.transfer", "bake"]}
    return _json(caveats=caveats, budget_total=10, currency="AVT", max_uses=5, ttl_seconds=600)


async def _narrower_capability(stage: Stage) -> WellFormed:
    return _json(caveats={"max_per_tx": "5"}, budget_total="7", ttl_seconds=60)


async def _consumption(stage: Stage) -> WellFormed:
    return _json(amount="1", permission="teg.transfer", operation="bake", counterparty_did=stage.payee.did)


async def _authz(stage: Stage) -> WellFormed:
    """The roles are those of before, so that the agent may do afterwards what it may now."""
    return _json(roles=list(ROLES), spend_policy=None)


async def _subscription(stage: Stage) -> WellFormed:
    await _forget_webhooks(stage)
    return _json(url="https://receiver.example.com/hook", event_types=["agent.onboarded"])


async def _changed_subscription(stage: Stage) -> WellFormed:
    return _json(event_types=["*"], description="Staged")


def _json(**members: Any) -> WellFormed:
    return WellFormed("", "", json=members)


def _with_members(
    make: Callable[[Stage], Awaitable[dict[str, Any]]],
) -> Callable[[Stage], Awaitable[WellFormed]]:
    async def made(stage: Stage) -> WellFormed:
        return _json(**await make(stage))

    return made


_BODIES: dict[str, Callable[[Stage], Awaitable[WellFormed]]] = {
    **{
        operation: _with_members(make)
        for bodies in (
            organization_requests.BODIES,
            work_order_requests.BODIES,
            pipeline_requests.BODIES,
            governance_requests.BODIES,
            proof_requests.BODIES,
            exchange_requests.BODIES,
            phone_requests.BODIES,
            status_requests.BODIES,
            support_requests.BODIES,
        )
        for operation, make in bodies.items()
    },
    "POST /login/code": _second_step_in_a_browser,
    "POST /api/v1/contracts": _proposal,
    "POST /api/v1/contracts/{contract_id}/accept-federated": _federated_contract,
    "POST /api/v1/contracts/{contract_id}/submit-federated": _federated_contract,
    "POST /api/v1/contracts/{contract_id}/dispute-federated": _federated_dispute,
    "POST /api/v1/contracts/cross-registry/proxy": _relayed_act,
    "POST /api/v1/contracts/cross-registry/statement": _stated_contract,
    "POST /api/v1/contracts/malpractice": _malpractice,
    "POST /api/v1/federation/hint": _hint,
    "POST /api/v1/federation/availability": _availability_of_agents,
    "POST /api/v1/federation/enforcement/receipts": _receipts_of_acts,
    "POST /api/v1/disputes/": _complaint,
    "POST /api/v1/disputes/{dispute_id}/evidence": _evidence,
    "PUT /api/v1/admin/disputes/{dispute_id}/ruling": _ruling,
    "POST /api/v1/admin/awards/{dispute_id}/approve": lambda stage: _nothing(),
    "POST /api/v1/admin/awards/{dispute_id}/reject": _reason,
    "POST /api/v1/developers/webhooks": _subscription,
    "PUT /api/v1/developers/webhooks/{webhook_id}": _changed_subscription,
    "POST /api/v1/agent-cards": _new_card,
    "POST /api/v1/agent-cards/": _new_card,
    "POST /api/v1/agent-cards/import-mcp": _imported_server,
    "PUT /api/v1/agent-cards/{card_id}": _same_card,
    "PATCH /api/v1/agent-cards/{card_id}/listing": _listing,
    "POST /api/v1/ard/search": _search,
    "POST /api/v1/ard/explore": _count,
    "POST /api/v1/auth/register": _registration,
    "POST /api/v1/auth/login": _login,
    "POST /api/v1/auth/refresh": _refresh,
    "POST /api/v1/auth/accept-terms": _accepted_terms,
    "POST /api/v1/auth/change-password": _changed_password,
    "POST /api/v1/auth/forgot-password": _forgotten,
    "POST /api/v1/auth/recover-account": _recovery,
    "POST /api/v1/auth/recovery-keys": _renewal_of_keys,
    "POST /api/v1/auth/set-new-password": _new_password,
    "POST /api/v1/auth/2fa/setup": _setup_of_an_app,
    "POST /api/v1/auth/2fa/verify": _first_code_of_an_app,
    "POST /api/v1/auth/2fa/disable": _end_of_an_app,
    "POST /api/v1/auth/2fa/recover": _recovery_from_a_lost_app,
    "POST /api/v1/auth/2fa/validate": _second_step,
    "POST /api/v1/auth/agent/token": _agent_token,
    "POST /oauth/token": _client_credentials,
    "POST /oauth/revoke": _revocation,
    "POST /oauth/register": _client,
    "PATCH /api/v1/auth/connections/{connection_id}": _lower_limit,
    "POST /api/v1/auth/api-keys": _api_key,
    "POST /api/v1/admin/invite-codes/generate": _invitations,
    "POST /api/v1/admin/federation/licence-keys": _admission,
    "POST /api/v1/admin/federation/licence-keys/{licence_id:uuid}/suspend": _reason,
    "POST /api/v1/admin/federation/licence-keys/{licence_id:uuid}/reinstate": _reason,
    "POST /api/v1/admin/federation/licence-keys/{licence_id:uuid}/revoke": _reason,
    "PUT /api/v1/admin/federation/peers/{name:peer}/net-in-limit": _peer_limit,
    "POST /api/v1/admin/federation/peers/{name:peer}/sync": _empty,
    "POST /api/v1/admin/federation/peers/{name:peer}/pause": _empty,
    "POST /api/v1/admin/federation/peers/{name:peer}/resume": _empty,
    "POST /api/v1/admin/federation/peers/{name:peer}/quarantine": _reason,
    "POST /api/v1/admin/federation/peers/{name:peer}/release": _reason,
    "POST /api/v1/admin/federation/peers": _peer_to_add,
    "POST /api/v1/admin/federation/invitations": _empty,
    "POST /api/v1/admin/federation/invitations/accept": _invitation_to_accept,
    "POST /api/v1/federation/invitations/redeem": _invitation_to_redeem,
    "POST /api/v1/admin/federation/licences": _operator_licence,
    "POST /api/v1/admin/federation/licences/genesis": _before_genesis,
    "POST /api/v1/admin/federation/licences/install": _installation,
    "POST /api/v1/admin/federation/licences/{lid}/suspend": _reason,
    "POST /api/v1/admin/federation/licences/{lid}/reinstate": _reason,
    "POST /api/v1/admin/federation/licences/{lid}/revoke": _reason,
    "POST /api/v1/onboard/bootstrap/request-token": _bootstrap_request,
    "POST /api/v1/onboard/create_agent": _creation,
    "POST /api/v1/utils/validate-card": _validation,
    "POST /api/v1/bridge/transfer": _bridge_transfer,
    "POST /api/v1/bridge/redeem": _redemption,
    "POST /api/v1/bridge/mint-wrapped": _step_of_a_saga,
    "POST /api/v1/bridge/unlock": _step_of_a_saga,
    "POST /api/v1/federation/bridge/messages": _transfer_messages,
    "POST /api/v1/federation/disputes/slash-request": _transfer_messages,
    "POST /api/v1/federation/disputes/slash-confirmation": _transfer_messages,
    "POST /api/v1/federation/disputes/settlements/{settlement_id}/approve": lambda stage: _nothing(),
    "POST /api/v1/federation/disputes/settlements/{settlement_id}/reject": _reason,
    "POST /api/v1/federation/disputes/settlements/{settlement_id}/write-off": _reason,
    "PUT /api/v1/federation/disputes/peer-slash-config/{peer_id}": _slash_config,
    "POST /api/v1/federation/did-claims": _did_digests,
    "POST /api/v1/federation/did-claims/lookup": _did_digests,
    "POST /api/v1/federation/identity/renewals": _renewal,
    "POST /api/v1/federation/totals": _totals,
    "POST /api/v1/federation/transfers/messages": _transfer_messages,
    "POST /api/v1/federation/fx/acts": _pool_act,
    "POST /api/v1/teg/fx/quote": _swap_quote,
    "POST /api/v1/admin/fx/pools": _new_pool,
    "POST /api/v1/admin/fx/pools/{currency}/fund": _release,
    "POST /api/v1/admin/fx/pools/{currency}/drain": _release,
    "PUT /api/v1/admin/fx/rates/{currency}": _pool_rate,
    "POST /api/v1/teg/cross-registry-transfer": _crossing,
    "POST /api/v1/teg/send": _sending,
    "POST /api/v1/teg/transfer": _transfer,
    "POST /api/v1/teg/transfers": _bulk,
    "POST /mcp": _tools,
    "POST /mcp/rpc": _tools,
    "POST /mcp/public": _tools,
    "POST /mcp/agents/{card_id}": _tools,
    "POST /x402/settle": _x402_payment,
    "POST /x402/verify": _x402_payment,
    "POST /api/v1/a2a-payment/authorize": _payment,
    "POST /api/v1/a2a-payment/buy": _purchase,
    "POST /api/v1/a2a-payment/verify": _own_token,
    "POST /api/v1/a2a-payment/settle": _own_token,
    "POST /api/v1/a2a-payment/settle-many": _own_tokens,
    "POST /api/v1/a2a-payment/release": _own_token,
    "POST /api/v1/staking/stake": _stake,
    "PATCH /api/v1/staking/my-positions/{position_id}": _compounding,
    "POST /api/v1/staking/unstake": _release,
    "POST /api/v1/staking/claim-rewards": lambda stage: _nothing(),
    "POST /api/v1/agents/me/wallets": _wallet,
    "POST /api/v1/agents/me/wallets/challenge": _wallet_challenge,
    "POST /api/v1/achievements/flares/purchase": _flare_to_buy,
    "PUT /api/v1/achievements/flares/selection": _no_flares,
    "PATCH /api/v1/achievements/agents/{did}": _shown_achievements,
    "POST /api/v1/agents/{did}/reputation-bond/deposit": _bond_deposit,
    "POST /api/v1/agents/{did}/reputation-bond/release": _bond_release,
    "POST /api/v1/agents/{did}/reputation-bond/unlock": _bond_unlock,
    "POST /api/v1/agents/{did}/authz/roles": _role,
    "POST /api/v1/agents/bundles/{bundle_id}/fork": _fork,
    "POST /api/v1/agents/import": _bundle,
    "POST /api/v1/agent-builder/generate": _project,
    "POST /api/v1/agents/{did}/deployments": _deployment,
    "POST /api/v1/agents/{did}/logs": _logs,
    "POST /api/v1/agents/{did}/versions": _version,
    "POST /api/v1/agents/self/version": _version,
    "POST /api/v1/agents/{did}/spawn": _spawn,
    "PUT /api/v1/agents/{did}/authz": _authz,
    "POST /api/v1/agents/capabilities": _capability,
    "POST /api/v1/agents/capabilities/{capability_id:uuid}/attenuate": _narrower_capability,
    "POST /api/v1/agents/capabilities/{capability_id:uuid}/consume": _consumption,
    "POST /api/v1/agents/me/rotate-signing-key": _rotation,
    "POST /api/v1/agents/self/rotate-signing-key": _rotation,
    "POST /api/v1/admin/jobs/{job_id}/retry": lambda stage: _nothing(),
    "POST /api/v1/admin/reactors/{name}/retry": lambda stage: _nothing(),
    "POST /api/v1/admin/jurisdiction/authorizations": _authorization,
    "POST /api/v1/admin/registry-signing-key/rotate": _reason,
    "PUT /api/v1/admin/registry-card": _registry_card,
    "POST /api/v1/admin/registry-card/icon": _icon,
    "POST /witness/add-checkpoint": _checkpoint,
    "POST /api/v1/admin/auditor-signing-key/rotate": _reason,
    "POST /api/v1/admin/set-native-baseline": _native_baseline,
    "POST /api/v1/admin/balance-corrections": _correction,
    "POST /api/v1/admin/rebaseline-transit": _reference,
    "POST /api/v1/admin/agents/bulk/suspend": _suspension,
    "POST /api/v1/admin/agents/bulk/reinstate": _suspended,
    "POST /api/v1/admin/agents/bulk/revoke": _suspended,
    "POST /api/v1/admin/developers/{developer_id}/suspend": _reason,
    "POST /api/v1/admin/developers/{developer_id}/reinstate": _reason,
    "POST /api/v1/admin/projection-snapshot": lambda stage: _nothing(),
    "PUT /api/v1/admin/event-emission-policies/{event_type}": _policy,
    "POST /api/v1/auth/logout": lambda stage: _nothing(),
}


async def _nothing() -> WellFormed:
    return WellFormed("", "")


async def _verification_token(registry: TestRegistry) -> str:
    """The token of a mailed link, from the same registry with verification switched on."""
    number = next(_numbers)
    body = {
        "name": f"Unseen {number}",
        "email": f"unseen{number}@example.net",
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
    }
    settings = registry.settings
    async with AsyncExitStack() as stack:
        strict = await stack.enter_async_context(
            open_registry(settings.database_url, settings.data_dir, email_verification_required=True)
        )
        answer = await strict.post("/auth/register", json=body, headers=registry.elsewhere())
        assert answer.status_code == 201, answer.text
        return text_of((await strict.outbox())[-1]).split("token=")[1].split()[0]
