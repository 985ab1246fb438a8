"""Specification 2, "Federation sync", 5 M and P, 6 W 3, 5 and 22: peers are added, read, verified, paused and removed."""

import asyncio
import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hansa.foundation.plumbing.keys.trust_bundle import TrustBundle
from hansa.rooms import federation
from hansa.rooms.federation.peers import (
    JOB,
    READ_A_PEER,
    SYNC_PEER,
    SyncOutcome,
    enqueue_missing,
    finish_removals,
)
from hansa.rooms.federation.peers.document_marks import MARKS_AT
from tests.other_registry import OtherRegistry, let_reach
from tests.peer_administrator import PEERS, PeerAdministrator, peer_administrator
from tests.registry import StartRegistry
from tests.running_jobs import jobs_of, run_due, time_passes

CARD = "/.well-known/registry-card.json"
KEYS = "/.well-known/registry-jwks.json"
BUNDLE = "/.well-known/spiffe-bundle.json"


@pytest.fixture
async def admin(start_registry: StartRegistry) -> PeerAdministrator:
    return await peer_administrator(await start_registry())


@pytest.fixture
def other(admin: PeerAdministrator) -> OtherRegistry:
    one = OtherRegistry()
    let_reach(admin.registry.runtime, one)
    return one


def by_hand(other: OtherRegistry, **more: Any) -> dict[str, Any]:
    return {"registry_url": other.public_url, "bundle": other.bundle.pem, **more}


async def add(admin: PeerAdministrator, other: OtherRegistry, **more: Any) -> dict[str, Any]:
    return await admin.post(PEERS, by_hand(other, **more), 201)


async def joined(admin: PeerAdministrator, other: OtherRegistry) -> dict[str, Any]:
    await add(admin, other)
    await run_due(admin.registry.runtime, READ_A_PEER)
    peer = await admin.peer(other.name)
    assert peer["status"] == "active", peer
    return peer


async def events_of(admin: PeerAdministrator) -> list[str]:
    answer = await admin.registry.get("/public/eventstore-recent")
    names = {"RegistryFederated", "PeerRegistryDeactivated", "RegistryQuarantined"}
    newest_first = [one["event_type"] for one in answer.json()["events"] if one["event_type"] in names]
    return newest_first[::-1]


async def test_a_peer_added_by_hand_is_pending_until_the_other_side_answers(
    admin: PeerAdministrator, other: OtherRegistry
):
    other.is_reachable = False
    added = await add(admin, other)
    assert (added["status"], added["approval"], added["card"]) == ("inactive", "pending", None)
    await run_due(admin.registry.runtime, READ_A_PEER)
    waiting = await admin.peer(other.trust_domain)
    assert (waiting["approval"], waiting["trouble"]) == ("pending", "unreachable")
    other.is_reachable, other.has_added_us = True, False
    await time_passes(admin.registry.runtime, 10)
    await run_due(admin.registry.runtime, READ_A_PEER)
    waiting = await admin.peer(other.trust_domain)
    assert (waiting["approval"], waiting["status"], waiting["trouble"]) == ("pending", "inactive", None)
    other.has_added_us = True
    await time_passes(admin.registry.runtime, 10)
    await run_due(admin.registry.runtime, READ_A_PEER)
    peer = await admin.peer(other.name)
    assert (peer["status"], peer["approval"], peer["trouble"]) == ("active", "approved", None)
    assert peer["spiffe_id"] == other.spiffe_id
    assert await events_of(admin) == ["RegistryFederated"]


async def test_a_row_of_a_peer_has_every_member_of_the_specification(
    admin: PeerAdministrator, other: OtherRegistry
):
    await joined(admin, other)
    await admin.act("other", "sync")
    peer = await admin.peer("other")
    expected = {
        "name": "other",
        "trust_domain": other.trust_domain,
        "registry_url": other.public_url,
        "federation_base_url": other.federation_base_url,
        "peer_type": "direct_peer",
        "status": "active",
        "hop_distance": 1,
        "settlement_currency": "AVT",
        "lag_seconds": 0,
        "trust_state": "unmeasured",
        "approval": "approved",
        "refused": {},
        "bayesian_discount": 0.5,
        "total_interactions": 0,
        "disputes_lost_with": 0,
        "last_interaction_at": None,
        "auto_slash_enabled": False,
        "auto_slash_max_avt": 0,
        "net_in_limit": "10000",
    }
    assert {name: peer[name] for name in expected} == expected
    assert peer["last_synced_at"] is not None
    assert await admin.peers() == [peer | {"lag_seconds": (await admin.peers())[0]["lag_seconds"]}]


async def test_a_limit_of_what_a_peer_brings_in_is_set_when_it_is_added(admin: PeerAdministrator):
    for number, (limit, shown) in enumerate((("0", "0"), ("12.5", "12.5"), (None, None))):
        one = OtherRegistry(f"p{number}.example.com", f"p{number}")
        let_reach(admin.registry.runtime, one)
        assert (await add(admin, one, net_in_limit=limit))["net_in_limit"] == shown
    one = OtherRegistry("q.example.com")
    await admin.post(PEERS, by_hand(one, net_in_limit="-1"), 422)
    await admin.post(PEERS, by_hand(one, net_in_limit=5), 422)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"registry_url": "http://other.example.com"}, "INTERNAL_HOST"),
        ({"registry_url": "https://10.0.0.1"}, "INTERNAL_HOST"),
        ({"registry_url": "https://other.example.com:6379"}, "INTERNAL_HOST"),
        ({"registry_url": "gopher"}, "INTERNAL_HOST"),
        ({"bundle": "-----BEGIN CERTIFICATE-----"}, "BUNDLE_REFUSED"),
        ({"bundle": "[" * 5000}, "BUNDLE_REFUSED"),
        ({"bundle": '{"keys": []}'}, "BUNDLE_REFUSED"),
        ({"name": "localhost"}, "PEER_NAME_REFUSED"),
        ({"name": " "}, "PEER_NAME_REFUSED"),
        ({"peer_type": "friend"}, "VALIDATION_ERROR"),
    ],
)
async def test_an_address_bundle_or_name_that_cannot_be_used_is_refused_and_changes_nothing(
    admin: PeerAdministrator, other: OtherRegistry, change: dict[str, str], code: str
):
    refused = await admin.post(PEERS, by_hand(other, **change), 422)
    assert refused["error"]["code"] == code
    assert change.get("registry_url", "") in refused["detail"]
    assert await admin.peers() == []
    assert other.asked == []


async def test_an_address_of_an_own_network_is_refused_with_the_setting_that_allows_it(
    admin: PeerAdministrator, other: OtherRegistry
):
    for url, place in (("http://127.0.0.1:8001", "127.0.0.1:8001"), ("https://10.0.0.1", "10.0.0.1:443")):
        refused = await admin.post(PEERS, by_hand(other, registry_url=url), 422)
        assert f"add {place} to OUTGOING_ALLOW_HOSTS" in refused["detail"]
    refused = await admin.post(PEERS, by_hand(other, registry_url=f"{other.public_url}/?x=1"), 422)
    assert refused["detail"] == "The address of a registry has no query."


async def test_the_own_bundle_and_a_second_row_of_a_peer_are_refused(
    admin: PeerAdministrator, other: OtherRegistry
):
    own = (await admin.registry.http.get(BUNDLE)).text
    await admin.post(PEERS, by_hand(other, bundle=own), 422)
    await add(admin, other)
    refused = await admin.post(PEERS, by_hand(other), 409)
    assert refused["error"]["code"] == "PEER_EXISTS"
    await run_due(admin.registry.runtime, READ_A_PEER)
    await admin.post(PEERS, by_hand(other, name=other.name), 409)


async def test_of_additions_of_one_registry_at_the_same_moment_one_is_written(
    admin: PeerAdministrator, other: OtherRegistry
):
    body = by_hand(other)
    answers = await asyncio.gather(
        *(admin.registry.post(PEERS, json=body, headers=admin.headers) for _ in range(6))
    )
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 5


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("card_name_mismatch", {"registry_name": "another"}),
        ("infra_label", {"registry_name": "api"}),
        ("empty_name", {"registry_name": " "}),
        ("identity_mismatch", {"spiffe_id": "spiffe://other.example.com/registry/another"}),
        ("did_namespace_mismatch", {"did_namespace": "third.example.com"}),
        ("did_namespace_invalid", {"did_namespace": "Not A Domain"}),
    ],
)
async def test_a_card_that_is_refused_is_counted_by_its_reason_and_the_last_good_one_stays(
    admin: PeerAdministrator, other: OtherRegistry, reason: str, changes: dict[str, str]
):
    before = await joined(admin, other)
    other.card_changes = changes
    for count in (1, 2):
        report = await admin.act("other", "sync")
        assert report == {"pulled": 0, "changed": 0, "hidden": 0, "refused": {reason: 1}}
        after = await admin.peer("other")
        assert after["refused"] == {reason: count}
    assert (after["status"], after["trouble"], after["card"]) == ("active", reason, before["card"])
    assert not all(verdict["ok"] for verdict in after["card_verdicts"])
    metrics = (await admin.registry.http.get("/metrics")).text
    assert f'hansa_peer_refusals_total{{reason="{reason}"}}' in metrics
    other.card_changes = {}
    assert (await admin.act("other", "sync"))["refused"] == {}
    assert (await admin.peer("other"))["trouble"] is None


async def test_the_card_is_fetched_conditionally_until_half_of_its_window_or_a_new_key(
    admin: PeerAdministrator, other: OtherRegistry
):
    await joined(admin, other)

    async def conditional() -> list[bool]:
        other.asked.clear()
        await admin.act("other", "sync")
        return ["If-None-Match" in headers for path, headers in other.asked if path == CARD]

    assert await conditional() == [True]
    other.rotate()
    assert await conditional() == [True, False]
    assert (await admin.peer("other"))["card"]["kid"].endswith("#2")
    assert await conditional() == [True]
    await admin.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE federation_peer SET card_signed_at = card_signed_at - interval '16 days',"
            " card_expires_at = card_expires_at - interval '16 days'"
        )
    )
    assert await conditional() == [False]


async def test_a_bundle_of_a_higher_sequence_is_taken_and_a_lower_or_reused_one_is_refused(
    admin: PeerAdministrator, other: OtherRegistry
):
    await joined(admin, other)
    first = other.bundle
    both = TrustBundle(other.trust_domain, (*first.roots, *other.new_bundle(1).roots), 7)
    other.bundle = both
    assert (await admin.act("other", "sync"))["refused"] == {}
    assert (await admin.peer("other"))["bundle"]["sequence"] == 7
    for bundle, reason in (
        (TrustBundle(other.trust_domain, first.roots, 6), "bundle_sequence_lower"),
        (TrustBundle(other.trust_domain, first.roots, 7), "bundle_sequence_reused"),
        (TrustBundle(other.trust_domain, (), 8), "bundle_unreadable"),
    ):
        other.bundle = bundle
        assert (await admin.act("other", "sync"))["refused"] == {reason: 1}
        kept = (await admin.peer("other"))["bundle"]
        assert (kept["sequence"], kept["sha256"]) == (7, both.thumbprint)
    strange = OtherRegistry("strange.example.com").bundle
    other.answers[BUNDLE] = (200, json.dumps({**strange.spiffe(), "spiffe_sequence": 9}))
    assert (await admin.act("other", "sync"))["refused"] == {"bundle_unreadable": 1}


async def test_a_bundle_is_refreshed_only_under_a_root_that_is_trusted_already(
    admin: PeerAdministrator, other: OtherRegistry
):
    peer = await joined(admin, other)
    other.bundle = other.new_bundle(9)
    other.served_by = other.bundle.pem
    refused = await admin.act("other", "sync", 503)
    assert refused["error"]["context"] == {"reason": "certificate_refused"}
    assert (await admin.peer("other"))["bundle"]["sha256"] == peer["bundle"]["sha256"]


async def test_a_paused_peer_is_not_read_and_a_resumed_one_is_active_at_once(
    admin: PeerAdministrator, other: OtherRegistry
):
    await joined(admin, other)
    for _ in range(2):
        paused = await admin.act("other", "pause")
        assert (paused["status"], paused["paused_at"] is None) == ("inactive", False)
    other.asked.clear()
    await time_passes(admin.registry.runtime, 1000)
    await run_due(admin.registry.runtime, READ_A_PEER)
    assert (await admin.act("other", "sync", 409))["error"]["code"] == "PEER_STATE"
    assert other.asked == []
    for _ in range(2):
        assert (await admin.act("other", "resume"))["status"] == "active"
    assert await events_of(admin) == ["RegistryFederated", "PeerRegistryDeactivated", "RegistryFederated"]


async def test_resume_approves_a_pending_peer_which_is_active_once_it_was_read(
    admin: PeerAdministrator, other: OtherRegistry
):
    other.has_added_us = False
    await add(admin, other)
    resumed = await admin.act(other.trust_domain, "resume")
    assert (resumed["approval"], resumed["status"]) == ("approved", "inactive")
    await run_due(admin.registry.runtime, READ_A_PEER)
    assert (await admin.peer("other"))["status"] == "active"


async def test_quarantine_lasts_until_it_is_released(admin: PeerAdministrator, other: OtherRegistry):
    await joined(admin, other)
    held = await admin.act("other", "quarantine", reason="It sends cards of others.")
    assert (held["status"], held["quarantine_reason"]) == ("active", "It sends cards of others.")
    await admin.act("other", "quarantine", 409, reason="Again.")
    found = await admin.registry.database.query(
        lambda tx: federation.peers_of_namespace(tx, other.trust_domain)
    )
    assert [peer.is_open for peer in found] == [False]
    assert (await admin.act("other", "release", reason="Solved."))["quarantined_at"] is None
    await admin.act("other", "release", 409, reason="Again.")
    assert await events_of(admin) == ["RegistryFederated", "RegistryQuarantined", "RegistryFederated"]


async def test_a_removed_peer_is_gone_and_its_job_with_it(admin: PeerAdministrator, other: OtherRegistry):
    await joined(admin, other)
    removed = await admin.registry.http.delete(f"/api/v1{PEERS}/other", headers=admin.headers)
    assert (removed.status_code, removed.json()) == (200, {"name": "other", "status": "removed"})
    await admin.peer("other", 404)
    assert await jobs_of(admin.registry.runtime, JOB) == []
    again = await admin.registry.http.delete(f"/api/v1{PEERS}/other", headers=admin.headers)
    assert again.status_code == 404
    assert (await joined(admin, other))["refused"] == {}


async def test_a_peer_with_which_something_is_under_way_stays_removing_until_it_is_settled_or_abandoned(
    admin: PeerAdministrator, other: OtherRegistry
):
    await joined(admin, other)
    is_settled = False

    async def settled(_: Any, __: Any) -> bool:
        return is_settled

    federation.PEER_SETTLED.put(admin.registry.runtime, settled)

    async def remove(**query: str) -> Any:
        answer = await admin.registry.http.delete(
            f"/api/v1{PEERS}/other", params=query, headers=admin.headers
        )
        assert answer.status_code == 200, answer.text
        return answer.json()["status"]

    assert await remove() == "removing"
    peer = await admin.peer("other")
    assert (peer["status"], peer["removing"]) == ("inactive", True)
    for act in ("pause", "resume"):
        assert (await admin.act("other", act, 409))["error"]["code"] == "PEER_REMOVING"
    assert (await admin.registry.get("/federation/peers")).json() == {"peers": [], "count": 0}
    assert await remove() == "removing"
    assert await events_of(admin) == ["RegistryFederated", "PeerRegistryDeactivated"]
    assert await remove(abandon="true") == "removed"
    await joined(admin, other)
    assert await remove() == "removing"
    is_settled = True
    await admin.registry.database.transaction(lambda tx: finish_removals(tx, admin.registry.runtime))
    await admin.peer("other", 404)


async def read_again(admin: PeerAdministrator, other: OtherRegistry) -> list[str]:
    """The peer is read at its interval; the paths that are read."""
    other.asked.clear()
    await time_passes(admin.registry.runtime, 1000)
    assert await run_due(admin.registry.runtime, READ_A_PEER) == 1
    (job,) = await jobs_of(admin.registry.runtime, JOB)
    now = await admin.registry.database.query(lambda tx: tx.fetchval("SELECT now()"))
    assert job["due_at"] - now > timedelta(seconds=200)
    return [path for path, _ in other.asked]


async def test_the_documents_of_a_peer_are_read_where_it_states_that_one_changed(
    admin: PeerAdministrator, other: OtherRegistry
):
    await joined(admin, other)
    other.states_documents = True
    before = (await admin.peer("other"))["card"]["fetched_at"]
    assert await read_again(admin, other) == [MARKS_AT]
    assert (await admin.peer("other"))["card"]["fetched_at"] > before
    whole = [MARKS_AT, CARD, KEYS, BUNDLE]
    other.settings = {"settlement_currency": "EUR"}
    assert await read_again(admin, other) == whole
    assert await read_again(admin, other) == [MARKS_AT]
    other.rotate()
    assert (await read_again(admin, other))[:4] == whole
    assert await read_again(admin, other) == [MARKS_AT]
    other.bundle = replace(other.bundle, sequence=2)
    assert await read_again(admin, other) == whole
    assert (await admin.peer("other"))["bundle"]["sequence"] == 2
    assert await read_again(admin, other) == [MARKS_AT]


@pytest.mark.parametrize(
    ("status", "body"), [(404, "{}"), (200, "no JSON"), (200, "[]"), (200, '{"kid": null}'), (500, "")]
)
async def test_a_peer_that_does_not_state_its_documents_is_read_in_whole(
    admin: PeerAdministrator, other: OtherRegistry, status: int, body: str
):
    await joined(admin, other)
    other.answers[MARKS_AT] = (status, body)
    assert await read_again(admin, other) == [MARKS_AT, CARD, KEYS, BUNDLE]
    assert (await admin.peer("other"))["trouble"] is None


async def test_a_peer_out_of_reach_delays_no_other_one(admin: PeerAdministrator):
    dead, alive = OtherRegistry("dead.example.com", "dead"), OtherRegistry("alive.example.com", "alive")
    let_reach(admin.registry.runtime, dead, alive)
    for one in (dead, alive):
        await joined(admin, one)
    dead.is_reachable = False
    read = (await admin.peer("alive"))["card"]["fetched_at"]
    await time_passes(admin.registry.runtime, 1000)
    await run_due(admin.registry.runtime, READ_A_PEER)
    assert (await admin.peer("alive"))["card"]["fetched_at"] > read
    troubled = await admin.peer("dead")
    assert (troubled["status"], troubled["trouble"]) == ("active", "unreachable")
    assert (await admin.act("dead", "sync", 503))["error"]["code"] == "PEER_UNREACHABLE"


async def test_a_sync_pulls_what_a_room_above_takes_in(admin: PeerAdministrator, other: OtherRegistry):
    async def pull(_: Any, peer: federation.PeerRecord) -> SyncOutcome:
        assert peer.name == "other"
        return SyncOutcome(5, 3, 1, Counter({"unreadable": 2}))

    await joined(admin, other)
    SYNC_PEER.put(admin.registry.runtime, pull)
    assert await admin.act("other", "sync") == {
        "pulled": 5,
        "changed": 3,
        "hidden": 1,
        "refused": {"unreadable": 2},
    }


async def test_a_peer_of_which_items_are_refused_is_read_at_the_interval_and_not_in_a_loop(
    admin: PeerAdministrator, other: OtherRegistry
):
    async def pull(_: Any, __: federation.PeerRecord) -> SyncOutcome:
        return SyncOutcome(refused=Counter({"unreadable": 1}))

    SYNC_PEER.put(admin.registry.runtime, pull)
    await joined(admin, other)
    other.card_changes = {"registry_name": "another"}
    await time_passes(admin.registry.runtime, 1000)
    assert await run_due(admin.registry.runtime, READ_A_PEER) == 1
    assert await run_due(admin.registry.runtime, READ_A_PEER) == 0
    (job,) = await jobs_of(admin.registry.runtime, JOB)
    now = await admin.registry.database.query(lambda tx: tx.fetchval("SELECT now()"))
    assert job["due_at"] - now > timedelta(seconds=200)


async def test_an_ambiguous_name_is_refused_and_the_ledger_id_addresses_the_peer(admin: PeerAdministrator):
    twins = [OtherRegistry(f"{name}.example.com", "twin") for name in ("one", "two")]
    let_reach(admin.registry.runtime, *twins)
    for one in twins:
        await add(admin, one)
    await run_due(admin.registry.runtime, READ_A_PEER)
    answer = await admin.registry.get(f"{PEERS}/twin", headers=admin.headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "PEER_AMBIGUOUS")
    assert (await admin.peer("two.example.com"))["registry_url"] == twins[1].public_url
    assert (await admin.act("two.example.com", "pause"))["status"] == "inactive"
    card = await admin.registry.get("/public/registry-card?peer=twin")
    assert card.status_code == 409
    shown = (await admin.registry.get("/public/topology")).json()
    assert [node["name"] for node in shown["nodes"]] == ["hansa", "one.example.com", "two.example.com"]


async def test_everyone_reads_the_roster_the_structure_and_the_verified_card_with_its_verdicts(
    admin: PeerAdministrator, other: OtherRegistry
):
    await add(admin, other)
    roster = (await admin.registry.get("/federation/peers")).json()
    assert roster == {"peers": [], "count": 0}
    await run_due(admin.registry.runtime, READ_A_PEER)
    roster = (await admin.registry.get("/federation/peers")).json()
    assert roster["count"] == 1
    assert set(roster["peers"][0]) == {
        *("name", "trust_domain", "registry_url", "peer_type", "status", "hop_distance"),
        *("settlement_currency", "last_synced_at"),
    }
    shown = (await admin.registry.get("/public/topology")).json()
    assert shown["self"] == "hansa"
    assert [(node["name"], node["tier"], node["status"]) for node in shown["nodes"]] == [
        ("hansa", "standalone", "active"),
        ("other", "standalone", "active"),
    ]
    (edge,) = shown["edges"]
    assert (edge["from"], edge["to"], edge["kind"], edge["status"]) == (
        *("hansa", "other"),
        *("direct_peer", "active"),
    )
    for query in ("peer=other", "registry=other", f"peer={other.trust_domain}"):
        card = (await admin.registry.get(f"/public/registry-card?{query}")).json()
        assert (card["source"], card["card"]) == ("peer", other.card())
        assert {verdict["ok"] for verdict in card["verdicts"]} == {True}
    assert (await admin.registry.get("/public/registry-card?peer=nobody")).status_code == 404


async def test_each_peer_is_read_again_after_the_interval(admin: PeerAdministrator, other: OtherRegistry):
    await joined(admin, other)
    (job,) = await jobs_of(admin.registry.runtime, JOB)
    now = await admin.registry.database.query(lambda tx: tx.fetchval("SELECT now()"))
    assert timedelta(seconds=265) < job["due_at"] - now < timedelta(seconds=335)


async def test_a_peer_whose_job_was_dropped_gets_a_new_one(admin: PeerAdministrator, other: OtherRegistry):
    await joined(admin, other)
    runtime = admin.registry.runtime
    await runtime.database.transaction(lambda tx: tx.execute("DELETE FROM plumbing_job WHERE kind = $1", JOB))
    await runtime.database.transaction(lambda tx: enqueue_missing(tx, runtime))
    assert len(await jobs_of(runtime, JOB)) == 1
