"""Requests for the certificates of an operator registry (PKCS #10), made by the operator and judged by its frame.

- An operator has two identities: `/registry/<name>` among peers, and `/operator/<name>` for licence/mine alone (Specification 6 W 1).
- A request names exactly one URI, is signed by its own P-256 key, and nothing else of it is taken over.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from .errors import CertificatesRefused

Kind = Literal["registry", "operator"]

KINDS: tuple[Kind, ...] = ("registry", "operator")
REQUEST_MAX_CHARACTERS = 2048
UNREADABLE = (
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.ExtensionNotFound,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""What the library raises for a request that it cannot read, beside ValueError."""


class CertificateRequest(msgspec.Struct, frozen=True):
    """The identity that is asked for, and the key that it is to have."""

    spiffe_id: str
    public_key: ec.EllipticCurvePublicKey


def identities_of(trust_domain: str, name: str) -> Mapping[Kind, str]:
    """The SPIFFE ids of the operator with this name."""
    return {kind: f"spiffe://{trust_domain}/{kind}/{name}" for kind in KINDS}


def new_request(spiffe_id: str, key: ec.EllipticCurvePrivateKey) -> str:
    """A request in PEM."""
    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "operator registry")])
    names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(spiffe_id)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    request = builder.add_extension(names, critical=False).sign(key, SHA256())
    return request.public_bytes(Encoding.PEM).decode()


def read_requests(texts: Sequence[str], trust_domain: str, name: str) -> list[CertificateRequest]:
    """The requests of an operator: one for each of its identities, in any order. Raises: CertificatesRefused."""
    found = [_read(text) for text in texts]
    expected = sorted(identities_of(trust_domain, name).values())
    if sorted(one.spiffe_id for one in found) != expected:
        raise CertificatesRefused(f"csrs has one request for each of {' and '.join(expected)}")
    return found


def _read(text: str) -> CertificateRequest:
    try:
        request = x509.load_pem_x509_csr(text.encode())
        key = request.public_key()
        is_signed = request.is_signature_valid
        names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        uris = names.get_values_for_type(x509.UniformResourceIdentifier)
    except (ValueError, *UNREADABLE):
        raise CertificatesRefused("a request is PKCS #10 in PEM and names one URI") from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise CertificatesRefused("the key of a request is on P-256")
    if not is_signed or len(names) != 1 or len(uris) != 1:
        raise CertificatesRefused("a request is signed by its key and names exactly one URI")
    return CertificateRequest(uris[0], key)
