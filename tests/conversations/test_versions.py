"""Versions of the code behind a DID: drafts, one active, what was active before is retired."""

import json

import pytest

from hansa.foundation.values.canonical import digest
from tests.organizations import found
from tests.registry import at_once

VERSION_MEMBERS = {
    "version_id",
    "agent_did",
    "version",
    "status",
    "commit_hash",
    "release_notes",
    "artifacts",
    "is_stable",
    "created_at",
    "activated_at",
}


@pytest.fixture
def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def agent(owner):
    return await coder(owner)


async def coder(owner, **card):
    """An agent with the role that registers versions."""
    agent = await owner.agent(**card)
    answer = await agent.registry.post(
        f"/agents/{agent.did}/authz/roles", json={"role": "service-provider"}, headers=owner.headers
    )
    assert answer.status_code == 200, answer.text
    return agent


async def register(who, agent, version="1.0.0", *, key=None, **members):
    """Register a version, as the agent itself or as its owner."""
    headers = {**who.headers, **({"Idempotency-Key": key} if key else {})}
    path = "/agents/self/version" if who is agent else f"/agents/{agent.did}/versions"
    return await agent.registry.post(path, json={"version": version, **members}, headers=headers)


async def activate(who, agent, version_id, *, key=None):
    headers = {**who.headers, **({"Idempotency-Key": key} if key else {})}
    path = "/agents/self/version" if who is agent else f"/agents/{agent.did}/versions"
    return await agent.registry.post(f"{path}/{version_id}/activate", headers=headers)


async def registered(who, agent, version="1.0.0", **members):
    answer = await register(who, agent, version, **members)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def versions(agent, **query):
    answer = await agent.registry.get(f"/agents/{agent.did}/versions", params={"kind": "release", **query})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def statuses(agent):
    return {one["version"]: one["status"] for one in (await versions(agent))["versions"]}


async def events(agent, kind="AgentVersionActivated"):
    rows = await agent.registry.database.query(
        lambda tx: tx.fetch(
            "SELECT data FROM journal_event WHERE aggregate_id = $1 AND event_type = $2 ORDER BY seq",
            agent.did,
            kind,
        )
    )
    return [json.loads(row["data"]) for row in rows]


async def test_an_agent_registers_a_draft_and_everybody_reads_it(agent):
    made = await registered(
        agent,
        agent,
        "2.1.0",
        commit_hash="ABCDEF0123",
        release_notes="  Quicker.\nCheaper.\t ",
        artifacts={"wheel": {"uri": "https://files.example.com/a.whl", "sha256": "AB" * 32}},
        is_stable=False,
    )
    assert set(made) == VERSION_MEMBERS
    assert (made["agent_did"], made["status"], made["activated_at"]) == (agent.did, "draft", None)
    assert (made["commit_hash"], made["release_notes"]) == ("abcdef0123", "Quicker.\nCheaper.")
    assert made["artifacts"] == {"wheel": {"uri": "https://files.example.com/a.whl", "sha256": "ab" * 32}}
    assert made["is_stable"] is False
    assert await versions(agent) == {"versions": [made], "next": None}


async def test_the_owner_registers_and_activates_as_the_agent_does(owner, agent):
    made = await registered(owner, agent)
    answer = await activate(owner, agent, made["version_id"])
    assert (answer.status_code, answer.json()["status"]) == (200, "active")
    assert answer.json()["activated_at"] is not None
    assert await statuses(agent) == {"1.0.0": "active"}


async def test_one_version_is_active_and_the_one_before_is_retired(agent):
    first, second = await registered(agent, agent, "1"), await registered(agent, agent, "2")
    for made in (first, second):
        assert (await activate(agent, agent, made["version_id"])).status_code == 200
    assert await statuses(agent) == {"2": "active", "1": "retired"}
    again = await activate(agent, agent, first["version_id"])
    assert (again.status_code, again.json()["status"]) == (200, "active")
    assert await statuses(agent) == {"2": "retired", "1": "active"}


async def test_an_activation_is_a_public_event_and_a_leaf_of_the_log(agent):
    made = await registered(agent, agent, "3.0", commit_hash="0123456789abcdef")
    for _ in range(2):
        assert (await activate(agent, agent, made["version_id"])).status_code == 200
    expected = {
        "did": agent.did,
        "version_id": made["version_id"],
        "version": "3.0",
        "commit_hash": "0123456789abcdef",
    }
    assert await events(agent) == [expected]
    public = await agent.registry.http.get("/events.json", params={"did": agent.did})
    assert "AgentVersionActivated" in public.text
    leaves = await agent.registry.database.query(
        lambda tx: tx.fetch(
            "SELECT sha256 FROM plumbing_log_outbox WHERE kind = 'agent_version' AND object_id = $1",
            made["version_id"],
        )
    )
    assert [row["sha256"] for row in leaves] == [digest({"kind": "agent_version", **expected})]


async def test_a_version_with_a_taken_name_is_refused_and_changes_nothing(owner, agent):
    made = await registered(agent, agent)
    for who in (agent, owner):
        refused = await register(who, agent, release_notes="Another")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "VERSION_TAKEN")
    assert (await versions(agent))["versions"] == [made]


async def test_another_agent_may_use_the_same_name(owner, agent):
    other = await coder(owner)
    await registered(agent, agent)
    made = await registered(other, other)
    refused = await activate(agent, agent, made["version_id"])
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "VERSION_UNKNOWN")
    assert await statuses(other) == {"1.0.0": "draft"}


@pytest.mark.parametrize(
    "members",
    [
        {"version": ""},
        {"version": " 1"},
        {"version": "1\n"},
        {"version": "x" * 65},
        {"version": "1\u202e"},
        {"commit_hash": "12345"},
        {"commit_hash": "g" * 40},
        {"release_notes": "a\u202eb"},
        {"release_notes": "a\x1bb"},
        {"release_notes": "a\rb"},
        {"release_notes": "a\u2028b"},
        {"is_stable": "yes"},
        {"artifacts": {"a": {"uri": "http://files.example.com/a", "sha256": "0" * 64}}},
        {"artifacts": {"a": {"uri": "https://me:secret@files.example.com/a", "sha256": "0" * 64}}},
        {"artifacts": {"a": {"uri": "https://files.example.com/a#b", "sha256": "0" * 64}}},
        {"artifacts": {"a": {"uri": "javascript:alert(1)", "sha256": "0" * 64}}},
        {"artifacts": {"a": {"uri": "https://files.example.com/a", "sha256": "0" * 63}}},
        {"artifacts": {"../a": {"uri": "https://files.example.com/a", "sha256": "0" * 64}}},
        {
            "artifacts": {
                f"a{n}": {"uri": "https://files.example.com/a", "sha256": "0" * 64} for n in range(21)
            }
        },
    ],
)
async def test_a_version_beyond_the_limits_is_refused_and_stores_nothing(agent, members):
    refused = await agent.registry.post(
        "/agents/self/version", json={"version": "1", **members}, headers=agent.headers
    )
    assert refused.status_code == 422, refused.text
    assert (await versions(agent))["versions"] == []


async def test_release_notes_lose_their_secrets_before_they_are_cut(agent):
    secret = "apt_" + "a" * 64
    made = await registered(agent, agent, release_notes="x" * 8160 + " " + secret + " é" * 40)
    whole = "x" * 8160 + " [redacted:payment_token]" + " é" * 40
    assert made["release_notes"] == whole.encode()[:8192].decode(errors="ignore")
    rows = await agent.registry.database.query(
        lambda tx: tx.fetchval("SELECT release_notes FROM operations_release WHERE agent_did = $1", agent.did)
    )
    assert rows == made["release_notes"]


async def test_pages_hold_every_version_once(agent):
    for number in range(5):
        await registered(agent, agent, str(number))
    seen, cursor = [], None
    while True:
        page = await versions(agent, limit=2, **({"next": cursor} if cursor else {}))
        seen += [one["version"] for one in page["versions"]]
        if (cursor := page["next"]) is None:
            break
    assert seen == ["4", "3", "2", "1", "0"]
    for refused in ({"limit": 0}, {"next": "1"}, {"kind": "code"}):
        answer = await agent.registry.get(f"/agents/{agent.did}/versions", params=refused)
        assert answer.status_code == 422


async def test_the_default_kind_is_the_card(agent):
    await registered(agent, agent)
    plain = (await agent.registry.get(f"/agents/{agent.did}/versions")).json()
    card = (await agent.registry.get(f"/agents/{agent.did}/versions", params={"kind": "card"})).json()
    assert plain == card
    assert [one["version"] for one in plain["versions"]] == [1]
    unknown = await agent.registry.get("/agents/did:hansa:nobody/versions", params={"kind": "release"})
    assert unknown.status_code == 404


async def test_an_agent_without_the_permission_registers_nothing(owner):
    agent = await owner.agent()
    for answer in (
        await register(agent, agent),
        await activate(agent, agent, "1f3c1a58-7c0a-4d2f-9d2b-0b1f7a1d9d11"),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "PERMISSION_MISSING")
    assert (await versions(agent))["versions"] == []


async def test_strangers_neither_register_nor_activate(registry, agent):
    made = await registered(agent, agent)
    stranger, administrator = await registry.developer(), await registry.administrator()
    for other in (stranger, administrator):
        assert (await register(other, agent, "2")).status_code == 404
        assert (await activate(other, agent, made["version_id"])).status_code == 404
    assert await statuses(agent) == {"1.0.0": "draft"}


async def test_members_of_an_organization_have_the_rights_of_their_roles(registry):
    organization = await found(registry)
    agent = await organization.born()
    viewer, admin = await organization.member("viewer"), await organization.member("admin")
    refused = await register(viewer, agent)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "ORG_ROLE_REQUIRED")
    made = await registered(admin, agent)
    assert (await activate(viewer, agent, made["version_id"])).status_code == 403
    assert (await activate(admin, agent, made["version_id"])).status_code == 200


async def test_an_ended_agent_gets_no_version(owner, agent):
    made = await registered(agent, agent)
    assert (
        await agent.registry.http.delete(f"/api/v1/agents/{agent.did}", headers=owner.headers)
    ).status_code == 409
    await agent.registry.database.transaction(
        lambda tx: tx.execute("UPDATE agents_agent SET status = 'revoked' WHERE did = $1", agent.did)
    )
    for answer in (await register(owner, agent, "2"), await activate(owner, agent, made["version_id"])):
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "AGENT_REVOKED")


async def test_a_repeated_request_registers_once(agent):
    first = await register(agent, agent, key="one")
    again = await register(agent, agent, key="one")
    assert (first.status_code, again.status_code, again.json()) == (200, 200, first.json())
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (await register(agent, agent, "2", key="one")).json()["error"]["code"] == "IDEMPOTENCY_KEY_REUSED"


async def test_activations_at_once_leave_one_active_version(agent):
    made = [(await registered(agent, agent, str(number)))["version_id"] for number in range(4)]
    answers = await at_once(*(activate(agent, agent, one) for one in made for _ in range(2)))
    assert {answer.status_code for answer in answers} == {200}
    assert sorted((await statuses(agent)).values()) == ["active", "retired", "retired", "retired"]
    last = (await events(agent))[-1]["version"]
    assert (await statuses(agent))[last] == "active"


async def test_an_agent_has_at_most_a_thousand_versions(agent):
    await agent.registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO operations_release (agent_did, version, is_stable)"
            " SELECT $1, 'old ' || n, true FROM generate_series(1, 999) n",
            agent.did,
        )
    )
    answers = await at_once(*(register(agent, agent, f"new {number}") for number in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 429, 429, 429]
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["error"]["code"] == "QUOTA_REACHED"
