"""The history of the dumped registry: at least one row of everything that a registry stores, and its answers about it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pyotp

from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.rooms import auditor
from hansa.rooms.ledger.history import held_balances
from tests.conversations.person import App, Person, person
from tests.registry import PASSWORD, TestAgent, TestDeveloper, TestRegistry, card_of
from tests.rooms.catalogue.pulls.agent_host import AgentHost, hosted_agent, pull_cards
from tests.rooms.notifications.webhooks.receiver import Receiver, hook

SETTINGS = {
    "registry_name": "upgraded",
    # Five genesis grants use the treasury up: the sixth is owed.
    "genesis_supply": "500",
    "staking_rewards_enabled": True,
    "enable_projection_snapshots": True,
    "agent_rbac_default_roles": "trader,client,staker",
}


@dataclass
class History:
    """Content of the registry, in words of its API; `expected` is written beside the dump."""

    registry: TestRegistry
    developers: dict[str, TestDeveloper] = field(default_factory=dict)
    agents: dict[str, TestAgent] = field(default_factory=dict)
    expected: dict[str, Any] = field(default_factory=dict)

    async def developer(self, name: str) -> Person:
        """Register a developer, and remember how to log in."""
        registered = await (await person(self.registry, f"{name}@example.org")).log_in()
        token = registered.tokens["access_token"]
        self.developers[name] = TestDeveloper(self.registry, registered.email, token)
        self.expected.setdefault("developers", {})[name] = {
            "email": registered.email,
            "password": PASSWORD,
            "recovery_key": registered.recovery_keys[0],
            "refresh_token": registered.tokens["refresh_token"],
        }
        return registered

    async def agent(self, name: str, owner: str, **card: Any) -> TestAgent:
        """Create an agent, and remember its credentials."""
        return self.keep_agent(name, owner, await self.developers[owner].agent(name=name.title(), **card))

    def keep_agent(self, name: str, owner: str, agent: TestAgent) -> TestAgent:
        self.agents[name] = agent
        credentials = {member: agent.created[member] for member in ("client_id", "client_secret")}
        self.expected.setdefault("agents", {})[name] = {"did": agent.did, "owner": owner, **credentials}
        return agent

    async def ask(
        self,
        by: str,
        method: str,
        path: str,
        headers: Mapping[str, str] = MappingProxyType({}),
        **request: Any,
    ) -> Any:
        """A request that succeeds; returns the answer's body."""
        answer = await self.registry.http.request(
            method, f"/api/v1{path}", headers={**self.headers(by), **headers}, **request
        )
        assert answer.status_code < 300, f"{method} {path}: {answer.text}"
        return answer.json() if answer.content else None

    def headers(self, by: str) -> dict[str, str]:
        """The credential of a developer, an agent or the operator's own service."""
        if by == "internal":
            return self.registry.internal
        return (self.agents.get(by) or self.developers[by]).headers if by != "anyone" else {}


async def make_history(registry: TestRegistry, host: AgentHost, receiver: Receiver) -> dict[str, Any]:
    """Fill the registry; return the readings that an upgraded registry must still give."""
    history = History(registry)
    history.developers["root"] = await registry.administrator(*ADMIN_AREAS)
    await _people(history)
    await _agents(history, host)
    await _money(history)
    await _rights(history)
    await _cards(history)
    await _webhooks(history, receiver)
    await _commerce(history)
    await _operator(history)
    await _stopped(history)
    await _audits(history)
    await _read(history)
    return history.expected


async def _people(history: History) -> None:
    ada = await history.developer("ada")
    for name in ("ben", "cleo", "dan", "eve", "fay"):
        await history.developer(name)
    app = App((await ada.post("/auth/2fa/setup")).json()["secret"])
    verified = await ada.post("/auth/2fa/verify", code=app.code())
    key = await history.ask(
        "ben", "POST", "/auth/api-keys", json={"key_name": "Lasting", "expires_in_days": 0}
    )
    history.expected["developers"]["ada"] |= {
        "seed": app.seed,
        "backup_code": verified.json()["backup_codes"][0],
    }
    history.expected["developers"]["ben"]["api_key"] = key["plain_api_key"]
    # A request to end the account, and the mails about that and about a forgotten password, wait.
    await history.ask("fay", "POST", "/account/request-deletion")
    await history.ask("anyone", "POST", "/auth/forgot-password", json={"email": "cleo@example.org"})


async def _agents(history: History, host: AgentHost) -> None:
    await history.agent("alice", "ada", tags=["legal"])
    await history.agent("alma", "ada")
    await history.agent("bob", "ben", pricing={"model": "per-request", "base_rate": "0.5"})
    await history.agent("carol", "cleo")
    await history.agent("doris", "dan")
    await history.agent("edith", "eve")
    host.serve("Weaver", description="Served by its own host.")
    pulled = await hosted_agent(history.registry, host.url)
    assert await pull_cards(history.registry) == 1
    history.expected["pulled"] = {"did": pulled.did, "funding": pulled.created["initial_funding_status"]}
    assert pulled.created["initial_funding_status"] != "funded", "its grant is owed"
    await history.ask("alice", "POST", "/agents/me/rotate-signing-key", json={})


async def _money(history: History) -> None:
    agents, kept = history.agents, []
    for payer, payee, amount, key in (
        ("alice", "bob", "10.5", "order-1"),
        ("bob", "carol", "0.00000001", None),
        ("alice", "alma", "20", "order-2"),
        ("carol", "alice", "33.33333333", None),
        ("bob", "alice", "60", None),
        ("alice", "bob", "90", None),
        ("bob", "alice", "80", "order-3"),
    ):
        answer = await agents[payer].transfer(agents[payee], amount, key=key, message=f"to {payee}")
        assert answer.status_code == 200, answer.text
        if key:
            kept.append(
                {"payer": payer, "payee": payee, "amount": amount, "key": key, "answer": answer.json()}
            )
    history.expected["transfers"] = kept
    stakes = [
        await history.ask("carol", "POST", "/staking/stake", json={"amount": amount, "lock_period": days})
        for amount, days in (("15", 0), ("20", 30), ("12", 365))
    ]
    # The stakes have earned, more than the fee collector can pay: the rest is owed.
    await history.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE ledger_stake_position SET staked_at = staked_at - interval '300 days',"
            " unlocks_at = unlocks_at - interval '300 days'"
        )
    )
    await history.ask("carol", "POST", "/staking/unstake", json={"amount": "17.5"})
    claimed = await history.ask("carol", "POST", "/staking/claim-rewards")
    assert float(claimed["due"]) > 0, claimed
    history.expected["rewards_due_min"] = claimed["due"]
    history.expected["locked_position"] = stakes[-1]["position_id"]


async def _rights(history: History) -> None:
    alma, bob = history.agents["alma"], history.agents["bob"]
    caveats = {"permissions": ["teg.transfer"], "max_per_tx": "2"}
    wanted = {"holder_agent_did": alma.did, "caveats": caveats, "budget_total": "5", "ttl_seconds": 86400}
    capability = await history.ask("alice", "POST", "/agents/capabilities", json=wanted)
    paid = await history.registry.post(
        "/teg/transfer",
        json={"receiver_agent_id": bob.did, "amount": "1.25"},
        headers={**alma.headers, "X-Capability-Token": capability["token"]},
    )
    assert paid.status_code == 200, paid.text
    history.expected["capability"] = {"id": capability["id"], "token": capability["token"], "left": "3.75"}
    policy = {"per_day_max": "50", "approval_over": "3"}
    await history.ask("ada", "PUT", f"/agents/{alma.did}/authz", json={"spend_policy": policy})
    approvals = [(await alma.transfer(bob, amount)).json()["approval_id"] for amount in ("4", "5")]
    await history.ask("ada", "POST", f"/agents/{alma.did}/spend-approvals/{approvals[0]}/approve")
    history.expected["approvals"] = {"approved": approvals[0], "pending": approvals[1]}


async def _cards(history: History) -> None:
    alice = history.agents["alice"]
    for number in range(3):
        document = card_of("Alice", description=f"Version {number} of the card.", tags=["legal"])
        await history.ask("ada", "PUT", f"/agent-cards/{alice.did}", json={"card_data": document})
    listings = [
        await history.ask("ben", "POST", "/agent-cards/", json={"card_data": card_of(name)})
        for name in ("Open listing", "Unlisted listing", "Withdrawn listing")
    ]
    await history.ask("ben", "PATCH", f"/agent-cards/{listings[1]['id']}/listing", json={"unlisted": True})
    await history.ask("ben", "DELETE", f"/agent-cards/{listings[2]['id']}")
    history.expected["listings"] = [listing["id"] for listing in listings]


async def _webhooks(history: History, receiver: Receiver) -> None:
    made = await hook(history.developers["ben"], receiver.url)
    waiting = [(await made.test())["id"] for _ in range(2)]
    history.expected["webhook"] = {"id": made.id, "secret": made.secret, "waiting": waiting}


async def _commerce(history: History) -> None:
    """Tokens and contracts of alice with bob: one of each that is over, one that is still to be settled or approved."""
    bob = history.agents["bob"].did
    authorize = {"target_agent_did": bob, "amount": "0.5"}
    settled, reserved, waiting = [
        await history.ask("alice", "POST", "/a2a-payment/authorize", json={**authorize, **more})
        for more in ({}, {"reserve": True}, {"reserve": True, "ttl_seconds": 3600})
    ]
    answer = await history.ask(
        "alice", "POST", "/a2a-payment/settle", json={"token": settled["token"]}, headers={"Prefer": "wait=5"}
    )
    assert answer["status"] == "settled", answer
    await history.ask("alice", "POST", "/a2a-payment/release", json={"token": reserved["token"]})
    proposal = {
        "provider_did": bob,
        "title": "Translate a manual",
        "contract_type": "service",
        "amount": "1.5",
        "terms": "German to English, 40 pages.",
        "acceptance_criteria": ["Every page is translated."],
    }
    work = {"deliverable": {"uri": "https://work.example.org/1", "sha256": "0" * 64}}
    contracts = [await history.ask("alice", "POST", "/contracts", json=proposal) for _ in range(2)]
    for contract in contracts:
        path = f"/contracts/{contract['id']}"
        await history.ask("bob", "POST", f"{path}/accept", json={})
        await history.ask("bob", "POST", f"{path}/submit", json=work)
    await history.ask("alice", "POST", f"/contracts/{contracts[0]['id']}/approve-completion", json={})
    complaint = {"defendant_did": bob, "reason_code": "POOR_QUALITY", "description": "Half is missing."}
    complaint |= {"contract_id": contracts[0]["id"]}
    dispute = await history.ask("alice", "POST", "/disputes/", json=complaint)
    history.expected["token"] = waiting["token"]
    history.expected["contracts"] = [contract["id"] for contract in contracts]
    history.expected["dispute"] = dispute["id"]


async def _operator(history: History) -> None:
    for _ in range(2):
        await history.ask("root", "POST", "/admin/registry-signing-key/rotate", json={"reason": "Test."})
    policy = "/admin/event-emission-policies/TokensStaked"
    await history.ask("root", "PUT", policy, json={"skip_in_projection": False})
    body = {"trust_domain": "peer.example", "note": "First peer"}
    licence = await history.ask("root", "POST", "/admin/federation/licence-keys", json=body)
    body = {"count": 1, "max_uses": 1, "expires_days": None}
    (invite,) = await history.ask("root", "POST", "/admin/invite-codes/generate", json=body)
    history.expected |= {"licence_key": licence["licence_key"], "invite_code": invite["code"]}


async def _stopped(history: History) -> None:
    doris, edith = history.agents["doris"], history.agents["edith"]
    bulk = "/admin/agents/bulk"
    for act in ("suspend", "revoke"):
        body = {"agent_dids": [doris.did], "reason": "For a test."}
        await history.ask("root", "POST", f"{bulk}/{act}", json=body)
    eve = await history.ask("eve", "GET", "/auth/profile")
    path = f"/admin/developers/{eve['id']}/suspend"
    await history.ask("root", "POST", path, json={"reason": "For a test."})
    history.expected |= {"revoked": doris.did, "suspended": edith.did, "suspended_developer": eve["id"]}


async def _audits(history: History) -> None:
    database = history.registry.database
    await database.transaction(auditor.audit_when_due, one_snapshot=True)
    await history.ask("root", "POST", "/admin/projection-snapshot")
    verdict = await database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert (verdict.status, verdict.supply.delta) == ("OK", 0)
    held = await read_balances(history.registry)
    mails = await database.read(lambda tx: tx.fetch("SELECT recipient FROM plumbing_letter ORDER BY id"))
    history.expected |= {"balances": held, "mails": [mail["recipient"] for mail in mails]}


async def read_balances(registry: TestRegistry) -> dict[str, int]:
    """Return the units of every bucket of every account, in minor units, by DID and bucket."""

    async def read(tx: Any) -> dict[str, int]:
        return {f"{held.account} {held.bucket}": held.amount async for held in held_balances(tx)}

    return await registry.database.read(read)


async def _read(history: History) -> None:
    """Ask for everything once more, last of all; an upgraded registry gives the same answers."""
    alice, alma, pulled = (
        history.agents["alice"].did,
        history.agents["alma"].did,
        history.expected["pulled"]["did"],
    )
    readings = [
        *(
            (agent, path)
            for agent in ("alice", "alma", "bob", "carol")
            for path in (
                "/teg/balance",
                "/teg/transactions?limit=200",
                "/staking/balance",
                "/staking/my-positions",
            )
        ),
        ("carol", "/staking/history"),
        *(("alice", f"/contracts/{contract}") for contract in history.expected["contracts"]),
        ("bob", f"/disputes/{history.expected['dispute']}"),
        ("alma", "/agents/capabilities/mine"),
        ("alma", "/agents/me/spend-approvals"),
        ("ada", "/agents"),
        ("ada", f"/agents/{alma}/authz"),
        ("ben", "/auth/api-keys"),
        ("ben", "/developers/webhooks"),
        ("ben", f"/developers/webhooks/{history.expected['webhook']['id']}/deliveries"),
        ("fay", "/account/deletion-status"),
        *(
            ("anyone", f"/agents/{agent.did}/{path}")
            for agent in history.agents.values()
            for path in ("did.json", "keys")
        ),
        ("anyone", f"/agents/{alice}/versions"),
        *(("anyone", f"/agent-cards/{agent.did}") for agent in history.agents.values()),
        *(("anyone", f"/agent-cards/{listing}") for listing in history.expected["listings"]),
        *(("anyone", f"/agent-cards/{alice}/versions/{number}") for number in range(1, 5)),
        ("anyone", f"/agent-cards/{pulled}"),
        ("anyone", "/teg/fees"),
        ("internal", "/events/?limit=1000"),
        ("internal", f"/events/aggregate/{alice}?limit=1000"),
        ("internal", "/projections/supply-audit?full=true"),
        ("root", "/admin/audit-log"),
        ("root", "/admin/event-emission-policies"),
        ("root", "/admin/federation/licence-keys"),
        ("root", "/admin/invite-codes"),
        ("root", f"/admin/agents/by-developer/{history.expected['suspended_developer']}"),
    ]
    history.expected["readings"] = [
        {"by": by, "path": path, "body": await history.ask(by, "GET", path)} for by, path in readings
    ]


def totp_now(seed: str) -> str:
    """The code that an authenticator app shows now."""
    return pyotp.TOTP(seed).now()


def as_text(expected: dict[str, Any]) -> str:
    """Return the expected readings, one a line."""
    readings = expected.pop("readings")
    head = json.dumps(expected, indent=1, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n".join(json.dumps(reading, ensure_ascii=False) for reading in readings)
    return f'{head},\n "readings": [\n{lines}\n ]\n}}\n'
