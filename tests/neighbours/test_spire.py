"""Specification 4 G, "SPIRE's Workload API is used where set": a SPIRE agent certifies a registry, whose peer has its own authority."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from hansa.foundation.plumbing.outgoing import workload_api
from hansa.foundation.plumbing.outgoing.workload_api import (
    HEALTH_NAME,
    IdentityUnusable,
    SentSvid,
    read_message,
    usable,
)
from hansa.rooms.federation import LOCAL_IDENTITY, IdentityMissing, local_bundle
from hansa.rooms.federation.peers.refreshing import refresh_peer
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm
from tests.spire import Leaf, SpireAgent, SpireAuthority

DOMAIN = "a.example"
OWN = f"spiffe://{DOMAIN}/registry/registry-a"
# An agent mostly certifies more than one workload of an account.
OTHER = f"spiffe://{DOMAIN}/registry/registry"
CARD = "/.well-known/registry-card.json"
COME_TO_PASS_SECONDS = 30


@pytest.fixture(scope="module", autouse=True)
def _short_pauses() -> None:
    workload_api.FIRST_PAUSE_SECONDS = 0.05
    workload_api.LONGEST_PAUSE_SECONDS = 0.2


@pytest.fixture(scope="module")
async def spire(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SpireAgent]:
    async with SpireAgent(tmp_path_factory.mktemp("spire") / "api.sock", DOMAIN, [OTHER, OWN]) as agent:
        yield agent


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory, spire: SpireAgent
) -> AsyncIterator[Neighbours]:
    by_spire = {"agent_identity_issuer": "spire", "spiffe_endpoint_socket": f"unix://{spire.socket}"}
    async with neighbours(database_farm, tmp_path_factory.mktemp("pair"), a=by_spire) as both:
        yield both
        await received(both).close()


@pytest.fixture(autouse=True)
async def _as_it_was(spire: SpireAgent, pair: Neighbours) -> AsyncIterator[None]:
    """Each test begins with an agent in reach and a certificate that was received."""
    yield
    spire.entries, spire.lifetime = [OTHER, OWN], timedelta(hours=1)
    spire.raw = spire.messages_per_stream = None
    spire.renew()
    await spire.stop()
    await spire.start()
    await until(lambda: is_shown(pair, spire.shown(OWN)))
    await followed(pair.a)


def received(pair: Neighbours) -> workload_api.WorkloadIdentity:
    return LOCAL_IDENTITY.of(pair.a.registry.runtime).received  # type: ignore[attr-defined,no-any-return]


def is_shown(pair: Neighbours, certificate: x509.Certificate) -> bool:
    svid = received(pair)._in_force()
    return svid is not None and x509.load_pem_x509_certificate(svid.certificate_pem.encode()) == certificate


def failing(pair: Neighbours) -> str | None:
    jobs = {job.name: job.error for job in pair.a.registry.runtime.jobs.failing()}
    return jobs.get(HEALTH_NAME)


async def followed(one: Neighbour) -> None:
    await one.trust_followed()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(COME_TO_PASS_SECONDS):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def sent(spire: SpireAgent, pair: Neighbours) -> None:
    """New certificates are sent and taken."""
    spire.renew()
    await spire.send()
    await until(lambda: is_shown(pair, spire.shown(OWN)))
    await followed(pair.a)


def showing(directory: Path, leaf: Leaf, *roots: SpireAuthority) -> ssl.SSLContext:
    file = directory / "leaf.pem"
    file.write_text(leaf.key_pem + leaf.pem)
    context = ssl.create_default_context(cadata="".join(root.pem for root in roots))
    context.check_hostname = False
    context.load_cert_chain(file)
    return context


async def certificate_shown(one: Neighbour, context: ssl.SSLContext) -> x509.Certificate:
    port = int(one.federation_url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    shown = x509.load_der_x509_certificate(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
    writer.close()
    del reader
    return shown


async def answered_at(port: int, context: ssl.SSLContext) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")


async def test_the_listener_and_the_client_show_what_the_agent_certified(
    pair: Neighbours, spire: SpireAgent, tmp_path: Path
):
    context = showing(tmp_path, spire.authorities[0].leaf(f"spiffe://{DOMAIN}/agent/x"), spire.authorities[0])
    assert await certificate_shown(pair.a, context) == spire.shown(OWN)
    assert (await pair.a.call(pair.b, "GET", CARD)).status == 200
    assert (await pair.b.call(pair.a, "GET", CARD)).status == 200
    bundle = await local_bundle(pair.a.registry.runtime)
    assert [*bundle.roots] == [spire.authorities[0].certificate]


async def test_of_several_identities_that_of_the_registry_counts_as_it_is_written(
    pair: Neighbours, spire: SpireAgent
):
    assert (await LOCAL_IDENTITY.of(pair.a.registry.runtime).svid()).spiffe_id == OWN
    capital = OWN.replace("registry-a", "Registry-A")
    spire.entries = [OTHER, capital]
    spire.renew()
    await spire.send()
    await until(lambda: failing(pair) == "IdentityUnusable")
    assert (await LOCAL_IDENTITY.of(pair.a.registry.runtime).svid()).spiffe_id == OWN


async def test_a_new_certificate_is_shown_without_a_restart(
    pair: Neighbours, spire: SpireAgent, tmp_path: Path
):
    context = showing(tmp_path, spire.authorities[0].leaf(f"spiffe://{DOMAIN}/agent/x"), spire.authorities[0])
    before = await certificate_shown(pair.a, context)
    await sent(spire, pair)
    after = await certificate_shown(pair.a, context)
    assert before != after == spire.shown(OWN)
    assert (await pair.a.call(pair.b, "GET", CARD)).status == 200


async def test_a_new_root_signs_after_it_was_published_beside_the_former_one(
    pair: Neighbours, spire: SpireAgent
):
    sequence = (await local_bundle(pair.a.registry.runtime)).sequence
    former, new = spire.authorities[0], SpireAuthority(DOMAIN)
    spire.authorities = [former, new]
    await sent(spire, pair)
    assert (await local_bundle(pair.a.registry.runtime)).sequence == sequence + 1
    await refresh_peer(pair.b.registry.runtime, (await pair.b.peer(pair.a)).id)
    await pair.b.trust_followed()
    spire.authorities = [new, former]
    await sent(spire, pair)
    assert (await pair.a.call(pair.b, "GET", CARD)).status == 200
    assert (await pair.b.call(pair.a, "GET", CARD)).status == 200


async def test_a_root_that_is_removed_ends_the_connections_of_what_it_certified(
    pair: Neighbours, spire: SpireAgent, tmp_path: Path
):
    kept, removed = spire.authorities[0], SpireAuthority(DOMAIN)
    spire.authorities = [kept, removed]
    await sent(spire, pair)
    spiffe_id = f"spiffe://{DOMAIN}/agent/x"
    port = int(pair.a.federation_url.rpartition(":")[2])
    contexts = [showing(tmp_path, root.leaf(spiffe_id), kept) for root in (kept, removed)]
    (stays, staying), (ends, ending) = [
        await asyncio.open_connection("127.0.0.1", port, ssl=context) for context in contexts
    ]
    for reader, writer in ((stays, staying), (ends, ending)):
        writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    spire.authorities = [kept]
    await sent(spire, pair)
    async with asyncio.timeout(COME_TO_PASS_SECONDS):
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await ends.readuntil(b"never")
    staying.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b" 200 " in await stays.readuntil(b" 200 ")
    with pytest.raises((ConnectionError, ssl.SSLError, asyncio.IncompleteReadError)):
        await answered_at(port, contexts[1])
    staying.close()
    ending.close()


async def test_what_was_received_last_counts_while_the_agent_is_out_of_reach(
    pair: Neighbours, spire: SpireAgent
):
    await spire.stop()
    await until(lambda: failing(pair) == "AgentUnreachable")
    ready = await pair.a.registry.http.get("/readyz")
    assert ready.status_code == 200
    assert [(job["name"], job["error"]) for job in ready.json()["failing_jobs"]] == [
        (HEALTH_NAME, "AgentUnreachable")
    ]
    assert (await pair.a.call(pair.b, "GET", CARD)).status == 200
    assert (await pair.b.call(pair.a, "GET", CARD)).status == 200
    spire.renew()
    await spire.start()
    await until(lambda: is_shown(pair, spire.shown(OWN)))
    assert failing(pair) is None


async def test_a_certificate_past_its_end_is_shown_no_more(
    pair: Neighbours, spire: SpireAgent, tmp_path: Path
):
    spire.lifetime = timedelta(seconds=2)
    await sent(spire, pair)
    await spire.stop()
    end = spire.shown(OWN).not_valid_after_utc
    await until(lambda: datetime.now(UTC) > end)
    await followed(pair.a)
    with pytest.raises(IdentityMissing):
        await LOCAL_IDENTITY.of(pair.a.registry.runtime).svid()
    context = showing(tmp_path, spire.authorities[0].leaf(f"spiffe://{DOMAIN}/agent/x"), spire.authorities[0])
    with pytest.raises((ConnectionError, ssl.SSLError)):
        await certificate_shown(pair.a, context)
    spire.lifetime = timedelta(hours=1)


async def test_streams_that_end_without_end_are_opened_again_with_pauses(pair: Neighbours, spire: SpireAgent):
    await spire.stop()
    spire.messages_per_stream = 1
    await spire.start()
    begun = spire.streams_begun
    revision = received(pair).revision
    await until(lambda: spire.streams_begun >= begun + 5)
    assert received(pair).revision == revision, "the same certificate is no new one"
    spire.renew()
    await until(lambda: is_shown(pair, spire.shown(OWN)))


@pytest.mark.parametrize(
    "raw", [b"", b"\x0a\x02\x0a\x00", b"\xff\xff", b"\x0a\x04\x12\x02\x30\x82"], ids=repr
)
async def test_what_cannot_be_used_replaces_nothing(pair: Neighbours, spire: SpireAgent, raw: bytes):
    before = spire.shown(OWN)
    spire.raw = raw
    await spire.send()
    await until(lambda: failing(pair))
    assert is_shown(pair, before)
    assert (await pair.a.call(pair.b, "GET", CARD)).status == 200


async def test_an_agent_of_the_registry_enrols_and_receives_its_certificate_from_spire(
    pair: Neighbours, spire: SpireAgent, tmp_path: Path
):
    registry = pair.a.registry
    agent = await registry.agent()
    enrolled = await registry.post("/agent/enable-mtls", json={}, headers=agent.headers)
    spiffe_id = f"spiffe://{DOMAIN}/agent/{agent.did.replace(':', '-')}"
    assert enrolled.status_code == 200, enrolled.text
    assert enrolled.json() == {
        "delivery": "workload_api",
        "status": "enrolled",
        "spiffe_id": spiffe_id,
        "svid": None,
    }
    status = (await registry.get("/agent/mtls-status", headers=agent.headers)).json()
    assert (status["status"], status["issuer"], status["certificate_expires_at"]) == (
        "enrolled",
        "spire",
        None,
    )
    root = spire.authorities[0]
    context = showing(tmp_path, root.leaf(spiffe_id), root)
    async with httpx2.AsyncClient(base_url=pair.a.federation_url, verify=context, trust_env=False) as http:
        assert (await http.get("/livez")).status_code == 200
        await registry.post("/agent/disable-mtls", headers=agent.headers)
        assert (await http.get("/livez")).status_code == 401
    listed = (await registry.get("/agent/revoked-identities")).json()["revoked"]
    assert [one["spiffe_id"] for one in listed] == [spiffe_id]


async def test_a_service_that_spire_certifies_reads_no_internal_route(
    pair: Neighbours, spire: SpireAgent, tmp_path: Path
):
    root = spire.authorities[0]
    context = showing(tmp_path, root.leaf(f"spiffe://{DOMAIN}/service/auditor"), root)
    async with httpx2.AsyncClient(base_url=pair.a.federation_url, verify=context, trust_env=False) as http:
        assert (await http.get("/api/v1/events/")).status_code == 401


@given(st.binary(max_size=100))
def test_no_message_of_an_agent_does_more_than_be_refused(message: bytes):
    with pytest.raises(IdentityUnusable):
        usable(read_message(message), OWN, DOMAIN)


@given(st.binary(max_size=200), st.binary(max_size=60), st.binary(max_size=60))
def test_no_bytes_of_an_agent_do_more_than_be_refused(certificates: bytes, key: bytes, roots: bytes):
    with pytest.raises(IdentityUnusable):
        usable([SentSvid(OWN, certificates, key, roots)], OWN, DOMAIN)


def test_a_certificate_counts_with_its_own_key_and_a_root_of_its_trust_domain_alone():
    root, other = SpireAuthority(DOMAIN), SpireAuthority(DOMAIN)
    leaf, elsewhere = root.leaf(OWN), SpireAuthority("b.example")
    der = leaf.certificate.public_bytes(Encoding.DER)
    assert usable([SentSvid(OWN, der, leaf.key_der, root.der)], OWN, DOMAIN).spiffe_id == OWN
    for key, roots in (
        (root.leaf(OWN).key_der, root.der),
        (leaf.key_der, other.der),
        (leaf.key_der, elsewhere.der),
        (leaf.key_der, b""),
        (leaf.key_der, der),
    ):
        with pytest.raises(IdentityUnusable):
            usable([SentSvid(OWN, der, key, roots)], OWN, DOMAIN)
    expired = root.leaf(OWN, -timedelta(seconds=5))
    der = expired.certificate.public_bytes(Encoding.DER)
    with pytest.raises(IdentityUnusable):
        usable([SentSvid(OWN, der, expired.key_der, root.der)], OWN, DOMAIN)
