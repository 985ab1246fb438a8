"""Signed card: its members, its verification by anyone, and the effects of a change, a rotation and an end."""

from copy import deepcopy
from datetime import timedelta
from itertools import pairwise
from json import dumps
from typing import Any

import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from jwt import PyJWK

from hansa.rooms import catalogue, federation
from hansa.rooms.catalogue.signatures import EXPORT_DESK, export
from hansa_verify import read_entry, read_keys, verify_card
from tests.doors.guides import EXAMPLE, ROOT
from tests.registry import TestRegistry, another_process, card_of

ENFORCEMENT = "https://hansa.dev/extensions/v1/enforcement"
PAYMENT = "https://hansa.dev/extensions/v1/auth/a2a-payment"
BOTH_HALVES = {
    "url": "https://old.example.org/a2a",
    "preferredTransport": "JSONRPC",
    "protocolVersion": "0.3.0",
    "additionalInterfaces": [{"url": "https://old.example.org/grpc", "transport": "GRPC"}],
    "supportsAuthenticatedExtendedCard": True,
    "security": [{"key": []}, {"login": ["read"]}],
    "securitySchemes": {
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "login": {"type": "openIdConnect", "openIdConnectUrl": "https://old.example.org/.well-known/openid"},
    },
}
MANY_NUMBERS = [0.05, 1.0, -0.0, 1e-7, 1e21, 1.5e300, 0.1 + 0.2, 2**53, 2**60, -7, 1e16]


async def exported(agent, **request):
    return await agent.registry.get(f"/agents/{agent.did}/card-export", **request)


async def keys_of(registry):
    answer = await registry.http.get("/.well-known/registry-jwks.json")
    return answer.json()


async def verified(agent) -> dict[str, Any]:
    """The exported card, which our verifier and the official one accept."""
    answer = await exported(agent)
    assert answer.status_code == 200, answer.text
    jwks = await keys_of(agent.registry)
    verdict = verify_card(answer.content, read_keys(jwks))
    assert verdict.is_valid, verdict
    official(answer.json(), jwks)
    signatures = [read_entry(entry) for entry in answer.json()["signatures"]]
    assert [one.profile for one in signatures] == ["sorted-ascii-json/1", "jcs-a2a/1"]
    assert {(one.kid, one.signed_at, one.header["typ"]) for one in signatures} == {
        (verdict.kid, int(verdict.signed_at.timestamp()), "JOSE")
    }
    return dict(verdict.card)


def official(card, jwks):
    """Verify a card as a stock A2A client does. Raises: InvalidSignaturesError."""
    keys = {key["kid"]: PyJWK(key) for key in jwks["keys"]}
    create_signature_verifier(lambda kid, _: keys[kid], ["EdDSA"])(parse_agent_card(deepcopy(card)))


async def rotate(registry):
    await registry.database.transaction(
        lambda tx: federation.rotate_key(tx, registry.settings, registry.runtime.seal)
    )


async def test_our_verifier_and_the_official_one_accept_whatever_card_is_exported(registry):
    developer = await registry.developer()
    old = {name: value for name, value in card_of().items() if name != "supportedInterfaces"}
    for card in (
        {},
        {"name": "Grüße \u2028🌍", "description": 'Ωμέγα«ñ» "quoted" \\ / '},
        {"pricing": {"model": "per-request", "base_rate": 0.05, "numbers": MANY_NUMBERS}},
        BOTH_HALVES,
        {
            "capabilities": {
                "streaming": True,
                "extensions": [
                    {
                        "uri": "https://example.org/x",
                        "params": {"n": MANY_NUMBERS, "o": {"é": [None, True, ""]}},
                    }
                ],
            },
            "unknown": {"b": [], "a": {}, "": None},
        },
    ):
        agent = await developer.agent(**card)
        document = await verified(agent)
        assert document["did"] == agent.did
        stored = (await registry.get(f"/agent-cards/{agent.did}")).json()["card_data"]
        assert document == {
            **{name: value for name, value in stored.items() if name != "flare"},
            "did": agent.did,
        }
    answer = await registry.post("/utils/validate-card", json={"card_data": {**old, **BOTH_HALVES}})
    assert answer.json()["is_valid"], answer.text


async def test_an_edit_of_the_price_or_of_an_extension_is_caught_by_our_verifier_alone(registry):
    agent = await registry.agent(pricing={"model": "per-request", "base_rate": 0.05})
    card, jwks = (await exported(agent)).json(), await keys_of(registry)
    (payment,) = card["extensions"]
    assert (payment["uri"], payment["params"]["base_rate"]) == (PAYMENT, "0.05")
    cheaper = {**payment, "params": {**payment["params"], "base_rate": "0.01"}}
    for edit in (
        {"pricing": {"model": "per-request", "base_rate": 0.01}},
        {"extensions": [cheaper]},
        {"extensions": []},
        {"extensions": [payment, payment]},
        {"x": 1},
    ):
        edited = {**card, **edit}
        assert verify_card(dumps(edited), read_keys(jwks)).code == "bad_signature"
        official(edited, jwks)
    with pytest.raises(InvalidSignaturesError):
        official({**card, "description": "Another."}, jwks)


async def test_signatures_that_an_owner_wrote_and_what_the_registry_alone_says_are_not_exported(registry):
    developer = await registry.developer()
    agent = await developer.agent(
        signatures=[{"protected": "e30", "signature": "AA"}],
        flare={"mark": "Sovereign"},
        federation_metadata={"source_registry": "elsewhere"},
        did="did:hansa:hansa.local:of-somebody-else",
    )
    document = await verified(agent)
    assert not {"flare", "federation_metadata", "signatures"} & set(document)
    assert document["did"] == agent.did


async def test_who_has_the_export_already_gets_a_304_until_the_card_the_key_or_the_status_changes(registry):
    agent = await registry.agent()
    tags = []
    for change in (
        None,
        lambda tx: catalogue.suspend_card(tx, agent.did),
        lambda tx: catalogue.reinstate_card(tx, agent.did),
        lambda tx: federation.rotate_key(tx, registry.settings, registry.runtime.seal),
    ):
        if change is not None:
            await registry.database.transaction(change)
        answer = await exported(agent)
        tags.append(answer.headers["etag"])
        again = await exported(agent, headers={"If-None-Match": tags[-1]})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tags[-1])
    assert all(tag != following for tag, following in pairwise(tags))
    # What another process signs in the same hour is the same, byte for byte.
    other = EXPORT_DESK.of(another_process(registry.runtime))
    assert await other.export(agent.did) == answer.content


async def test_a_suspended_agents_card_says_so_under_the_signature(registry):
    agent = await registry.agent(pricing={"model": "per-request", "base_rate": 2})
    await registry.database.transaction(lambda tx: catalogue.suspend_card(tx, agent.did))
    (extension,) = [one for one in (await verified(agent))["extensions"] if one["uri"] == ENFORCEMENT]
    assert extension["params"]["status"] == "suspended"
    await registry.database.transaction(lambda tx: catalogue.reinstate_card(tx, agent.did))
    assert ENFORCEMENT not in [one["uri"] for one in (await verified(agent))["extensions"]]


async def test_of_a_revoked_agent_a_tombstone_is_exported_for_thirty_days(registry):
    agent = await registry.agent(pricing={"model": "per-request", "base_rate": 2}, name="Secret Name")
    await registry.database.transaction(lambda tx: catalogue.suspend_card(tx, agent.did))
    await registry.database.transaction(lambda tx: catalogue.retire_card(tx, agent.did))
    document = await verified(agent)
    assert set(document) == {"did", "name", "description", "extensions"}
    assert document["name"] == document["did"] == agent.did
    (extension,) = document["extensions"]
    assert extension["params"]["status"] == "revoked"

    aged = "UPDATE catalogue_card SET hidden_since = now() - $2::interval WHERE did = $1"
    for age, status in ((timedelta(days=29, hours=23), 200), (timedelta(days=30, hours=1), 404)):
        await registry.database.transaction(lambda tx, a=age: tx.execute(aged, agent.did, a))
        assert (await exported(agent)).status_code == status


async def test_an_export_stays_verifiable_as_of_its_time_after_its_key_is_retired(registry):
    agent = await registry.agent()
    before = (await exported(agent)).content
    await rotate(registry)
    after = (await exported(agent)).content
    assert after != before
    jwks = read_keys(await keys_of(registry))
    assert {verify_card(text, jwks).code for text in (before, after)} == {"verified"}
    history = read_keys((await registry.http.get("/.well-known/registry-jwks-history.json")).json())
    signed_at = verify_card(before, history).signed_at
    later = signed_at + timedelta(days=8)
    assert verify_card(before, history, at=signed_at).code == "verified"
    assert verify_card(before, history, at=later).code == "key_retired"
    assert verify_card(after, history, at=later).code == "verified"


@pytest.mark.parametrize("did", ["did:hansa:hansa.local:nobody", "x", "did:hansa:system:treasury"])
async def test_who_has_no_card_here_has_no_export(registry, did):
    answer = await registry.get(f"/agents/{did}/card-export")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "CARD_UNKNOWN")


async def test_the_card_of_another_registry_is_for_that_one_to_export(registry):
    agent = await registry.agent()
    mirror = "UPDATE catalogue_card SET source_registry = 'other', developer_id = NULL WHERE did = $1"
    await registry.database.transaction(lambda tx: tx.execute(mirror, agent.did))
    assert (await exported(agent)).status_code == 404


async def test_what_is_kept_of_exports_is_bounded(registry, monkeypatch):
    developer = await registry.developer()
    crowd = [await developer.agent() for _ in range(3)]
    size = len((await exported(crowd[0])).content)
    monkeypatch.setattr(export, "KEPT_MAX_BYTES", int(size * 2.5))
    desk = EXPORT_DESK.of(another_process(registry.runtime))
    for agent in crowd * 2:
        assert await desk.export(agent.did) == (await exported(agent)).content
    assert len(desk._kept) == 2
    assert desk._kept_bytes == sum(len(kept) for kept in desk._kept.values())


async def test_the_example_of_the_verifiers_distribution_verifies_an_exported_card(
    registry: TestRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    [example] = EXAMPLE.findall((ROOT / "verify" / "README.md").read_text())
    keys = await registry.http.get("/.well-known/registry-jwks.json")
    exec(example, {"card_text": (await exported(await registry.agent())).text, "keys_text": keys.text})
    assert capsys.readouterr().out.startswith("verified ")
