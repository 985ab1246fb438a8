"""Identity documents of a DID for other systems: DID documents and agent descriptions."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from hansa.foundation.values.jwk import public_key_of
from hansa.rooms import agents
from hansa_verify import read_keys, verify_agent_key
from tests.registry import TestRegistry, card_of

API = "http://127.0.0.1:8000/api/v1"


async def document(registry, path):
    answer = await registry.http.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/did+json"
    return answer.json()


async def of_agent(agent):
    return await document(agent.registry, f"/api/v1/agents/{agent.did}/did.json")


async def description(agent):
    answer = await agent.registry.get(f"/agents/{agent.did}/ad.json")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


async def rotate(agent):
    answer = await agent.registry.post("/agents/me/rotate-signing-key", json={}, headers=agent.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def act(agent, use_case, **named):
    return await agent.registry.database.transaction(lambda tx: use_case(tx, agent.did, **named))


def is_signed(method, message, signature):
    """Return True where the key of a verification method made the signature. Raises: InvalidSignature."""
    Ed25519PublicKey.from_public_bytes(public_key_of(method["publicKeyJwk"])).verify(signature, message)
    return True


# The DID document


async def test_a_did_document_names_the_key_the_card_and_the_addresses(registry):
    agent = await registry.agent()
    did = agent.did
    returned = await of_agent(agent)
    assert set(returned) == {
        "@context",
        "id",
        "verificationMethod",
        "authentication",
        "assertionMethod",
        "service",
    }
    assert returned["@context"][0] == "https://www.w3.org/ns/did/v1"
    assert returned["id"] == did
    (method,) = returned["verificationMethod"]
    assert method == {
        "id": f"{did}#key-1",
        "type": "JsonWebKey2020",
        "controller": did,
        "publicKeyJwk": (await registry.get(f"/agents/{did}/public-key")).json(),
    }
    assert returned["authentication"] == returned["assertionMethod"] == [f"{did}#key-1"]
    assert {
        service["id"]: (service["type"], service["serviceEndpoint"]) for service in returned["service"]
    } == {
        f"{did}#agent-card": ("AgentCard", f"{API}/agents/{did}/card-export"),
        f"{did}#agent-description": ("AgentDescription", f"{API}/agents/{did}/ad.json"),
        f"{did}#a2a": ("A2A", "https://agent.example.org/a2a"),
    }


async def test_the_addresses_in_a_document_lead_somewhere(registry):
    agent = await registry.agent()
    for service in (await of_agent(agent))["service"]:
        if service["serviceEndpoint"].startswith(API):
            path = service["serviceEndpoint"].removeprefix(API)
            assert (await registry.get(path)).status_code == 200


async def test_a_did_bound_to_the_issuer_resolves_at_the_root_by_its_uuid(registry):
    agent = await registry.agent()
    unique = agent.did.rpartition(":")[2]
    assert await document(registry, f"/{unique}/did.json") == await of_agent(agent)


async def test_a_did_without_an_issuer_resolves_at_the_root_under_agents(start_registry):
    registry = await start_registry(did_namespace="")
    agent = await registry.agent()
    unique = agent.did.rpartition(":")[2]
    assert await document(registry, f"/agents/{unique}/did.json") == await of_agent(agent)
    assert (await registry.http.get(f"/{unique}/did.json")).status_code == 404


NOWHERE = [
    "/00000000-0000-4000-8000-000000000000/did.json",
    "/agents/00000000-0000-4000-8000-000000000000/did.json",
    "/not-a-uuid/did.json",
    "/api/v1/agents/did:hansa:hansa.local:0/did.json",
    "/api/v1/agents/did:web:example.org/did.json",
    "/api/v1/agents/did:hansa:system:nobody/did.json",
    "/api/v1/agents/did:hansa:system:treasury/ad.json",
    "/api/v1/agents/did:hansa:hansa.local:0/ad.json",
]


@pytest.mark.usefixtures("unknown_paths_expected")
async def test_what_nobody_is_called_resolves_nowhere(registry):
    for path in NOWHERE:
        answer = await registry.http.get(path)
        assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found"), path


async def test_the_registrys_own_accounts_resolve_and_have_no_keys(registry):
    for account in ("treasury", "fee_collector"):
        did = f"did:hansa:system:{account}"
        returned = await document(registry, f"/api/v1/agents/{did}/did.json")
        assert returned == await document(registry, f"/agents/system:{account}/did.json")
        assert returned["id"] == did
        assert (
            returned["verificationMethod"] == returned["authentication"] == returned["assertionMethod"] == []
        )
        assert returned["service"] == [{"id": f"{did}#registry", "type": "Registry", "serviceEndpoint": API}]


async def test_a_signature_made_before_a_rotation_stays_verifiable_as_of_its_time(registry):
    agent = await registry.agent()
    old = load_pem_private_key(agent.created["private_key_pem"].encode(), password=None)
    signature, signed_at = old.sign(b"my word"), datetime.now(UTC)
    new = load_pem_private_key((await rotate(agent))["private_key_pem"].encode(), password=None)
    returned = await of_agent(agent)
    present, retired = returned["verificationMethod"]
    assert returned["authentication"] == returned["assertionMethod"] == [f"{agent.did}#key-2"]
    assert present["id"] == f"{agent.did}#key-2"
    assert "expires" not in present
    assert retired["id"] == f"{agent.did}#key-1"
    assert signed_at < datetime.fromisoformat(retired["expires"])
    assert is_signed(retired, b"my word", signature)
    assert is_signed(present, b"my word", new.sign(b"my word"))


async def test_a_suspended_agent_keeps_its_keys_on_record_but_none_speaks_for_it(registry):
    agent = await registry.agent()
    await act(agent, agents.suspend)
    returned = await of_agent(agent)
    assert returned["authentication"] == returned["assertionMethod"] == []
    assert [method["id"] for method in returned["verificationMethod"]] == [f"{agent.did}#key-1"]
    assert [service["type"] for service in returned["service"]] == ["AgentCard"]
    await act(agent, agents.reinstate)
    assert (await of_agent(agent))["authentication"] == [f"{agent.did}#key-1"]


async def test_the_last_key_of_a_revoked_agent_ends_with_it(registry):
    agent = await registry.agent()
    await act(agent, agents.revoke, by="administrator")
    returned = await of_agent(agent)
    assert returned["authentication"] == returned["assertionMethod"] == []
    (method,) = returned["verificationMethod"]
    assert datetime.fromisoformat(method["expires"])


async def test_a_document_lists_the_hundred_newest_keys_and_the_rest_is_read_elsewhere(registry):
    agent = await registry.agent()
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE agents_key SET valid_until = valid_from + interval '1 hour'")
    )
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO agents_key (agent_id, number, public_key, valid_from, valid_until)"
            " SELECT id, n, sha256(n::text::bytea), now() + n * interval '1 hour',"
            "   CASE WHEN n < 120 THEN now() + (n + 1) * interval '1 hour' END"
            " FROM agents_agent, generate_series(2, 120) n WHERE did = $1",
            agent.did,
        )
    )
    returned = await of_agent(agent)
    assert [method["id"].rpartition("-")[2] for method in returned["verificationMethod"]] == [
        str(number) for number in range(120, 20, -1)
    ]
    rest = (await registry.get(f"/agents/{agent.did}/keys", params={"offset": 100})).json()
    assert [key["number"] for key in rest["items"]] == list(range(20, 0, -1))


# The description


async def test_a_description_follows_the_agent_network_protocol(registry):
    agent = await registry.agent(
        name="Polyglot",
        provider={"organization": "Hanse", "url": "https://hanse.example.org"},
        securitySchemes={"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    )
    returned = await description(agent)
    assert (returned["protocolType"], returned["protocolVersion"], returned["type"]) == (
        "ANP",
        "1.0.0",
        "AgentDescription",
    )
    assert (returned["did"], returned["name"], returned["status"]) == (agent.did, "Polyglot", "active")
    assert returned["url"] == f"{API}/agents/{agent.did}/ad.json"
    assert returned["description"] == "Polyglot: an agent for tests."
    assert returned["owner"] == {
        "type": "Organization",
        "name": "Hanse",
        "url": "https://hanse.example.org",
    }
    assert datetime.fromisoformat(returned["created"])
    assert returned["securityDefinitions"]["key"]["in"] == "header"
    assert returned["security"] == ["key"]
    assert [one["url"] for one in returned["Infomations"]] == [
        f"{API}/agents/{agent.did}/card-export",
        f"{API}/agents/{agent.did}/did.json",
    ]
    assert returned["interfaces"] == [
        {
            "type": "StructuredInterface",
            "protocol": "A2A",
            "version": "1.0",
            "url": "https://agent.example.org/a2a",
            "description": "A2A over JSONRPC.",
        }
    ]


async def test_an_agent_that_is_not_active_is_described_without_interfaces(registry):
    agent = await registry.agent()
    await act(agent, agents.suspend)
    returned = await description(agent)
    assert (returned["status"], returned["interfaces"]) == ("suspended", [])


async def test_a_stub_is_described_by_its_host_until_its_card_is_read(registry):
    developer = await registry.developer()
    answer = await registry.post(
        "/onboard/create_agent",
        json={"agent_did_method": "hansa", "agent_host": "https://agent.hansa.dev"},
        headers={"Bootstrap-Token": await developer.bootstrap_token(), **registry.elsewhere()},
    )
    did = answer.json()["agent_did"]
    returned = (await registry.get(f"/agents/{did}/ad.json")).json()
    assert (returned["name"], returned["interfaces"]) == ("agent.hansa.dev", [])
    services = (await document(registry, f"/api/v1/agents/{did}/did.json"))["service"]
    assert [service["type"] for service in services] == ["AgentCard", "AgentDescription"]


async def test_a_card_of_the_old_form_is_described_too(registry):
    card = card_of("Elder")
    del card["supportedInterfaces"]
    developer = await registry.developer()
    answer = await registry.post(
        "/onboard/create_agent",
        json={
            "agent_did_method": "hansa",
            "agent_card": {**card, "url": "https://elder.example.org/a2a", "protocolVersion": "0.3.0"},
        },
        headers={"Bootstrap-Token": await developer.bootstrap_token(), **registry.elsewhere()},
    )
    assert answer.status_code == 201, answer.text
    returned = (await registry.get(f"/agents/{answer.json()['agent_did']}/ad.json")).json()
    assert [(one["url"], one["version"]) for one in returned["interfaces"]] == [
        ("https://elder.example.org/a2a", "0.3.0")
    ]


async def stated_keys(agent):
    answer = await agent.registry.get(f"/agents/{agent.did}/key-statement")
    assert answer.status_code == 200, answer.text
    return answer.text


async def test_the_registry_signs_which_key_an_agent_had_until_two_minutes_ago(registry: TestRegistry):
    agent = await registry.agent()
    kids = [
        (await registry.get(f"/agents/{agent.did}/public-key")).json()["kid"],
        (await rotate(agent))["public_key_jwk"]["kid"],
    ]
    assert json.loads(await stated_keys(agent))["keys"] == []
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE agents_key SET valid_from = valid_from - interval '1 hour', valid_until = valid_until - interval '1 hour'"
            " WHERE agent_id = (SELECT id FROM agents_agent WHERE did = $1)",
            agent.did,
        )
    )
    text = await stated_keys(agent)
    stated = json.loads(text)
    keys = read_keys((await registry.http.get("/.well-known/registry-jwks.json")).json())
    assert [one["number"] for one in stated["keys"]] == [2, 1]
    assert stated["keys"][0]["valid_until"] is None
    rotated_at = datetime.fromisoformat(stated["keys"][0]["valid_from"])
    before = verify_agent_key(text, keys, rotated_at - timedelta(microseconds=1))
    after = verify_agent_key(text, keys, rotated_at)
    assert [one.held and one.held.kid for one in (before, after)] == kids
    as_of = datetime.fromisoformat(stated["as_of"])
    assert timedelta(minutes=2) <= datetime.now(UTC) - as_of + timedelta(seconds=5)
    assert verify_agent_key(text, keys, as_of + timedelta(microseconds=1)).code == "unverified"
    await act(agent, agents.revoke, by="administrator")
    again = await stated_keys(agent)
    assert verify_agent_key(again, keys, rotated_at).is_valid


async def test_no_statement_is_made_for_an_unknown_agent(registry: TestRegistry):
    answer = await registry.get("/agents/did:hansa:hansa.local:none/key-statement")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "RESOURCE_NOT_FOUND")
