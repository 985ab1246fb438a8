"""Specification 2, "Registry card and licence routes": public documents with content that a client can use."""

import json
from datetime import UTC, datetime

import pytest
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from hansa.rooms import auditor
from hansa.rooms.auditor import solvency
from hansa_verify import read_auditor_keys, verify_attestations
from tests.connections import connect
from tests.registry import StartRegistry, TestRegistry

BASE = "https://registry.example"


async def fields_of(registry: TestRegistry) -> dict[str, str]:
    answer = await registry.http.get("/.well-known/security.txt")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    return dict(line.split(": ", 1) for line in answer.text.splitlines())


async def test_security_txt_names_the_contact_and_ends_within_a_year(start_registry: StartRegistry):
    registry = await start_registry(
        public_base_url=BASE,
        security_contact="mailto:security@registry.example",
        security_policy_url="https://registry.example/policy",
    )
    fields = await fields_of(registry)
    assert fields["Contact"] == "mailto:security@registry.example"
    assert fields["Policy"] == "https://registry.example/policy"
    assert fields["Canonical"] == f"{BASE}/.well-known/security.txt"
    ends = datetime.fromisoformat(fields["Expires"])
    assert 170 < (ends - datetime.now(UTC)).days < 365


async def test_without_a_contact_there_is_no_security_txt(registry: TestRegistry):
    answer = await registry.http.get("/.well-known/security.txt")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "SECURITY_CONTACT_MISSING")


async def test_an_agent_gets_its_token_where_the_metadata_of_the_authorization_server_says(
    registry: TestRegistry,
):
    document = (await registry.http.get("/.well-known/oauth-authorization-server")).json()
    agent = await registry.agent()
    form = {
        "grant_type": "client_credentials",
        "client_id": agent.created["client_id"],
        "client_secret": agent.created["client_secret"],
    }
    assert form["grant_type"] in document["grant_types_supported"]
    path = document["token_endpoint"].removeprefix(document["issuer"])
    answer = await registry.http.post(path, data=form, headers=registry.elsewhere())
    assert answer.status_code == 200, answer.text
    assert answer.json()["access_token"]


async def test_the_api_names_its_authorization_server_or_the_one_that_is_set(start_registry: StartRegistry):
    for server in (None, "https://login.example"):
        registry = await start_registry(public_base_url=BASE, oauth_authorization_server_url=server)
        document = (await registry.http.get("/.well-known/oauth-protected-resource")).json()
        assert document["authorization_servers"] == [server or BASE]
        assert (document["resource"], document["bearer_methods_supported"]) == (BASE, ["header"])


async def test_each_kind_of_token_is_verified_with_its_published_key_alone(registry: TestRegistry):
    server = (await registry.http.get("/.well-known/oauth-authorization-server")).json()
    path = server["jwks_uri"].removeprefix(server["issuer"])
    keys = {key["token_typ"]: key for key in (await registry.http.get(path)).json()["keys"]}
    tokens = {
        "agent+jwt": (await registry.agent()).token,
        "developer+jwt": (await registry.developer()).token,
        "at+jwt": (await connect(registry)).access_token,
    }
    assert set(keys) == set(tokens)
    imported = {
        typ: OKPKey.import_key({name: key[name] for name in ("kty", "crv", "x")}) for typ, key in keys.items()
    }
    for typ, token in tokens.items():
        opened = jwt.decode(token, imported[typ], algorithms=["EdDSA"])
        assert (opened.header["kid"], opened.header["typ"]) == (keys[typ]["kid"], typ)
        assert opened.claims["aud"] == keys[typ]["token_aud"]
        for other in set(keys) - {typ}:
            with pytest.raises(JoseError):
                jwt.decode(token, imported[other], algorithms=["EdDSA"])


async def test_a_password_manager_finds_the_form_of_a_new_password(registry: TestRegistry):
    answer = await registry.http.get("/.well-known/change-password")
    assert (answer.status_code, answer.headers["location"]) == (303, "/account/change-password")
    assert (await registry.http.get(answer.headers["location"])).status_code in {200, 303}


async def test_the_solvency_card_states_what_its_attestation_signs(registry: TestRegistry):
    early = await registry.http.get("/.well-known/solvency-card.json")
    assert early.status_code == 404, early.text
    await registry.agent()
    await auditor.run_cycle(registry.runtime)
    answer = await registry.http.get("/.well-known/solvency-card.json")
    card = answer.json()
    assert (card["verdict"], card["freshness"], card["delta"]) == ("SOLVENT", "current", "0")
    assert card["liabilities"]["total"] == card["supply"]["circulating"] == card["supply"]["net_supply"]
    assert answer.headers["access-control-allow-origin"] == "*"
    keys = (await registry.http.get(card["proofs"]["keys"].removeprefix(registry.settings.base_url))).json()
    verdict = verify_attestations([card["attestation"]], read_auditor_keys(keys))
    assert [step.name for step in verdict.steps if not step.holds] == []
    signed = json.loads(card["attestation"]["payload"], parse_float=str)
    assert {name: str(term) for name, term in signed["terms"].items()} == card["supply"]
    assert (signed["liabilities"], str(card["attestation"]["id"])) == (card["liabilities"], card["epoch"])


async def test_a_breach_makes_the_solvency_card_say_so(registry: TestRegistry):
    agent = await registry.agent()
    forged = "UPDATE ledger_account SET liquid = liquid + 1 WHERE did = $1"
    await registry.database.transaction(lambda tx: tx.execute(forged, agent.did))
    await auditor.run_cycle(registry.runtime)
    card = (await registry.http.get("/.well-known/solvency-card.json")).json()
    assert (card["verdict"], card["attestation"]["id"]) == ("BREACH", 1)


async def test_the_agora_card_lists_the_priced_agents_and_how_they_are_paid(registry: TestRegistry):
    priced = await registry.agent(
        name="Priced", pricing={"base_rate": 2.5, "currency": "AVT", "payment_required": True}
    )
    await registry.agent(name="Free")
    await registry.indexed()
    card = (await registry.http.get("/.well-known/agora-card.json")).json()
    own = (await registry.http.get("/.well-known/registry-card.json")).json()
    assert [offer["did"] for offer in card["offers"]["newest"]] == [priced.did]
    assert card["offers"]["count"] == 1
    assert card["currency"] == own["fees"]["settlement_currency"]
    assert card["exchange"] == {name: own["fees"]["exchange"][name] for name in card["exchange"]}
    assert card["registry"]["spiffe_id"] == own["identity"]["spiffe_id"]
    base = registry.settings.base_url
    found = (await registry.http.get(card["offers"]["discover"].removeprefix(base))).json()
    assert [result["did"] for result in found["results"]] == [priced.did]
    resources = (await registry.http.get(card["offers"]["resources"].removeprefix(base))).json()
    assert resources["pagination"]["total"] == card["offers"]["count"]
    accepted = {one["network"] for one in resources["items"][0]["accepts"]}
    assert accepted == set(card["payment"]["networks"])
    verified = await registry.http.post(
        card["payment"]["verify"].removeprefix(base), json={"token": "apt_" + "0" * 64}
    )
    assert verified.json()["valid"] is False


def test_the_verdict_is_unknown_while_an_audit_could_not_read_the_ledger_or_commit_to_the_liabilities():
    sound = {
        "status": "OK",
        "terms": {"circulating": "1.5"},
        "checks": {"supply": "OK"},
        "liabilities": {"total": "1.5"},
    }
    older = {name: value for name, value in sound.items() if name != "liabilities"}
    unread = {**sound, "status": None, "terms": None, "checks": {}, "liabilities": None}
    other_total = {**sound, "liabilities": {"total": "1.4"}}
    failed_check = {**sound, "checks": {"supply": "OK", "escrow": "BREACH"}}
    stated = (sound, older, unread, other_total, failed_check)
    assert [solvency.verdict_of(one) for one in stated] == [
        "SOLVENT",
        "UNKNOWN",
        "UNKNOWN",
        "BREACH",
        "BREACH",
    ]
