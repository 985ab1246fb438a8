"""A card that its owner writes may carry the agent's own signature; the operator chooses the effect of a bad one."""

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from hansa.rooms.catalogue.signatures.a2a_profile import a2a_signature
from tests.registry import card_of


def signed(card, private_key_pem):
    """The card as a stock A2A client signs it with the agent's key."""
    key = load_pem_private_key(private_key_pem.encode(), None)
    return {**card, "signatures": [a2a_signature(card, key, {"kid": "key-1", "typ": "JOSE"})]}


async def put(developer, agent, card):
    path = f"/api/v1/agent-cards/{agent.did}"
    return await developer.registry.http.put(path, json={"card_data": card}, headers=developer.headers)


@pytest.mark.parametrize("enforce", [False, True])
async def test_a_written_card_whose_signature_is_not_its_agents_is_refused_where_that_is_enforced(
    start_registry, enforce
):
    registry = await start_registry(jws_enforce=enforce, jws_require_signature=enforce)
    health = (await registry.http.get("/health")).json()["card_signatures"]
    assert health == {"verify_enabled": False, "enforce": enforce, "require_signature": enforce}
    developer = await registry.developer()
    agent, other = await developer.agent(), await developer.agent()
    key = agent.created["private_key_pem"]

    # What an owner writes need not be signed; what is signed, well or badly, is not stored.
    good, unsigned = signed(card_of("Good"), key), card_of("Unsigned")
    for card in (good, unsigned):
        answer = await put(developer, agent, card)
        assert answer.status_code == 200, answer.text
        assert "signatures" not in answer.json()["card_data"]

    # An export that is read, edited and written back carries only the registry's word.
    exported = (await registry.get(f"/agents/{agent.did}/card-export")).json()
    assert (await put(developer, agent, {**exported, "name": "Edited"})).status_code == 200

    bad = {**good, "description": "Another."}
    refused = {422} if enforce else {200}
    answers = [await put(developer, agent, bad), await put(developer, other, good)]
    body = {"card_data": bad}
    listing = await registry.post("/agent-cards/", json=body, headers=developer.headers)
    assert {answer.status_code for answer in answers} == refused
    assert listing.status_code == (422 if enforce else 201)
    if enforce:
        for answer in (*answers, listing):
            error = answer.json()["error"]
            assert (error["code"], error["field"]) == ("CARD_SIGNATURE_REFUSED", "card_data.signatures")


async def test_another_document_is_not_signed_by_what_signed_the_one_before(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    noted = "UPDATE catalogue_card SET signature_verified_at = now() WHERE did = $1"
    await registry.database.transaction(lambda tx: tx.execute(noted, agent.did))
    assert (await put(developer, agent, card_of("Another"))).status_code == 200
    still = "SELECT signature_verified_at FROM catalogue_card WHERE did = $1"
    assert await registry.database.query(lambda tx: tx.fetchval(still, agent.did)) is None
