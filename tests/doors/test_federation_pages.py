"""The pages of the federation: drawn and as a table, and each peer with every verdict."""

import re

import pytest

from hansa.doors.console.federation_pages import DRAWN_AT_MOST, drawing, freshness
from hansa.rooms import federation
from hansa.rooms.federation.peers import READ_A_PEER
from tests.doors.pages_read import ReadPage
from tests.other_registry import OtherRegistry, let_reach
from tests.peer_administrator import PEERS, PeerAdministrator, peer_administrator
from tests.registry import StartRegistry
from tests.running_jobs import run_due


@pytest.fixture
async def admin(start_registry: StartRegistry) -> PeerAdministrator:
    return await peer_administrator(await start_registry())


async def joined(admin: PeerAdministrator, *others: OtherRegistry) -> None:
    let_reach(admin.registry.runtime, *others)
    for one in others:
        await admin.post(PEERS, {"registry_url": one.public_url, "bundle": one.bundle.pem}, 201)
    await run_due(admin.registry.runtime, READ_A_PEER)
    for one in others:
        if one.is_reachable:
            await admin.act(one.trust_domain, "sync")


async def test_the_federation_is_drawn_and_listed_and_linked_from_the_front_page(admin: PeerAdministrator):
    await joined(admin, OtherRegistry(), OtherRegistry("third.example.com", "third"))
    front = (await admin.registry.http.get("/")).text
    assert 'href="/federation"' in front
    text = (await admin.registry.http.get("/federation")).text
    page = ReadPage(text)
    assert (page.elements.count("circle"), page.elements.count("line")) == (3, 2)
    assert page.inline == []
    for name, address in (("other", "other.example.com"), ("third", "third.example.com")):
        assert f'href="/federation/peers/{address}"' in text
        assert name in text
    assert text.count("Up to date") == 2
    shown = (await admin.registry.http.get("/federation.json")).json()
    listed = (await admin.registry.get("/public/topology")).json()
    assert shown["nodes"] == listed["nodes"]


async def test_a_registry_without_peers_says_so(admin: PeerAdministrator):
    assert "This registry has no peers." in (await admin.registry.http.get("/federation")).text


async def test_the_page_of_a_peer_has_every_verdict_and_what_was_refused(admin: PeerAdministrator):
    other = OtherRegistry()
    await joined(admin, other)
    other.card_changes = {"registry_name": "another"}
    await admin.act("other", "sync")
    address = "/federation/peers/other.example.com"
    text = (await admin.registry.http.get(address)).text
    assert "card_name_mismatch" in text
    assert "Refused" in text
    shown = (await admin.registry.http.get(f"{address}.json")).json()
    assert shown["refused"] == {"card_name_mismatch": 1}
    assert shown["verdicts"] == (await admin.peer("other"))["card_verdicts"]
    other.card_changes = {}
    await admin.act("other", "sync")
    text = (await admin.registry.http.get(address)).text
    for verdict in (await admin.peer("other"))["card_verdicts"]:
        assert f"<td>{verdict['step']}</td><td>Holds</td>" in text
    assert ReadPage(text).inline == []


async def test_a_pending_and_an_unknown_peer_have_no_page(admin: PeerAdministrator):
    other = OtherRegistry()
    other.is_reachable = False
    await joined(admin, other)
    for name in ("other.example.com", "nobody"):
        assert (await admin.registry.http.get(f"/federation/peers/{name}")).status_code == 404


async def test_what_a_peer_calls_itself_stays_text(admin: PeerAdministrator):
    other = OtherRegistry(name="<script>alert(1)</script>\u202e")
    await joined(admin, other)
    for address in ("/federation", "/federation/peers/other.example.com"):
        answer = await admin.registry.http.get(address)
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text
        assert "\u202e" not in answer.text


def test_a_connection_is_late_after_two_intervals_and_stale_an_hour_later():
    assert [freshness("active", lag, 300) for lag in (0, 600, 601, 4200, 4201, None)] == [
        *("fresh", "fresh", "late", "late", "stale", "stale"),
    ]
    assert {freshness(status, 0, 300) for status in ("inactive", "quarantined")} == {"closed"}


def node(name: str, hop_distance: int = 1) -> federation.NodeOut:
    return federation.NodeOut(
        name=name,
        trust_domain=name,
        ledger_id=None,
        tier=None,
        status="active",
        settlement_currency=None,
        hop_distance=hop_distance,
    )


def test_a_registry_that_is_known_by_a_peer_is_drawn_otherwise_and_connected_to_that_peer():
    edges = [
        {"start": start, "to": to, "kind": kind, "status": "active", "lag_seconds": 1}
        for start, to, kind in (("own", "peer", "direct_peer"), ("peer", "home", "discovered"))
    ]
    topology = federation.TopologyOut.model_validate(
        {
            "self": "own",
            "nodes": [node("own", 0), node("peer"), node("home", 2)],
            "edges": edges,
            "as_of": "2026-01-01T00:00:00Z",
        }
    )
    drawn = drawing(topology, 300)
    assert re.findall('class="node ([a-z]+)"', drawn) == ["own", "peer", "far"]
    places = re.findall(r'<circle [^>]*cx="(\d+)"', drawn)
    assert re.findall(r'x1="(\d+)"[^>]*x2="(\d+)"', drawn) == [(places[0], places[1]), (places[1], places[2])]


def test_of_a_large_federation_the_first_registries_are_drawn():
    names = [f"r{number}" for number in range(1000)]
    edges = [
        {"start": "r0", "to": name, "kind": "direct_peer", "status": "active", "lag_seconds": 1}
        for name in names[1:]
    ]
    topology = federation.TopologyOut.model_validate(
        {
            "self": "r0",
            "nodes": [node(name, int(name != "r0")) for name in names],
            "edges": edges,
            "as_of": "2026-01-01T00:00:00Z",
        }
    )
    drawn = drawing(topology, 300)
    assert (drawn.count("<circle"), drawn.count("<line")) == (DRAWN_AT_MOST, DRAWN_AT_MOST - 1)
