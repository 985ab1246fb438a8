"""The embedded certificate authority: workload identities (X.509-SVIDs) for one trust domain.

- Its key and its certificate are one file, DIR/keys/identity-authority.pem, made on the first start. Other roots may follow in it,
  which are published beside its own: the next one or the former one, while the authority is rotated. A process that runs follows it.
- A certificate carries exactly one URI, its SPIFFE id, and may sign no others.
- The private key of a certificate is made here, handed over once and never kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from hansa.foundation.plumbing.keys.key_files import BadKey, Keyring

KEY_NAME = "identity-authority"
AUTHORITY_YEARS = 10
# What a relying service's clock may lag behind ours.
CLOCK_LAG = timedelta(minutes=1)


@dataclass(frozen=True)
class Svid:
    """A certificate with its key, and the certificates to trust, all in PEM."""

    spiffe_id: str
    certificate_pem: str
    key_pem: str = field(repr=False)
    bundle_pem: str
    expires_at: datetime


class NotRecognised(Exception):
    """The certificate is not one of this authority's, or it is not in force."""


@dataclass(frozen=True)
class AuthorityFile:
    """The key and the certificate of the authority, and the roots that are published beside it."""

    key: ec.EllipticCurvePrivateKey = field(repr=False)
    certificate: x509.Certificate
    others: tuple[x509.Certificate, ...] = ()

    @classmethod
    def read(cls, place: str, pem: bytes, trust_domain: str) -> "AuthorityFile":
        """The content of the file in that place. Raises: BadKey."""
        try:
            key = load_pem_private_key(pem, password=None)
            certificate, *others = x509.load_pem_x509_certificates(pem)
        except (ValueError, TypeError):
            raise BadKey(f"{place} is refused; allowed is a P-256 key and its certificate, in PEM") from None
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            raise BadKey(f"{place} is refused; its certificate does not belong to its key")
        if any(_uris(root) != [f"spiffe://{trust_domain}"] for root in (certificate, *others)):
            raise BadKey(f"{place} is refused; it is of another trust domain than {trust_domain}")
        return cls(key, certificate, tuple(others))

    @property
    def roots(self) -> tuple[x509.Certificate, ...]:
        """Every root that is published, the signing one first."""
        return (self.certificate, *self.others)

    @property
    def bundle_pem(self) -> str:
        """The roots in PEM."""
        return "".join(root.public_bytes(Encoding.PEM).decode() for root in self.roots)

    @property
    def pem(self) -> bytes:
        """The content of the file."""
        return f"{key_pem(self.key)}{self.bundle_pem}".encode()


class IdentityAuthority:
    """Issues the workload identities of one trust domain."""

    def __init__(self, keys: Keyring, trust_domain: str) -> None:
        """Raises: BadKey."""
        self._keys, self._trust_domain = keys, trust_domain
        place, pem = keys.document(KEY_NAME, lambda: new_authority(trust_domain).pem)
        self.revision = 0
        """Grows with each file that is taken."""
        self.use(AuthorityFile.read(place, pem, trust_domain))

    def use(self, file: AuthorityFile) -> None:
        """Sign with the key of this file, and publish its roots, from now on."""
        self._file, self._pem = file, file.pem
        self._roots = list(file.roots)
        self.bundle_pem = file.bundle_pem
        self.revision += 1

    @property
    def certificate(self) -> x509.Certificate:
        """The root that signs now."""
        return self._file.certificate

    def changed(self) -> AuthorityFile | None:
        """The file where it is another one than the one in use; None also where it is lost. Raises: BadKey."""
        found = self._keys.find(KEY_NAME, f"{KEY_NAME}.pem")
        if found is None or found[1] == self._pem:
            return None
        file = AuthorityFile.read(*found, self._trust_domain)
        return None if file.pem == self._pem else file

    def recognise(self, certificate: x509.Certificate, *, now: datetime) -> str:
        """The SPIFFE id that this authority certified, if the certificate is in force. Raises: NotRecognised.

        Beside its one URI a certificate may name hosts (SPIFFE X509-SVID, 2); names of another kind are refused.
        """
        verifier = PolicyBuilder().store(Store(self._roots)).time(now).build_client_verifier()
        try:
            names = verifier.verify(certificate, []).subjects or []
        except VerificationError:
            raise NotRecognised from None
        uris = [name.value for name in names if isinstance(name, x509.UniformResourceIdentifier)]
        hosts = [name for name in names if isinstance(name, x509.DNSName | x509.IPAddress)]
        if len(uris) != 1 or len(uris) + len(hosts) != len(names):
            raise NotRecognised
        return uris[0]

    def issue(self, spiffe_id: str, *, now: datetime, lifetime: timedelta, hosts: Sequence[str] = ()) -> Svid:
        """A certificate for `spiffe_id` that ends `lifetime` after `now`, with a new key.

        One for a server names the `hosts` too by which it is dialled, for clients that know nothing of SPIFFE.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        certificate_pem, expires_at = self.certify(
            spiffe_id, key.public_key(), now=now, lifetime=lifetime, hosts=hosts
        )
        return Svid(
            spiffe_id=spiffe_id,
            certificate_pem=certificate_pem,
            key_pem=key_pem(key),
            bundle_pem=self.bundle_pem,
            expires_at=expires_at,
        )

    def certify(
        self,
        spiffe_id: str,
        public_key: ec.EllipticCurvePublicKey,
        *,
        now: datetime,
        lifetime: timedelta,
        hosts: Sequence[str] = (),
    ) -> tuple[str, datetime]:
        """Issue a certificate, like `issue`, for a key that the caller made; returns it in PEM, and its end."""
        assert spiffe_id.startswith(f"spiffe://{self._trust_domain}/")
        expires_at = now.replace(microsecond=0) + lifetime
        certificate = (
            _begun(self._trust_domain, public_key, now - CLOCK_LAG, expires_at)
            .issuer_name(self._file.certificate.subject)
            .add_extension(x509.SubjectAlternativeName([_uri(spiffe_id), *map(_host, hosts)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]),
                critical=False,
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._file.key.public_key()),
                critical=False,
            )
            .sign(self._file.key, SHA256())
        )
        return certificate.public_bytes(Encoding.PEM).decode(), expires_at


def new_authority(trust_domain: str) -> AuthorityFile:
    """A new key with its certificate."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    certificate = (
        _begun(trust_domain, key.public_key(), now - CLOCK_LAG, now + timedelta(days=365 * AUTHORITY_YEARS))
        .issuer_name(_name(trust_domain))
        .add_extension(x509.SubjectAlternativeName([_uri(f"spiffe://{trust_domain}")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .sign(key, SHA256())
    )
    return AuthorityFile(key, certificate)


def _begun(
    trust_domain: str, public_key: ec.EllipticCurvePublicKey, begins_at: datetime, ends_at: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(trust_domain))
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins_at)
        .not_valid_after(ends_at)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _name(trust_domain: str) -> x509.Name:
    # An organisation's name has room for 64 characters; the SPIFFE id alone says who somebody is.
    return x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, trust_domain[:64])])


def _uri(text: str) -> x509.UniformResourceIdentifier:
    return x509.UniformResourceIdentifier(text)


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _uris(certificate: x509.Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return names.get_values_for_type(x509.UniformResourceIdentifier)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    """A private key in PEM, not encrypted."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
