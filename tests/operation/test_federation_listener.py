"""The federation listener: mutual TLS beside the public listener, met by real clients with real certificates."""

import asyncio
import json
import ssl
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from cryptography import x509

from hansa.doors.http.connection.acceptor import ConnectionAcceptor, Placed
from hansa.doors.http.connection.per_address import AddressCounts
from hansa.doors.serving import federation_listener
from hansa.doors.serving.listeners import listen
from hansa.doors.serving.trusted_domains import TrustedDomains
from hansa.foundation.plumbing.keys.authority import IdentityAuthority, Svid
from hansa.foundation.plumbing.keys.key_files import Keyring
from hansa.foundation.plumbing.settings import read_settings
from hansa.rooms.federation.identity import local
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import Ended, RegistryProcess, free_port, run
from tests.operation.test_suspension_across_workers import log_in, onboard
from tests.quickest import assert_within
from tests.registry import PASSWORD

LOG = "/api/v1/events/"
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Served:
    """A registry of two processes with a federation listener."""

    registry: RegistryProcess
    url: str

    @property
    def authority(self) -> IdentityAuthority:
        return IdentityAuthority(Keyring(self.registry.data_dir), "hansa.local")

    async def enrol(self, name: str, out: Path, *more: str) -> Ended:
        return await run(
            "service", "enrol", f"--out={out}", *more, "--", name, data_dir=self.registry.data_dir
        )

    def connecting(self, directory: Path, name: str) -> httpx2.AsyncClient:
        """A client of the files that `hansa service enrol` wrote; it knows nothing of SPIFFE."""
        context = ssl.create_default_context(cafile=str(directory / "bundle.pem"))
        context.load_cert_chain(directory / f"{name}.pem", directory / f"{name}-key.pem")
        return httpx2.AsyncClient(base_url=self.url, verify=context, trust_env=False, timeout=60)

    def issued(self, directory: Path, spiffe_id: str, *, by: IdentityAuthority | None = None) -> str:
        """Write a certificate that the operator never gave out, and return its name."""
        now = datetime.now(UTC)
        write(directory, (by or self.authority).issue(spiffe_id, now=now, lifetime=HOUR), self.authority)
        return "other"


def write(directory: Path, svid: Svid, trusted: IdentityAuthority) -> None:
    (directory / "other.pem").write_text(svid.certificate_pem)
    (directory / "other-key.pem").write_text(svid.key_pem)
    (directory / "bundle.pem").write_text(trusted.bundle_pem)


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory, founded_data: Path) -> AsyncIterator[Served]:
    port = free_port()
    registry = RegistryProcess(
        tmp_path_factory.mktemp("federated") / "data",
        workers=2,
        founded=founded_data,
        FEDERATION_PORT=str(port),
        TRUSTED_PROXIES="127.0.0.1",
    )
    try:
        await registry.start()
        yield Served(registry, f"https://127.0.0.1:{port}")
        ended = await registry.stop()
        assert ended.code == 0, ended
    finally:
        await registry.kill()
        await end_postgres(registry.data_dir)


async def test_a_service_reads_the_log_by_the_certificate_that_the_operator_gave_it(
    served: Served, tmp_path: Path
):
    enrolled = await served.enrol("auditor", tmp_path)
    assert enrolled.code == 0, enrolled
    async with served.connecting(tmp_path, "auditor") as http:
        for _ in range(4):
            answer = await http.get(LOG, params={"limit": 1})
            assert answer.status_code == 200, answer.text
            assert answer.json()["items"][0]["sequence"] == 1
    async with httpx2.AsyncClient(base_url=served.registry.url, trust_env=False, timeout=60) as http:
        assert (await http.get(LOG)).status_code == 401


async def test_a_revoked_certificate_opens_nothing_from_the_next_request_on(served: Served, tmp_path: Path):
    for directory in ("first", "second"):
        assert (await served.enrol("leaked", tmp_path / directory)).code == 0
    async with (
        served.connecting(tmp_path / "first", "leaked") as first,
        served.connecting(tmp_path / "second", "leaked") as second,
    ):
        assert [(await http.get(LOG)).status_code for http in (first, second)] == [200, 200]
        revoked = await run(
            "service", "revoke", "leaked", "--reason=It leaked.", "--json", data_dir=served.registry.data_dir
        )
        assert json.loads(revoked.output) == {"name": "leaked", "revoked": 2}
        assert [(await http.get(LOG)).status_code for http in (first, second)] == [401, 401]
    listed = await run("service", "list", "--json", data_dir=served.registry.data_dir)
    returned = [one["status"] for one in json.loads(listed.output)["certificates"] if one["name"] == "leaked"]
    assert returned == ["revoked", "revoked"]


async def test_a_certificate_that_is_no_services_connects_and_reads_no_log(served: Served, tmp_path: Path):
    name = served.issued(tmp_path, "spiffe://hansa.local/agent/did-hansa-1")
    assert (await served.enrol("reader", tmp_path / "reader")).code == 0
    readers = quote((tmp_path / "reader" / "reader.pem").read_text(), safe="")
    async with served.connecting(tmp_path, name) as http:
        assert (await http.get("/health")).status_code == 200
        assert (await http.get(LOG)).status_code == 401
        # A connection that has a certificate forwards nobody else's.
        assert (await http.get(LOG, headers={"X-SSL-Client-Cert": readers})).status_code == 401


@pytest.mark.parametrize("showing", ["nothing", "another authority's certificate"])
async def test_without_a_certificate_of_this_trust_domain_there_is_no_connection(
    served: Served, tmp_path: Path, showing: str
):
    elsewhere = IdentityAuthority(Keyring(tmp_path), "hansa.local")
    name = served.issued(tmp_path, "spiffe://hansa.local/service/auditor", by=elsewhere)
    context = ssl.create_default_context(cafile=str(tmp_path / "bundle.pem"))
    if showing != "nothing":
        context.load_cert_chain(tmp_path / f"{name}.pem", tmp_path / f"{name}-key.pem")
    async with httpx2.AsyncClient(base_url=served.url, verify=context, trust_env=False, timeout=60) as http:
        with pytest.raises(httpx2.TransportError):
            await http.get("/health")


async def test_a_certificate_that_has_ended_does_not_connect(served: Served, tmp_path: Path):
    authority = served.authority
    ended = authority.issue(
        "spiffe://hansa.local/service/auditor", now=datetime.now(UTC) - 2 * HOUR, lifetime=HOUR
    )
    write(tmp_path, ended, authority)
    async with served.connecting(tmp_path, "other") as http:
        with pytest.raises(httpx2.TransportError):
            await http.get("/health")


@pytest.mark.parametrize(
    "sent", [b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"\x00" * 500, b"\x00"]
)
async def test_who_speaks_no_tls_is_cut_off_and_nobody_else_is(served: Served, tmp_path: Path, sent: bytes):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(served.url.rpartition(":")[2]))
    writer.write(sent)
    writer.write_eof()
    async with asyncio.timeout(60):
        with suppress(ConnectionError):
            assert b"HTTP" not in await reader.read()
    writer.close()
    name = served.issued(tmp_path, "spiffe://hansa.local/agent/did-hansa-1")
    async with served.connecting(tmp_path, name) as http:
        assert (await http.get("/health")).status_code == 200


async def test_nothing_older_than_tls_1_3_is_spoken(served: Served, tmp_path: Path):
    name = served.issued(tmp_path, "spiffe://hansa.local/agent/did-hansa-1")
    context = ssl.create_default_context(cafile=str(tmp_path / "bundle.pem"))
    context.load_cert_chain(tmp_path / f"{name}.pem", tmp_path / f"{name}-key.pem")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    async with httpx2.AsyncClient(base_url=served.url, verify=context, trust_env=False, timeout=60) as http:
        with pytest.raises(httpx2.ConnectError):
            await http.get("/health")


async def test_no_session_is_resumed_past_a_certificate(served: Served, tmp_path: Path):
    name = served.issued(tmp_path, "spiffe://hansa.local/agent/did-hansa-1")
    context = ssl.create_default_context(cafile=str(tmp_path / "bundle.pem"))
    context.load_cert_chain(tmp_path / f"{name}.pem", tmp_path / f"{name}-key.pem")
    port = int(served.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    # Tickets come after the handshake, with the first answer at the latest.
    writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert b" 200 " in await reader.read()
    assert not writer.get_extra_info("ssl_object").session.has_ticket
    writer.close()


async def test_the_listener_shows_the_registrys_own_identity(served: Served, tmp_path: Path):
    name = served.issued(tmp_path, "spiffe://hansa.local/agent/did-hansa-1")
    context = ssl.create_default_context(cafile=str(tmp_path / "bundle.pem"))
    context.load_cert_chain(tmp_path / f"{name}.pem", tmp_path / f"{name}-key.pem")
    shown = await presented_by(int(served.url.rpartition(":")[2]), context)
    names = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == [
        "spiffe://hansa.local/registry/hansa"
    ]
    assert shown.not_valid_after_utc - datetime.now(UTC) < timedelta(days=1)
    bundle = await run("bundle", data_dir=served.registry.data_dir)
    assert bundle.output == served.authority.bundle_pem


async def test_a_suspended_agents_certificate_opens_nothing_also_on_connections_that_are_open(
    served: Served, tmp_path: Path
):
    registry = served.registry
    named = ("--name", "Enforcer", "--email", "enforcer@example.org", "--areas", "admin_enforcement")
    admitted = await run("admin", "create", *named, data_dir=registry.data_dir, HANSA_ADMIN_PASSWORD=PASSWORD)
    assert admitted.code == 0, admitted
    async with (
        httpx2.AsyncClient(base_url=f"{registry.url}/api/v1", trust_env=False, timeout=60) as http,
        AsyncExitStack() as stack,
    ):
        did, agent = await onboard(http)
        enforcer = await log_in(http, "enforcer@example.org")
        svid = (await http.post("/agent/enable-mtls", json={}, headers=agent)).json()["svid"]
        for file, part in (
            ("other.pem", "svid_pem"),
            ("other-key.pem", "key_pem"),
            ("bundle.pem", "bundle_pem"),
        ):
            (tmp_path / file).write_text(svid[part])
        body = {"agent_dids": [did], "reason": "For a test."}

        async def suspended() -> Callable[[], Awaitable[None]]:
            """Suspend the agent; return the measured call, which waits until the idle connections are closed."""
            await http.post("/admin/agents/bulk/reinstate", json=body, headers=enforcer)
            idle = [await open_idle(served, tmp_path) for _ in range(4)]
            done = await http.post("/admin/agents/bulk/suspend", json=body, headers=enforcer)
            assert done.json()["results"][0]["mtls"] == "revoked"
            return lambda: closed(idle)

        await assert_within(0.5, suspended)
        await http.post("/admin/agents/bulk/reinstate", json=body, headers=enforcer)
        kept = await stack.enter_async_context(served.connecting(tmp_path, "other"))
        assert (await kept.get("/health")).status_code == 200
        await http.post("/admin/agents/bulk/suspend", json=body, headers=enforcer)
        assert await is_refused(kept)
        async with served.connecting(tmp_path, "other") as new:
            assert await is_refused(new)

        done = await http.post("/admin/agents/bulk/reinstate", json=body, headers=enforcer)
        assert done.status_code == 200
        async with served.connecting(tmp_path, "other") as new:
            assert (await new.get("/health")).status_code == 200


async def closed(idle: Sequence[tuple[asyncio.StreamReader, asyncio.StreamWriter]]) -> None:
    """Until the server has closed these connections."""
    async with asyncio.timeout(60):
        for reader, writer in idle:
            with suppress(ConnectionError):
                assert b"HTTP" not in await reader.read()
            writer.close()


async def is_refused(http: httpx2.AsyncClient) -> bool:
    """Return whether a request is answered with 401, or the connection is closed."""
    try:
        return (await http.get("/health")).status_code == 401
    except httpx2.TransportError:
        return True


async def open_idle(served: Served, directory: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that has been answered once and says nothing more."""
    context = ssl.create_default_context(cafile=str(directory / "bundle.pem"))
    context.load_cert_chain(directory / "other.pem", directory / "other-key.pem")
    port = int(served.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in head
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    return reader, writer


def files_in(directory: Path) -> set[str]:
    return {file.name for file in directory.iterdir()}


async def presented_by(port: int, context: ssl.SSLContext) -> x509.Certificate:
    """The certificate that a listener shows in a handshake."""
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    shown = x509.load_der_x509_certificate(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
    writer.close()
    return shown


@asynccontextmanager
async def listening(trusted: TrustedDomains) -> AsyncIterator[int]:
    """A listener that says nothing; yields its port."""
    listener = listen("127.0.0.1", 0)
    counts = AddressCounts(100, [])
    acceptor = ConnectionAcceptor(listener, Silent, trusted, counts)
    yield listener.getsockname()[1]
    acceptor.close()
    await acceptor.wait_closed()
    listener.close()


class Silent(Placed):
    """A connection that is closed once it is open."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        assert self.place is not None
        self.place.free()


async def test_the_identity_is_renewed_while_it_is_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(federation_listener, "RENEWAL_SECONDS", 0.5)
    monkeypatch.setattr(local, "CERTIFICATE_LIFETIME", timedelta(seconds=4))
    settings = read_settings(data_dir=tmp_path, federation_port=1, federation_base_url="https://127.0.0.1:1")
    authority = IdentityAuthority(Keyring(tmp_path), "hansa.local")
    write(
        tmp_path,
        authority.issue("spiffe://hansa.local/service/one", now=datetime.now(UTC), lifetime=HOUR),
        authority,
    )
    client = ssl.create_default_context(cafile=str(tmp_path / "bundle.pem"))
    client.load_cert_chain(tmp_path / "other.pem", tmp_path / "other-key.pem")
    trusted = TrustedDomains("hansa.local", local.IssuedIdentity(authority, settings), "127.0.0.1")
    async with (
        federation_listener.mutual_tls(trusted),
        listening(trusted) as port,
    ):
        first = await presented_by(port, client)
        assert (await presented_by(port, client)).serial_number == first.serial_number
        async with asyncio.timeout(60):
            renewed = first
            while renewed.serial_number == first.serial_number:
                await asyncio.sleep(0.1)
                renewed = await presented_by(port, client)
        assert renewed.not_valid_after_utc > first.not_valid_after_utc
    assert files_in(tmp_path) == {"keys", "other.pem", "other-key.pem", "bundle.pem"}


async def test_a_service_gets_its_key_in_a_file_for_its_owner_alone(served: Served, tmp_path: Path):
    out = tmp_path / "new" / "place"
    enrolled = await served.enrol("reader", out, "--days=7", "--json")
    assert enrolled.code == 0, enrolled
    returned = json.loads(enrolled.output)
    assert returned["spiffe_id"] == "spiffe://hansa.local/service/reader"
    lasts = datetime.fromisoformat(returned["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=6, hours=23) < lasts <= timedelta(days=7)
    assert files_in(out) == {"reader.pem", "reader-key.pem", "bundle.pem"}
    assert stat.S_IMODE((out / "reader-key.pem").stat().st_mode) == 0o600
    assert (out / "reader-key.pem").read_text() not in enrolled.output
    assert returned["certificate"] == str(out / "reader.pem")
    assert (out / "bundle.pem").read_text() == served.authority.bundle_pem


@pytest.mark.parametrize("name", ["Upper", "under_score", "-", "x" * 64, "a/b", "..", "a b", "é"])
async def test_a_name_that_cannot_stand_in_a_spiffe_id_is_refused(served: Served, tmp_path: Path, name: str):
    refused = await served.enrol(name, tmp_path)
    assert refused.code != 0
    assert refused.complaints == [
        "hansa: A service name must have 1 to 63 lower-case letters, digits and hyphens."
    ]
    assert files_in(tmp_path) == set()


async def test_enrolling_and_revoking_say_what_is_wrong(served: Served, tmp_path: Path):
    place = tmp_path / "file"
    place.write_text("")
    refused = await served.enrol("reader", place)
    assert (refused.code, refused.complaints) == (1, [f"hansa: {place} cannot be written: File exists"])
    data_dir = served.registry.data_dir
    unknown = await run("service", "revoke", "nobody", data_dir=data_dir)
    assert (unknown.code, unknown.complaints) == (
        1,
        ["hansa: No valid certificate of service 'nobody' exists."],
    )
    for command in (["bundle"], ["service", "enrol", "reader", f"--out={tmp_path}"]):
        none = await run(*command, data_dir=data_dir, AGENT_IDENTITY_ISSUER="none")
        assert none.code == 1
        assert "AGENT_IDENTITY_ISSUER" in none.complaint
