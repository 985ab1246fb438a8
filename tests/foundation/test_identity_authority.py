"""The embedded certificate authority: its certificates meet SPIFFE, and work in a real handshake."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from hansa.foundation.plumbing.keys.authority import IdentityAuthority, Svid
from hansa.foundation.plumbing.keys.key_files import BadKey, Keyring

SPIFFE_ID = "spiffe://hansa.local/agent/did-hansa-hansa.local-1"
LIFETIME = timedelta(minutes=30)


@pytest.fixture
def authority(tmp_path: Path) -> IdentityAuthority:
    return IdentityAuthority(Keyring(tmp_path), "hansa.local")


def issued(authority: IdentityAuthority, now: datetime | None = None) -> Svid:
    return authority.issue(SPIFFE_ID, now=now or datetime.now(UTC), lifetime=LIFETIME)


def leaf_of(svid: Svid) -> x509.Certificate:
    return x509.load_pem_x509_certificate(svid.certificate_pem.encode())


def verified(svid: Svid, bundle_pem: str) -> list[x509.GeneralName]:
    store = Store(x509.load_pem_x509_certificates(bundle_pem.encode()))
    found = PolicyBuilder().store(store).build_client_verifier().verify(leaf_of(svid), [])
    return found.subjects


def test_a_certificate_verifies_against_the_bundle_and_names_one_spiffe_id_alone(authority):
    svid = issued(authority)
    assert verified(svid, svid.bundle_pem) == [x509.UniformResourceIdentifier(SPIFFE_ID)]
    assert svid.bundle_pem == authority.bundle_pem


def test_the_key_belongs_to_the_certificate_and_is_new_each_time(authority):
    first, second = issued(authority), issued(authority)
    key = load_pem_private_key(first.key_pem.encode(), password=None)
    assert key.public_key() == leaf_of(first).public_key()
    assert first.key_pem != second.key_pem
    assert leaf_of(first).serial_number != leaf_of(second).serial_number
    assert first.key_pem not in repr(first)


def test_a_certificate_lasts_half_an_hour_and_tolerates_a_clock_that_lags(authority):
    now = datetime.now(UTC)
    svid = issued(authority, now)
    leaf = leaf_of(svid)
    assert leaf.not_valid_after_utc == svid.expires_at == now.replace(microsecond=0) + LIFETIME
    assert timedelta(seconds=59) < now - leaf.not_valid_before_utc < timedelta(seconds=62)


def test_a_certificate_that_has_ended_verifies_no_longer(authority):
    svid = issued(authority, datetime.now(UTC) - LIFETIME - timedelta(seconds=2))
    with pytest.raises(VerificationError):
        verified(svid, svid.bundle_pem)


def test_a_certificate_can_sign_no_other_and_serves_both_ends_of_a_connection(authority):
    extensions = leaf_of(issued(authority)).extensions
    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    usage = extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.digital_signature, usage.key_cert_sign, usage.crl_sign) == (True, False, False)
    assert set(extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == {
        ExtendedKeyUsageOID.CLIENT_AUTH,
        ExtendedKeyUsageOID.SERVER_AUTH,
    }


def test_another_authority_of_the_same_name_is_not_believed(authority, tmp_path):
    stranger = IdentityAuthority(Keyring(tmp_path / "elsewhere"), "hansa.local")
    with pytest.raises(VerificationError):
        verified(issued(stranger), authority.bundle_pem)


def test_the_authority_stays_the_same_and_its_key_is_its_owners_alone(authority, tmp_path):
    again = IdentityAuthority(Keyring(tmp_path), "hansa.local")
    assert again.bundle_pem == authority.bundle_pem
    assert verified(issued(again), authority.bundle_pem)
    assert (tmp_path / "keys" / "identity-authority.pem").stat().st_mode & 0o777 == 0o600


def test_an_authority_may_be_given_as_a_variable(authority, tmp_path, monkeypatch):
    monkeypatch.setenv(
        "HANSA_KEY_IDENTITY_AUTHORITY", (tmp_path / "keys" / "identity-authority.pem").read_text()
    )
    assert IdentityAuthority(Keyring(tmp_path / "empty"), "hansa.local").bundle_pem == authority.bundle_pem
    assert not (tmp_path / "empty").exists()


def _without_certificate(pem: str, other: str) -> str:
    return pem.partition("-----BEGIN CERTIFICATE")[0]


def _with_anothers_key(pem: str, other: str) -> str:
    return other.partition("-----BEGIN CERTIFICATE")[0] + pem[pem.index("-----BEGIN CERTIFICATE") :]


def _nothing(pem: str, other: str) -> str:
    return ""


@pytest.mark.parametrize("spoil", [_without_certificate, _with_anothers_key, _nothing])
def test_a_spoiled_authority_stops_the_start_with_one_line(authority, tmp_path, spoil):
    IdentityAuthority(Keyring(tmp_path / "elsewhere"), "hansa.local")
    file = tmp_path / "keys" / "identity-authority.pem"
    other = tmp_path / "elsewhere" / "keys" / "identity-authority.pem"
    file.write_text(spoil(file.read_text(), other.read_text()))
    with pytest.raises(BadKey) as refusal:
        IdentityAuthority(Keyring(tmp_path), "hansa.local")
    assert str(file) in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_authority_of_another_trust_domain_stops_the_start(authority, tmp_path):
    with pytest.raises(BadKey, match=r"other\.example"):
        IdentityAuthority(Keyring(tmp_path), "other.example")


# In a real handshake


async def test_two_agents_prove_themselves_to_each_other_in_a_handshake(authority, tmp_path):
    server, client = issued(authority), issued(authority)
    assert await handshake(tmp_path, server, client, authority.bundle_pem) == [("URI", SPIFFE_ID)]


async def test_a_client_of_another_authority_is_turned_away_in_the_handshake(authority, tmp_path):
    stranger = issued(IdentityAuthority(Keyring(tmp_path / "elsewhere"), "hansa.local"))
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await handshake(tmp_path, issued(authority), stranger, authority.bundle_pem)


async def handshake(directory: Path, server: Svid, client: Svid, bundle_pem: str) -> list[tuple[str, str]]:
    """Return the identity that the server sees when the client presents its certificate."""
    seen: list[tuple[str, str]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.extend(writer.get_extra_info("peercert")["subjectAltName"])
        writer.write(await reader.readexactly(5))
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(
        serve, "127.0.0.1", ssl=context(directory, ssl.PROTOCOL_TLS_SERVER, server, bundle_pem)
    )
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        trusting = context(directory, ssl.PROTOCOL_TLS_CLIENT, client, bundle_pem)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
        writer.write(b"hello")
        answer = await reader.read(5)
        writer.close()
    if answer != b"hello":
        raise ConnectionError
    return seen


def context(directory: Path, protocol: int, svid: Svid, bundle_pem: str) -> ssl.SSLContext:
    made = ssl.SSLContext(protocol)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_REQUIRED
    made.load_verify_locations(cadata=bundle_pem)
    file = directory / "svid.pem"
    file.write_text(svid.certificate_pem + svid.key_pem)
    made.load_cert_chain(file)
    return made
