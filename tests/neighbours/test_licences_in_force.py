"""A licence that was suspended, reinstated or revoked counts so at once: at its issuer, at its holder and at their peers."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest

from hansa.foundation.plumbing.outgoing import Answer
from hansa.foundation.values.errors import Refused
from hansa.rooms import federation
from hansa.rooms.catalogue.peer_acts import HINTS
from hansa.rooms.federation import CertificateRequest, Delivered, Subject
from hansa.rooms.federation.descriptor import ROOM
from hansa.rooms.federation.licences.operator_caller import Operator
from hansa.rooms.federation.licences.operator_licence import operator_licence
from hansa.rooms.federation.mailbox import channel
from hansa.rooms.federation.notices import LICENCE_ROUND
from hansa.rooms.federation.peers import READ_A_PEER
from tests.neighbours.crossing_scene import across, refusal, settle
from tests.neighbours.licensed_network import Network, licensed_network
from tests.registry import DatabaseFarm
from tests.running_jobs import working

(JUDGE,) = [kind for kind in ROOM.jobs if kind.name == LICENCE_ROUND]
STATES = ("suspend", "suspended"), ("revoke", "revoked")


@pytest.fixture
async def network(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Network]:
    frame: dict[str, object] = {
        "is_central_registry": True,
        "sovereign_mainframes": "b.example",
        "licensing_mode": "automatic",
    }
    async with licensed_network(database_farm, tmp_path_factory.mktemp("in-force"), **frame) as network:
        for one in (network.pair.a, network.pair.b):
            await network.refresh(one)
        yield network


@asynccontextmanager
async def at_work(network: Network) -> AsyncIterator[None]:
    """The jobs that notify peers, read them and judge licences run at both registries."""
    a, b = (network.runtime(one) for one in (network.pair.a, network.pair.b))
    kinds = (HINTS, READ_A_PEER, JUDGE)
    async with working(a, *kinds), working(b, *kinds):
        yield


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def outcomes(network: Network) -> tuple[str, str]:
    """From a to b, and from b to a."""
    a, b = network.pair.a, network.pair.b
    return await network.outcome(a, b), await network.outcome(b, a)


@pytest.mark.parametrize(("act", "state"), STATES)
async def test_the_issuer_counts_its_own_act_from_its_commit_on(network: Network, act: str, state: str):
    assert await outcomes(network) == ("crosses", "crosses")
    await network.change(act)
    assert await network.outcome(network.pair.a, network.pair.b) == f"LICENCE_REQUIRED peer {state}"


@pytest.mark.parametrize(("act", "state"), STATES)
async def test_peers_are_notified_of_an_ended_licence_at_once(network: Network, act: str, state: str):
    async with at_work(network):
        await network.change(act)
        ended = (f"LICENCE_REQUIRED peer {state}", f"LICENCE_REQUIRED own {state}")

        async def is_ended() -> bool:
            return await outcomes(network) == ended

        await until(is_ended)


async def test_a_reinstated_licence_opens_both_directions_at_once(network: Network):
    async with at_work(network):
        for act, expected in (("suspend", False), ("reinstate", True)):
            await network.change(act)

            async def is_so(expected: bool = expected) -> bool:
                return [outcome == "crosses" for outcome in await outcomes(network)] == [expected] * 2

            await until(is_so)


async def test_a_licence_is_judged_a_last_time_before_commit_is_recorded(
    network: Network, monkeypatch: pytest.MonkeyPatch
):
    a, b = network.pair.a, network.pair.b
    payer, payee = await a.registry.agent(), await b.registry.agent()
    right = federation.call_peer

    async def suspended_meanwhile(*given: Any, **more: Any) -> Answer:
        answer = await right(*given, **more)
        monkeypatch.setattr(channel, "call_peer", right)
        await network.change("suspend")
        return answer

    monkeypatch.setattr(channel, "call_peer", suspended_meanwhile)
    assert await refusal(await across(payer, payee.did, "10")) == (403, "LICENCE_REQUIRED")
    await settle(a, b)
    assert (await payer.balance(), await payee.balance()) == ("100", "100")


@pytest.mark.parametrize(("act", "state"), STATES)
async def test_a_registry_states_its_ended_licence_so_and_issues_nothing_under_it(
    network: Network, act: str, state: str
):
    b = network.pair.b
    runtime = network.runtime(b)
    async with at_work(network):
        await network.change(act)

        async def is_stated() -> bool:
            card = (await b.registry.http.get("/.well-known/registry-card.json")).json()
            return bool(card["federation"]["licence"]["state"] == state)

        await until(is_stated)
    document = (await b.registry.http.get("/.well-known/federation-licence.json")).json()
    assert document["state"] == state
    mine = await runtime.database.transaction(
        lambda tx: operator_licence(
            tx, runtime.settings, runtime.seal, Operator("north", "spiffe://b.example/operator/north")
        )
    )
    assert (mine.operator, mine.issued_now) == (None, False)
    assert mine.network is not None
    assert (mine.network.own.state, f"as {state}" in (mine.network.reason or "")) == (state, True)
    request = CertificateRequest(
        Subject("b.example", "north"), "operator-free", None, None, states_term=False
    )
    with pytest.raises(Refused) as refused:
        await runtime.database.transaction(
            lambda tx: federation.issue_certificate(tx, None, runtime.settings, runtime.seal, request)
        )
    assert (refused.value.status, refused.value.code) == (409, "LICENCE_STATE")
    assert json.dumps(refused.value.context) == json.dumps({"state": state})


async def test_crossing_goes_on_after_a_frame_rotates_its_licence_signing_key_without_a_round(
    network: Network,
):
    """Once the certificate of the new key is installed, both sides know it by themselves."""
    a, b = network.runtime(network.pair.a), network.runtime(network.pair.b)
    async with at_work(network):
        new = await b.database.transaction(
            lambda tx: federation.rotate_licensing_key(tx, None, b.settings, b.seal, reason=None)
        )
        assert await outcomes(network) == ("crosses", "crosses")
        subject = Subject("b.example", "registry-b", network.pair.b.public_url)
        request = CertificateRequest(subject, "founding", new.public_key, None, states_term=False)
        issued = await a.database.transaction(
            lambda tx: federation.issue_certificate(tx, None, a.settings, a.seal, request)
        )
        genesis = await a.database.read(lambda tx: federation.held_licence(tx, a.settings))
        assert genesis is not None
        delivered = Delivered(issued.certificate, [genesis.network.certificate])
        await b.database.transaction(
            lambda tx: federation.join_network(tx, None, b.settings, b.seal, delivered)
        )

        async def is_known() -> bool:
            stated = (await network.pair.a.peer(network.pair.b)).signed["federation.licence.hash"]
            return bool(stated == issued.hash) and await outcomes(network) == ("crosses", "crosses")

        await until(is_known)


async def test_a_hint_has_licences_judged_where_it_states_a_newer_list_of_a_known_issuer(network: Network):
    b = network.runtime(network.pair.b)
    known = await b.database.query(lambda tx: federation.known_lists(tx, b.settings))
    at = known["a.example"]
    for stated, is_judged in (
        ({"a.example": at}, False),
        ({"a.example": at - 1}, False),
        ({"a.example": at + 3600}, False),
        ({"c.example": at + 1}, False),
        ({"a.example": at + 1}, True),
    ):
        await b.database.transaction(
            lambda tx: tx.execute("DELETE FROM plumbing_job WHERE kind = $1", LICENCE_ROUND)
        )
        answer = await network.pair.a.call(
            network.pair.b, "POST", "/api/v1/federation/hint", {"next": "unread", "licence_lists": stated}
        )
        assert answer.status == 200
        found = await b.database.query(
            lambda tx: tx.fetchval(
                "SELECT due_at < now() + interval '2 seconds' FROM plumbing_job WHERE kind = $1",
                LICENCE_ROUND,
            )
        )
        assert bool(found) is is_judged, stated


async def test_the_holder_of_a_licence_states_the_lists_that_it_knows_to_its_own_peers(network: Network):
    a, b = network.runtime(network.pair.a), network.runtime(network.pair.b)
    of_issuer = await a.database.query(lambda tx: federation.known_lists(tx, a.settings))
    of_holder = await b.database.query(lambda tx: federation.known_lists(tx, b.settings))
    assert of_holder == of_issuer
    await network.change("suspend")
    after = await a.database.query(lambda tx: federation.known_lists(tx, a.settings))
    assert after["a.example"] == of_issuer["a.example"] + 1


async def test_a_licence_is_looked_up_where_it_is_held_with_its_issuer_and_the_time_of_the_list(
    network: Network,
):
    a, b = network.pair.a.registry, network.pair.b.registry
    held = (await b.http.get("/.well-known/federation-licence.json")).json()
    path = f"/public/federation/licences/{held['hash']}"
    at_issuer, at_holder = [(await one.get(path)).json() for one in (a, b)]
    assert at_issuer["issuer"]["trust_domain"] == at_holder["issuer"]["trust_domain"] == "a.example"
    assert at_holder["certificate"] == at_issuer["certificate"] == held["certificate"]
    assert (at_issuer["state"], at_holder["state"]) == ("active", held["state"])
    (known,) = (await b.database.query(lambda tx: federation.known_lists(tx, b.settings))).values()
    assert datetime.fromisoformat(at_holder["as_of"]).timestamp() == known
    await network.change("suspend")
    await network.refresh(network.pair.b)
    assert (await b.get(path)).json()["state"] == "suspended"
