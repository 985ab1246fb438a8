"""Two registries over mutual TLS: the certificates that open a route for peers, and the acts that end their use."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from fastapi import APIRouter

from hansa.foundation.plumbing.keys.authority import IdentityAuthority, Svid
from hansa.foundation.plumbing.keys.key_files import Keyring
from hansa.foundation.plumbing.keys.trust_bundle import TrustBundle, bundle_of
from hansa.foundation.plumbing.outgoing import (
    AddressRefused,
    AnswerUnreadable,
    Call,
    CallLimits,
    CertificateRefused,
    CircuitOpen,
    HostUnreachable,
    MutualCalls,
    MutualEnd,
    OutgoingTrouble,
    show_certificate,
)
from hansa.foundation.plumbing.web.peer_caller import CurrentPeer
from hansa.rooms import federation
from hansa.rooms.federation import NewPeer, PeerAmbiguous, PeerUnknown, RootCollision
from tests.neighbours.two_registries import Neighbour, Neighbours, befriend, neighbours
from tests.registry import DatabaseFarm

HOUR = timedelta(hours=1)
ASKING = "/api/v1/who-asks"


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("pair")) as pair:
        for one in (pair.a, pair.b):
            one.registry.app.include_router(asking_router())
        yield pair


def asking_router() -> APIRouter:
    """A route for peers alone, beside those of the service."""
    router = APIRouter()

    @router.get(ASKING)
    async def who_asks(peer: CurrentPeer) -> dict[str, str | bool]:
        return {"name": peer.name, "ledger_id": peer.ledger_id, "is_open": peer.is_open}

    return router


def authority_of(one: Neighbour) -> IdentityAuthority:
    authority = one.registry.runtime.authority
    assert authority is not None
    return authority


def certified(one: Neighbour, path: str, **more: datetime) -> Svid:
    """A certificate of this registry's trust domain, made by its own authority."""
    now = more.get("now", datetime.now(UTC))
    return authority_of(one).issue(f"spiffe://{one.trust_domain}{path}", now=now, lifetime=HOUR)


def showing(svid: Svid, trusted: Neighbour) -> httpx2.AsyncClient:
    """A client of the other's federation listener that shows this certificate."""
    context = ssl.create_default_context(cadata=authority_of(trusted).bundle_pem)
    show_certificate(context, svid)
    return httpx2.AsyncClient(base_url=trusted.federation_url, verify=context, trust_env=False, timeout=60)


async def status_for(svid: Svid, asked: Neighbour) -> int | None:
    """Return the status of a route for peers with this certificate; None where there is no connection."""
    async with showing(svid, asked) as http:
        try:
            return (await http.get(ASKING)).status_code
        except httpx2.TransportError:
            return None


async def test_a_peer_is_known_by_the_certificate_of_its_registry_in_both_directions(pair: Neighbours):
    for one, other in ((pair.a, pair.b), (pair.b, pair.a)):
        answer = await one.call(other, "GET", ASKING)
        assert answer.status == 200, answer.body
        expected = {
            "name": one.registry.settings.registry_name,
            "ledger_id": one.trust_domain,
            "is_open": True,
        }
        assert httpx2.Response(200, content=answer.body).json() == expected


async def test_a_route_for_peers_answers_401_on_the_public_listener(pair: Neighbours):
    async with httpx2.AsyncClient(base_url=pair.b.public_url, trust_env=False, timeout=60) as http:
        answer = await http.get(ASKING)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "CLIENT_CERTIFICATE_REQUIRED")


async def test_a_certificate_that_a_named_proxy_forwards_counts_as_one_of_a_connection(pair: Neighbours):
    headers = pair.b.registry.forwarding(certified(pair.a, "/registry/registry-a"))
    assert (await pair.b.registry.http.get(ASKING, headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "path", ["/agent/did-hansa-1", "/operator/registry-a", "/registry/other", "/registry/registry-a/more"]
)
async def test_another_identity_of_a_peers_trust_domain_is_refused_with_403_and_counted(
    pair: Neighbours, path: str
):
    before = (await pair.b.refused(pair.a)).get("wrong_identity", 0)
    assert await status_for(certified(pair.a, path), pair.b) == 403
    assert (await pair.b.refused(pair.a))["wrong_identity"] == before + 1


async def test_an_identity_of_ones_own_trust_domain_is_no_peer(pair: Neighbours):
    assert await status_for(certified(pair.b, "/registry/registry-b"), pair.b) == 403
    assert await status_for(certified(pair.b, "/agent/did-hansa-1"), pair.b) == 403


async def test_a_leaf_is_judged_by_the_bundle_of_the_trust_domain_that_it_names(pair: Neighbours):
    """A peer's authority signs an identity of the other registry itself, and of a third trust domain."""
    authority = authority_of(pair.a)
    for trust_domain in (pair.b.trust_domain, "third.example"):
        foreign = foreign_identity(authority, f"spiffe://{trust_domain}/registry/registry-b")
        assert await status_for(foreign, pair.b) is None
        headers = pair.b.registry.forwarding(foreign)
        assert (await pair.b.registry.http.get(ASKING, headers=headers)).status_code == 403


def foreign_identity(authority: IdentityAuthority, spiffe_id: str) -> Svid:
    """A certificate for an identity outside of the authority's trust domain."""
    kept, authority._trust_domain = authority._trust_domain, spiffe_id.split("/")[2]
    try:
        return authority.issue(spiffe_id, now=datetime.now(UTC), lifetime=HOUR)
    finally:
        authority._trust_domain = kept


async def test_a_leaf_past_its_end_and_one_of_another_authority_open_nothing(
    pair: Neighbours, tmp_path: Path
):
    ended = certified(pair.a, "/registry/registry-a", now=datetime.now(UTC) - 2 * HOUR)
    stranger = IdentityAuthority(Keyring(tmp_path), pair.a.trust_domain)
    forged = stranger.issue(
        f"spiffe://{pair.a.trust_domain}/registry/registry-a", now=datetime.now(UTC), lifetime=HOUR
    )
    for svid in (ended, forged):
        assert await status_for(svid, pair.b) is None
        answer = await pair.b.registry.http.get(ASKING, headers=pair.b.registry.forwarding(svid))
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "NOT_A_PEER")


async def test_a_host_that_shows_another_identity_than_the_peers_is_not_spoken_to(pair: Neighbours):
    runtime, peer = pair.a.registry.runtime, await pair.a.peer(pair.b)
    own = certified(pair.a, "/registry/registry-a")
    calls = MutualCalls(runtime.settings.outgoing_allow_hosts)
    other_identity = f"spiffe://{pair.b.trust_domain}/registry/other"
    for end in (
        MutualEnd(pair.b.federation_url, other_identity, peer.bundle.pem),
        MutualEnd(pair.b.federation_url, peer.spiffe_id or "", authority_of(pair.a).bundle_pem),
    ):
        with pytest.raises(CertificateRefused):
            await calls.send(1, end, own, Call("GET", "/health"), CallLimits())
    await calls.close()


async def test_only_allowed_addresses_are_called_and_only_over_tls(pair: Neighbours):
    own, pem = certified(pair.a, "/registry/registry-a"), authority_of(pair.b).bundle_pem
    calls = MutualCalls()
    for url in (pair.b.federation_url, pair.b.public_url, "https://10.0.0.1", "https://localhost", "ftp://x"):
        with pytest.raises(AddressRefused):
            await calls.send(1, MutualEnd(url, "spiffe://b", pem), own, Call("GET", "/health"), CallLimits())


async def test_after_failures_in_a_row_a_peer_is_not_called_for_a_while_and_others_are(pair: Neighbours):
    own, pem = certified(pair.a, "/registry/registry-a"), authority_of(pair.b).bundle_pem
    peer = await pair.a.peer(pair.b)
    calls = MutualCalls(["127.0.0.1:1", *pair.a.registry.settings.outgoing_allow_hosts])
    dead = MutualEnd("https://127.0.0.1:1", peer.spiffe_id or "", pem)
    raised: list[type[OutgoingTrouble]] = []
    for _ in range(7):
        with pytest.raises(OutgoingTrouble) as error:
            await calls.send(1, dead, own, Call("GET", "/health"), CallLimits())
        raised.append(error.type)
    assert raised == [HostUnreachable] * 5 + [CircuitOpen] * 2
    end = peer.end
    assert end is not None
    answer = await calls.send(2, end, own, Call("GET", "/livez"), CallLimits())
    assert answer.status == 200
    await calls.close()


async def test_many_calls_to_a_peer_share_a_few_connections(pair: Neighbours):
    answers = await asyncio.gather(*(pair.a.call(pair.b, "GET", "/livez") for _ in range(40)))
    assert {answer.status for answer in answers} == {200}


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_where_a_kept_connection_ends_a_reading_is_sent_again_and_nothing_else_is(
    pair: Neighbours, method: str
):
    requests: list[str] = []

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            for _ in range(2):
                requests.append((await reader.readuntil(b"\r\n\r\n")).decode().split()[0])
                if len(requests) != 2:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    host = certified(pair.b, "/registry/registry-b")
    show_certificate(context, host)
    server = await asyncio.start_server(answer_once, "127.0.0.1", 0, ssl=context)
    address = "127.0.0.1:{1}".format(*server.sockets[0].getsockname())
    calls = MutualCalls([address])
    end = MutualEnd(f"https://{address}", host.spiffe_id, authority_of(pair.b).bundle_pem)
    own = certified(pair.a, "/registry/registry-a")

    async def send(method: str) -> int:
        return (await calls.send(1, end, own, Call(method, "/"), CallLimits())).status

    assert await send("GET") == 200
    if method == "GET":
        assert await send("GET") == 200
    else:
        with pytest.raises(AnswerUnreadable):
            await send("POST")
    assert requests == (["GET", "GET", "GET"] if method == "GET" else ["GET", "POST"])
    await calls.close()
    server.close()


async def test_an_answer_that_is_too_large_is_not_taken_in(pair: Neighbours):
    peer = await pair.a.peer(pair.b)
    with pytest.raises(OutgoingTrouble) as error:
        await federation.call_peer(
            pair.a.registry.runtime,
            peer,
            "GET",
            "/.well-known/registry-card.json",
            limits=CallLimits(body_bytes=100),
        )
    assert error.value.reason == "answer_too_large"


async def test_a_removed_root_ends_the_connections_that_it_proved(
    database_farm: DatabaseFarm, tmp_path: Path
):
    async with neighbours(database_farm, tmp_path) as pair:
        pair.b.registry.app.include_router(asking_router())
        async with showing(certified(pair.a, "/registry/registry-a"), pair.b) as http:
            assert (await http.get(ASKING)).status_code == 200
            await pair.b.registry.database.transaction(
                lambda tx: tx.execute("UPDATE federation_peer SET status = 'inactive', removing = true")
            )
            assert await until_refused(http)
            assert await status_for(certified(pair.a, "/registry/registry-a"), pair.b) is None


async def until_refused(http: httpx2.AsyncClient) -> bool:
    """Wait for the end of the connection; every answer before it is a refusal."""
    async with asyncio.timeout(60):
        while True:
            try:
                assert (await http.get(ASKING)).status_code == 403
            except httpx2.TransportError:
                return True


async def test_a_root_with_the_subject_and_key_identifier_of_anothers_is_refused(pair: Neighbours):
    others = bundle_of(pair.b.trust_domain, authority_of(pair.b).bundle_pem, 1)
    colliding = TrustBundle("c.example", others.roots, 1)
    with pytest.raises(RootCollision):
        await pair.a.registry.database.transaction(
            lambda tx: federation.add_peer(tx, NewPeer("https://c.example", colliding, "pending"))
        )


async def test_a_name_means_one_peer_and_an_ambiguous_one_none(database_farm: DatabaseFarm, tmp_path: Path):
    async with neighbours(database_farm, tmp_path, joined=False, b={"registry_name": "registry-a"}) as pair:
        await befriend(pair.a, pair.b)
        look = pair.a.registry.database.query
        with pytest.raises(PeerUnknown):
            await look(lambda tx: federation.peer_by_name(tx, "nobody"))
        by_name = await look(lambda tx: federation.peer_by_name(tx, "registry-a"))
        assert (await pair.a.peer(pair.b)).id == by_name.id
        third = IdentityAuthority(Keyring(tmp_path / "third"), "c.example")
        new = NewPeer(
            "https://c.example",
            bundle_of("c.example", third.bundle_pem, 1),
            "pending",
            registry_name="registry-a",
        )
        await pair.a.registry.database.transaction(lambda tx: federation.add_peer(tx, new))
        with pytest.raises(PeerAmbiguous) as error:
            await look(lambda tx: federation.peer_by_name(tx, "registry-a"))
        assert error.value.context == {"ledger_ids": ["b.example", "c.example"]}
        found = await look(lambda tx: federation.peers_of_namespace(tx, "b.example"))
        assert [peer.id for peer in found] == [by_name.id]
