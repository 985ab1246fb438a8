"""One frame and two operators: DIDs by claims, units by ordinary crossings, licences; over real mutual TLS."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.jobs import PutOff
from hansa.foundation.plumbing.outgoing import HostUnreachable
from hansa.foundation.values.jwk import jwk_of
from hansa.rooms import auditor, federation
from hansa.rooms.auditor.cross_registry import compare_with_peers
from hansa.rooms.commerce.contracts import CONTRACT_STATEMENTS
from hansa.rooms.federation import CertificateAct, CertificateFilter, Delivered
from hansa.rooms.federation.crossing.licence_round import read_operator_licence
from hansa.rooms.federation.did_claims import CLAIM_DIDS
from hansa.rooms.federation.did_claims.operator_claims import confirm_claims
from hansa_verify import licence_hash
from tests.licences import TestGenesis
from tests.neighbours.crossing_scene import across, open_rows, refusal, run, settle
from tests.neighbours.one_frame import FRAME, OneFrame, agent_of, claimed, frame_with_operators
from tests.neighbours.reading_peers import card_at, read
from tests.neighbours.two_registries import Neighbour
from tests.registry import DatabaseFarm, TestAgent
from tests.running_jobs import run_due


@dataclass(frozen=True)
class Scene:
    """The registries, and the genesis of the network to which the frame belongs."""

    genesis: TestGenesis
    frame: Neighbour
    north: Neighbour
    south: Neighbour

    @property
    def all(self) -> tuple[Neighbour, ...]:
        return (self.frame, self.north, self.south)


@pytest.fixture(scope="module")
async def scene(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scene]:
    genesis = TestGenesis("genesis.example")
    mainframe: dict[str, object] = {
        "is_central_registry": True,
        "sovereign_mainframes": [FRAME],
        "licensing_mode": "automatic",
    }
    pinned: dict[str, object] = {"federation_root_hash": licence_hash(genesis.certificate)}
    directory = tmp_path_factory.mktemp("frame")
    async with frame_with_operators(
        database_farm, directory, "north", "south", frame=mainframe, each=pinned
    ) as one:
        await _licensed(one, genesis)
        yield Scene(genesis, one.frame, *one.operators)
        # A listener that ends waits for the connections of the other one.
        for neighbour in one.all:
            await federation.PEER_CALLS.of(neighbour.registry.runtime).close()


async def _licensed(one: OneFrame, genesis: TestGenesis) -> None:
    runtime = one.frame.registry.runtime
    key = await runtime.database.read(federation.licensing_public_key)
    delivered = Delivered(genesis.frame(FRAME, jwk_of(key)), [genesis.certificate])
    await runtime.database.transaction(
        lambda tx: federation.join_network(tx, None, runtime.settings, runtime.seal, delivered)
    )


async def paid(scene: Scene, payee: TestAgent, amount: str = "20") -> None:
    """The frame's agents are the only ones with units at first."""
    payer = await scene.frame.registry.agent()
    answer = await across(payer, payee.did, amount)
    assert answer.status_code == 200, answer.text
    await settle(*scene.all, rounds=1)


async def pairs_of(one: Neighbour) -> dict[str, dict[str, Any]]:
    answer = await one.registry.get("/projections/cross-frame-audit", headers=one.registry.internal)
    assert answer.status_code == 200, answer.text
    return {found["ledger_id"]: found for found in answer.json()["pairs"]}


async def test_units_move_by_ordinary_crossings_and_the_pairwise_audit_agrees(scene: Scene):
    alice, bob, carol = (
        await agent_of(scene.north),
        await agent_of(scene.south),
        await scene.frame.registry.agent(),
    )
    assert (await alice.balance(), await bob.balance()) == ("0", "0")
    await paid(scene, alice, "20")
    assert await alice.balance() == "19.9"
    shown = (await across(alice, bob.did, "10")).json()
    assert (shown["receiver_registry"], shown["amount_received"]) == (f"{FRAME}/registry/south", "9.95")
    await settle(*scene.all, rounds=1)
    assert (await across(bob, carol.did, "1")).json()["receiver_registry"] == FRAME
    await settle(*scene.all)
    assert (await alice.balance(), await bob.balance()) == ("9.9", "8.95")
    assert [await open_rows(one) for one in scene.all] == [0, 0, 0]
    for _ in range(2):
        for one in scene.all:
            await compare_with_peers(one.registry.runtime)
    for one in scene.all:
        verdict = await one.registry.database.read(auditor.audit_supply)
        assert verdict.is_ok, verdict
        for name, pair in (await pairs_of(one)).items():
            assert (pair["delta"], pair["disputed"], pair["in_flight"]) == ("0", "0", "0"), (name, pair)
    towards_south = (await pairs_of(scene.north))[f"{FRAME}/registry/south"]
    from_north = (await pairs_of(scene.south))[f"{FRAME}/registry/north"]
    assert (towards_south["out"], from_north["in"]) == ("10", "10")


async def test_send_finds_the_registry_of_a_did_that_was_never_met_by_its_claim(scene: Scene):
    alice, bob = await agent_of(scene.north), await agent_of(scene.south)
    await paid(scene, alice)
    registry = scene.north.registry
    body = {"receiver_agent_id": bob.did, "amount": "1"}
    plan = {"receiver_did": bob.did, "amount": "1", "dry_run": True}
    refused = await registry.post("/teg/transfer", json=body, headers=alice.headers)
    assert await refusal(refused) == (400, "RECEIVER_IS_FOREIGN")
    planned = await registry.post("/teg/send", json={**plan}, headers=alice.headers)
    assert planned.status_code == 200, planned.text
    assert planned.json()["receiver_registry"] == f"{FRAME}/registry/south"
    sent = await registry.post("/teg/send", json={**plan, "dry_run": False}, headers=alice.headers)
    assert (sent.status_code, sent.json()["method"]) == (200, "2pc")
    unknown = {**body, "receiver_agent_id": f"did:hansa:{FRAME}:{uuid4()}"}
    answer = await registry.post("/teg/transfer", json=unknown, headers=alice.headers)
    assert answer.status_code == 404
    await settle(*scene.all)
    assert await bob.balance() == "0.995"


async def test_with_the_frame_away_the_agent_is_created_and_crossing_and_export_wait(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    bob = await agent_of(scene.south)
    await federation.learn_holders(scene.north.registry.runtime, [bob.did])
    alice = await scene.north.registry.agent(name="Waits for the frame")
    assert alice.did.startswith(f"did:hansa:{FRAME}:")

    async def away(*_: Any, **__: Any) -> Any:
        raise HostUnreachable

    with monkeypatch.context() as patch:
        patch.setattr(federation.did_claims.operator_claims, "call_peer", away)
        await claimed(scene.north)
        assert await refusal(await across(alice, bob.did, "1")) == (503, "DID_NOT_CONFIRMED")
        assert alice.did not in await exported(scene)
        stranger = f"did:hansa:{FRAME}:{uuid4()}"
        assert await refusal(await across(bob, stranger, "1")) == (503, "FRAME_SILENT")
    await run(scene.north, "UPDATE plumbing_job SET due_at = now() WHERE kind = $1", CLAIM_DIDS.name)
    await claimed(scene.north)
    assert alice.did in await exported(scene)
    await paid(scene, alice, "4")
    assert (await across(alice, bob.did, "1")).status_code == 200
    await settle(*scene.all)


async def exported(scene: Scene) -> list[str]:
    """The DIDs of north that south is sent."""
    await scene.north.registry.transactions_ended()
    answer = await scene.south.call(scene.north, "GET", "/api/v1/federation/agent-cards")
    assert answer.status == 200, answer.body
    return [line.split('"')[0] for line in answer.body.decode().split('"did":"')[1:]]


async def test_operators_mirror_each_others_cards_of_the_dids_that_they_hold(scene: Scene):
    bob = await agent_of(scene.south, name="Southerner")
    outcome = await read(scene.north, scene.south)
    assert not outcome.refused
    card = await card_at(scene.north, bob.did)
    assert (card["name"], card["is_federated"], card["origin"]) == (
        "Southerner",
        True,
        f"{FRAME}/registry/south",
    )


async def taken(scene: Scene, agent: TestAgent) -> None:
    """South held the DID first, and north states all the same that it is its own."""
    digest = sha256(agent.did.encode()).digest()
    south = "spiffe://frame.example/registry/south"
    await run(scene.frame, "INSERT INTO federation_did_claim (digest, holder) VALUES ($1, $2)", digest, south)
    await claimed(scene.north)
    await run(scene.north, "UPDATE federation_did_claim SET state = 'held' WHERE digest = $1", digest)


async def test_a_card_of_a_did_that_its_registry_does_not_hold_is_refused_and_counted(scene: Scene):
    await read(scene.south, scene.north)
    mallory = await scene.north.registry.agent(name="Not of the north")
    await taken(scene, mallory)
    assert await read(scene.frame, scene.north)
    assert (await scene.frame.refused(scene.north))["did_not_claimed"] >= 1
    assert (await scene.frame.refused(scene.north))["did_claimed_by_another"] == 1
    assert (await scene.frame.registry.get(f"/agents/by-did/{mallory.did}")).status_code == 404


async def test_a_crossing_of_a_did_that_the_peer_does_not_hold_is_refused_and_counted(scene: Scene):
    bob = await agent_of(scene.south)
    payer = await agent_of(scene.north)
    await paid(scene, payer)
    mallory = await scene.north.registry.agent()
    assert (await payer.transfer(mallory, "5")).status_code == 200
    await taken(scene, mallory)
    answer = await across(mallory, bob.did, "1")
    assert answer.status_code == 503, answer.text
    assert (await scene.south.refused(scene.north))["foreign_namespace"] >= 1
    await settle(*scene.all)
    assert (await mallory.balance(), await bob.balance()) == ("5", "0")


async def test_a_did_that_the_frame_refused_neither_crosses_nor_is_exported(scene: Scene):
    bob = await agent_of(scene.south)
    mallory = await scene.north.registry.agent()
    digest = sha256(mallory.did.encode()).digest()
    south = "spiffe://frame.example/registry/south"
    await run(scene.frame, "INSERT INTO federation_did_claim (digest, holder) VALUES ($1, $2)", digest, south)
    later = await agent_of(scene.north)
    assert await refusal(await across(mallory, bob.did, "1")) == (409, "DID_REFUSED")
    dids = await exported(scene)
    assert mallory.did not in dids
    assert later.did in dids


async def test_claims_that_a_restored_frame_lacks_are_made_again(scene: Scene):
    alice, bob = await agent_of(scene.north), await agent_of(scene.south)
    assert await confirm_claims(scene.north.registry.runtime) == 0
    digest = sha256(alice.did.encode()).digest()
    await run(scene.frame, "DELETE FROM federation_did_claim WHERE digest = $1", digest)
    assert await confirm_claims(scene.north.registry.runtime) == 1
    await paid(scene, alice)
    assert (await across(alice, bob.did, "1")).status_code == 200


async def licence_of(one: Neighbour) -> dict[str, Any]:
    await read_operator_licence(one.registry.runtime)
    card = (await one.registry.http.get("/.well-known/registry-card.json")).json()
    return card["federation"]["licence"]  # type: ignore[no-any-return]


async def test_licences_are_issued_automatically_verified_suspended_and_superseded(scene: Scene):
    runtime = scene.frame.registry.runtime
    shown = {name: await licence_of(one) for name, one in (("north", scene.north), ("south", scene.south))}
    assert [one["operator"]["state"] for one in shown.values()] == ["active", "active"]
    assert {one["network"] for one in shown.values()} == {"genesis.example"}
    issued, _ = await runtime.database.read(
        lambda tx: federation.list_licence_certificates(tx, CertificateFilter(type="operator"))
    )
    lids = {one.sub_name: one.lid for one in issued}

    async def change(act: Any) -> None:
        wanted = CertificateAct(lids["north"], act, "Unpaid.")
        await runtime.database.transaction(
            lambda tx: federation.change_certificate(tx, None, runtime.settings, wanted)
        )

    await change("suspend")
    assert (await licence_of(scene.north))["operator"]["state"] == "suspended"
    assert (await licence_of(scene.south))["operator"]["state"] == "active"
    # Nothing of licences is checked inside a trust domain.
    alice, bob = await agent_of(scene.north), await agent_of(scene.south)
    await paid(scene, alice)
    assert (await across(alice, bob.did, "1")).status_code == 200
    await change("reinstate")
    before = (await licence_of(scene.north))["operator"]
    assert before["state"] == "active"
    request = federation.CertificateRequest(
        federation.Subject(FRAME, "north", spiffe=f"spiffe://{FRAME}/operator/north"),
        "gold",
        None,
        30,
        states_term=True,
    )
    await runtime.database.transaction(
        lambda tx: federation.issue_certificate(tx, None, runtime.settings, runtime.seal, request)
    )
    after = (await licence_of(scene.north))["operator"]
    assert (after["state"], after["plan"]) == ("active", "gold")
    assert after["hash"] != before["hash"]
    assert after["expires_at"] is not None


async def test_without_an_answer_of_the_frame_the_licence_stays(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    held = await licence_of(scene.south)

    async def away(*_: Any, **__: Any) -> Any:
        raise HostUnreachable

    with monkeypatch.context() as patch:
        patch.setattr(federation.PEER_CALLS.of(scene.south.registry.runtime), "send", away)
        with pytest.raises(PutOff):
            await read_operator_licence(scene.south.registry.runtime)
    assert await licence_of(scene.south) == held


async def test_a_contract_of_two_registries_of_the_frame_has_a_copy_at_the_providers(scene: Scene):
    alice, bob = await scene.frame.registry.agent(), await agent_of(scene.south)
    terms = {
        "provider_did": bob.did,
        "title": "Translate a page",
        "contract_type": "service",
        "amount": "1",
        "terms": "One page.",
        "acceptance_criteria": "It reads well.",
    }
    proposed = await scene.frame.registry.post("/contracts", json=terms, headers=alice.headers)
    assert proposed.status_code == 201, proposed.text
    assert await run_due(scene.frame.registry.runtime, CONTRACT_STATEMENTS) == 1
    listed = await scene.south.registry.get("/contracts", headers=bob.headers)
    kept = [(one["contractor_registry"], one["id"], one["status"]) for one in listed.json()["items"]]
    assert kept == [(FRAME, proposed.json()["id"], "PROPOSED")]
    named = {"contractor_registry": FRAME}
    path = f"/contracts/{proposed.json()['id']}/accept-federated"
    accepted = await scene.south.registry.post(path, json=named, headers=bob.headers)
    assert (accepted.status_code, accepted.json()["status"]) == (200, "ACCEPTED"), accepted.text
    ended = await scene.south.registry.http.delete("/api/v1/agents/me", headers=bob.headers)
    assert await refusal(ended) == (409, "AGENT_HAS_CONTRACTS")
