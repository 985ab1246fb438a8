"""Attacks on cards through the members that owners may write: more than two members, the platform's words, others' names."""

from typing import Any
from uuid import uuid4

from tests.registry import TestDeveloper, TestRegistry, card_of

BASE = "https://hansa.dev/extensions/v1/"
# What a row or an answer knows of a card, each with a value that would harm.
GRABBED: dict[str, Any] = {
    "id": str(uuid4()),
    "card_id": 1,
    "did": f"did:hansa:hansa.local:{uuid4()}",
    "agent_did": f"did:hansa:hansa.local:{uuid4()}",
    "developer_id": 999,
    "owner": 999,
    "status": "active",
    "status_since": None,
    "listing": {"unlisted": True},
    "unlisted": True,
    "human_readable_id": "acme/grabbed",
    "source_registry": "peer",
    "settlement_currency": "XXX",
    "trust_domain": "evil.example",
    "created_at": "2000-01-01T00:00:00Z",
    "updated_at": "2000-01-01T00:00:00Z",
    "last_pull_status": "ok",
    "pull_failures": 7,
    "encircled": True,
    "verified_jobs": 250,
    "bonded": True,
    "liveness": "alive",
    "host_verified_at": "2000-01-01T00:00:00Z",
    "signature_verified_at": "2000-01-01T00:00:00Z",
    "is_stub": True,
    "host": "https://evil.example.org",
    "version": 99,
    "is_verified": True,
    "is_admin": True,
}
SHOWN = {"flare"}
"""Words that the registry adds when a card is read."""
PLATFORMS_WORDS: dict[str, Any] = {
    name: {"mark": "Sovereign", "source_registry": "peer", "status": "active"}
    for name in (
        *("status", "did", "federation_metadata", "federationMetadata", "flare", "signatures", "enforcement"),
        *("reputation", "reputation_bond", "reputationBond", "track_record", "trackRecord"),
    )
}
FORGED = [
    {"uri": BASE + kind, "params": {"status": "active"}}
    for kind in (
        *("enforcement", "reputation-bond", "reputation/bond", "Reputation/Bond/", "track-record"),
        *("TRACK_RECORD/", "Enforcement"),
    )
]


async def put(developer: TestDeveloper, key: str, body: dict[str, Any]) -> dict[str, Any]:
    http = developer.registry.http
    answer = await http.put(f"/api/v1/agent-cards/{key}", json=body, headers=developer.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def row_of(registry: TestRegistry, did: str) -> dict[str, Any]:
    statement = "SELECT to_jsonb(c)::text FROM catalogue_card c WHERE did = $1"
    return {"row": await registry.database.query(lambda tx: tx.fetchval(statement, did))}


async def test_no_member_beside_the_two_reaches_the_row_alone_or_together(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent()
    before = await row_of(registry, agent.did)
    for name, value in GRABBED.items():
        await put(developer, agent.did, {name: value})
        assert await row_of(registry, agent.did) == before, name
    await put(developer, agent.did, GRABBED)
    assert await row_of(registry, agent.did) == before
    made = await registry.post(
        "/agent-cards/",
        json={
            "card_data": card_of("Listing"),
            **{name: value for name, value in GRABBED.items() if name != "agent_did"},
        },
        headers=developer.headers,
    )
    assert made.status_code == 201, made.text
    got = made.json()
    assert (got["did"], got["status"], got["source_registry"], got["settlement_currency"]) == (
        None,
        "active",
        None,
        "AVT",
    )
    assert got["id"] != GRABBED["id"]


async def test_the_platforms_words_in_a_document_are_never_taken_from_its_owner(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent()
    forged = card_of(
        "Forged",
        **PLATFORMS_WORDS,
        extensions=FORGED,
        capabilities={"streaming": False, "extensions": FORGED},
    )
    written = await put(developer, agent.did, {"card_data": forged})
    assert not (PLATFORMS_WORDS.keys() - SHOWN) & written["card_data"].keys()
    assert written["card_data"]["flare"]["mark"] is None
    assert "extensions" not in written["card_data"]
    assert "extensions" not in written["card_data"]["capabilities"]
    made = await registry.post(
        "/agent-cards/", json={"card_data": {**forged, "name": "Made"}}, headers=developer.headers
    )
    assert not (PLATFORMS_WORDS.keys() - SHOWN) & made.json()["card_data"].keys()
    said = '{"flare": {"mark": "Proven"}, "federation_metadata": {"source_registry": "us"}}'
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE catalogue_card SET card_data = (card_data::jsonb || $2::jsonb)::json WHERE did = $1",
            agent.did,
            said,
        )
    )
    for document in (forged, card_of("Plain"), card_of("Null", flare=None, federation_metadata=None)):
        written = await put(developer, agent.did, {"card_data": document})
        assert written["card_data"]["flare"]["mark"] is None
        assert written["card_data"]["federation_metadata"] == {"source_registry": "us"}


async def test_a_suspended_card_cannot_say_that_it_is_not(registry: TestRegistry):
    developer, administrator = await registry.developer(), await registry.administrator("admin_enforcement")
    agent = await developer.agent()
    body = {"agent_dids": [agent.did], "reason": "Test.", "soft_suspend": False}
    await registry.post("/admin/agents/bulk/suspend", json=body, headers=administrator.headers)
    forged = card_of("Free again", extensions=FORGED, status="active")
    written = await put(developer, agent.did, {"card_data": forged, "is_active": True, "status": "active"})
    assert written["status"] == "suspended"
    (extension,) = written["card_data"]["extensions"]
    assert extension["params"]["status"] == "suspended"


async def test_names_that_imitate_or_speak_for_the_registry_are_refused(registry: TestRegistry):
    developer = await registry.developer()
    made = await registry.post(
        "/agent-cards/", json={"card_data": card_of(humanReadableId="acme/one")}, headers=developer.headers
    )
    assert made.status_code == 201
    look_alikes = (
        "аcme/one",
        "acme/оne",
        "acme/one\u200b",
        "acme\u2215one",
        "acme/one.",
        "ACME/one",
        "acme/one\u202e",
        "ａcme/one",
        "acme/one ",
        "admin/one",
        "registry/one",
        "system/one",
        "Admin/one",
        "fee_collector/one",
    )
    for name in look_alikes:
        card = card_of(humanReadableId=name)
        answer = await registry.post("/agent-cards/", json={"card_data": card}, headers=developer.headers)
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "$.humanReadableId"), name


async def test_a_number_widens_no_right_and_reveals_nothing_more(registry: TestRegistry):
    owner, stranger = await registry.developer(), await registry.developer()
    agent = await owner.agent()
    number = (await registry.get(f"/agent-cards/{agent.did}")).json()["card_id"]
    for key in range(number + 3):
        exists = (await registry.get(f"/agent-cards/{key}")).status_code == 200
        for method, body in (("PUT", {"is_active": False}), ("DELETE", None), ("PATCH", {"unlisted": True})):
            path = f"/api/v1/agent-cards/{key}" + ("/listing" if method == "PATCH" else "")
            answer = await registry.http.request(method, path, json=body, headers=stranger.headers)
            assert answer.status_code == (403 if exists else 404), (method, key)
    assert (await registry.get(f"/agent-cards/{agent.did}")).json()["is_active"] is True
