"""A bundle that one registry exported makes an agent at its peer, and at no registry for which its signer does not speak now."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from hansa.foundation.values.canonical import canonical_json
from hansa.rooms import federation
from hansa.rooms.federation.peers import acts
from tests.conversations.test_bundles import bring_in, chain, every_change, exported, number_of_agents
from tests.conversations.test_versions import coder, registered
from tests.neighbours.crossing_scene import run
from tests.neighbours.two_registries import Neighbour, Neighbours, befriend, neighbours
from tests.registry import DatabaseFarm, TestRegistry


async def bundle_of(one: Neighbour) -> dict[str, Any]:
    """The bundle of a new agent with a version and a pipeline."""
    owner = await one.registry.developer()
    agent = await coder(owner)
    await registered(agent, agent, "2.0", release_notes="Twice as fast.")
    payee = (await one.registry.agent()).did
    made = await one.registry.post(
        f"/agents/{agent.did}/pipelines", json=chain(payee, payee), headers=owner.headers
    )
    assert made.status_code == 201, made.text
    bundle: dict[str, Any] = (await exported(owner, agent))["bundle"]
    return bundle


async def brought(one: Neighbour, bundle: dict[str, Any], **members: Any) -> httpx2.Response:
    answer: httpx2.Response = await bring_in(await one.registry.developer(), bundle, **members)
    return answer


async def signed_by(
    registry: TestRegistry, content: dict[str, Any], *, named: TestRegistry | None = None
) -> dict[str, Any]:
    """A bundle with this content that a registry signed with its present key, under the name of that key or of another registry's."""
    key = await federation.SIGNATORY.of(registry.runtime).present_key()
    if named is not None:
        key = replace(key, kid=(await federation.SIGNATORY.of(named.runtime).present_key()).kid)
    header = {"typ": "agent-bundle+jws", "iat": int(key.now.timestamp()), "canon": "sorted-ascii-json/1"}
    plain = {name: member for name, member in content.items() if name != "signatures"}
    return {**plain, "signatures": [federation.detached_signature(key, canonical_json(plain), header)]}


def refused(answer: httpx2.Response) -> str:
    """The member at which a bundle was refused."""
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "BUNDLE_REFUSED"), answer.text
    return str(answer.json()["error"]["field"])


async def test_a_bundle_of_a_peer_makes_an_agent_with_the_origin_that_the_peer_signed(pair: Neighbours):
    bundle = await bundle_of(pair.b)
    before = await number_of_agents(pair.a.registry)
    seen = await brought(pair.a, bundle, dry_run=True)
    assert (seen.status_code, await number_of_agents(pair.a.registry)) == (200, before), seen.text
    made = await brought(pair.a, bundle)
    assert made.status_code == 201, made.text
    did = made.json()["agent_did"]
    assert did.startswith("did:hansa:a.example:")
    card = (await pair.a.registry.get(f"/agent-cards/{did}")).json()["card_data"]
    assert card["imported_from"] == {
        "did": bundle["did"],
        "registry": (await pair.a.peer(pair.b)).spiffe_id,
        "exported_at": bundle["exported_at"],
    }
    listed = await pair.a.registry.get(f"/agents/{did}/versions", params={"kind": "release"})
    assert [(one["version"], one["status"]) for one in listed.json()["versions"]] == [("2.0", "draft")]
    payee = bundle["pipelines"][0]["steps"][0]["agent"]
    assert f"does not know: {payee}." in " ".join(made.json()["warnings"])
    token = await pair.a.registry.post(
        "/auth/agent/token",
        data={"username": made.json()["client_id"], "password": made.json()["client_secret"]},
        headers=pair.a.registry.elsewhere(),
    )
    assert token.status_code == 200, token.text


async def test_a_bundle_of_a_peer_with_any_member_altered_is_refused(pair: Neighbours):
    bundle = await bundle_of(pair.b)
    importer = await pair.a.registry.developer()
    before = await number_of_agents(pair.a.registry)
    for path, changed in every_change(bundle):
        answer = await bring_in(importer, changed)
        assert refused(answer), path
    assert await number_of_agents(pair.a.registry) == before


async def test_a_peer_signs_no_bundle_of_an_agent_of_another_registry(pair: Neighbours):
    theirs = await bundle_of(pair.b)
    of_a = f"did:hansa:a.example:{theirs['did'].rpartition(':')[2]}"
    for did in (of_a, "did:hansa:c.example:1", "did:web:b.example", ""):
        forged = await signed_by(pair.b.registry, {**theirs, "did": did})
        assert refused(await brought(pair.a, forged)) in {"/bundle/signatures", "/bundle/did"}, did
    assert (await brought(pair.a, await signed_by(pair.b.registry, theirs))).status_code == 201


async def test_the_signature_of_one_registry_under_the_name_of_another_is_refused(pair: Neighbours):
    theirs = await bundle_of(pair.b)
    forged = await signed_by(pair.a.registry, theirs, named=pair.b.registry)
    for one in (pair.a, pair.b):
        assert refused(await brought(one, forged)) == "/bundle/signatures"


async def test_a_bundle_of_a_key_that_the_peer_replaced_long_ago_is_refused(pair: Neighbours):
    bundle = await bundle_of(pair.b)
    stored = dict((await pair.a.peer(pair.b)).keys or {})
    retired = json.loads(json.dumps(stored))
    for key in retired["keys"]:
        key["retired_at"] = "2020-01-01T00:00:00Z"
    peer = (await pair.a.peer(pair.b)).id
    statement = f"UPDATE federation_peer SET keys = $1 WHERE id = {peer}"
    await run(pair.a, statement, json.dumps(retired))
    try:
        assert refused(await brought(pair.a, bundle)) == "/bundle/signatures"
    finally:
        await run(pair.a, statement, json.dumps(stored))
    assert (await brought(pair.a, bundle)).status_code == 201


@pytest.fixture
async def stranger(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("strangers"), joined=False) as strangers:
        yield strangers


async def test_a_bundle_counts_from_the_approval_of_its_registry_until_it_is_quarantined_paused_or_removed(
    stranger: Neighbours,
):
    a, b = stranger.a, stranger.b
    bundle = await bundle_of(b)
    assert refused(await brought(a, bundle)) == "/bundle/signatures"
    await befriend(a, b)
    assert (await brought(a, bundle)).status_code == 201
    name, runtime = b.registry.settings.ledger_id, a.registry.runtime
    await runtime.database.transaction(lambda tx: acts.quarantine_peer(tx, None, name, "It lies."))
    assert refused(await brought(a, bundle)) == "/bundle/signatures"
    await runtime.database.transaction(lambda tx: acts.release_peer(tx, None, name, "It was a mistake."))
    assert (await brought(a, bundle)).status_code == 201
    await runtime.database.transaction(lambda tx: acts.pause_peer(tx, None, name))
    assert refused(await brought(a, bundle)) == "/bundle/signatures"
    await runtime.database.transaction(lambda tx: acts.resume_peer(tx, None, name))
    _, is_gone = await runtime.database.transaction(lambda tx: acts.remove_peer(tx, None, runtime, name))
    assert is_gone
    assert refused(await brought(a, bundle)) == "/bundle/signatures"
