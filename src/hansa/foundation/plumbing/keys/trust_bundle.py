"""Trust bundles: the roots by which the identities of one trust domain are judged (SPIFFE Trust Domain and Bundle, section 4).

- A bundle names its trust domain in each root. A root of another domain makes the whole bundle unreadable.
- A leaf counts when it carries exactly one URI, a SPIFFE id of this domain, and one of the roots signed it.
- The thumbprint is the SHA-256 of the roots in DER, sorted and joined: of a single root the output of `openssl x509 -fingerprint
  -sha256`, in lower-case hexadecimal digits without colons.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from hansa_verify import encoded

BUNDLE_MAX_BYTES = 256 * 1024
ROOTS_MAX = 16
SEQUENCE_MAX = 2**53 - 1
REFRESH_HINT_SECONDS = 300


class BundleUnreadable(Exception):
    """The text is no usable trust bundle; the message is one line."""


class LeafRefused(Exception):
    """The certificate is not one that this trust domain certifies now."""


@dataclass(frozen=True)
class TrustBundle:
    """The roots of one trust domain, as they are at `sequence`."""

    trust_domain: str
    roots: tuple[x509.Certificate, ...]
    sequence: int = 0

    @cached_property
    def thumbprint(self) -> str:
        """Fingerprint of exactly these roots: 64 hexadecimal digits."""
        return sha256(b"".join(sorted(root.public_bytes(Encoding.DER) for root in self.roots))).hexdigest()

    @cached_property
    def pem(self) -> str:
        """The roots in PEM."""
        return "".join(root.public_bytes(Encoding.PEM).decode() for root in self.roots)

    @property
    def subjects(self) -> frozenset[tuple[bytes, bytes]]:
        """Subject and key identifier of each root, by which a chain finds it."""
        return frozenset((root.subject.public_bytes(), _key_id(root)) for root in self.roots)

    def spiffe(self) -> dict[str, Any]:
        """The bundle as a SPIFFE JWK set."""
        return {
            "keys": [_jwk(root) for root in self.roots],
            "spiffe_sequence": self.sequence,
            "spiffe_refresh_hint": REFRESH_HINT_SECONDS,
        }

    def recognise(self, leaf: x509.Certificate, *, now: datetime) -> str:
        """The SPIFFE id that these roots certify. Raises: LeafRefused."""
        uris = uris_of(leaf)
        if len(uris) != 1 or domain_of(uris[0]) != self.trust_domain:
            raise LeafRefused
        try:
            PolicyBuilder().store(Store(list(self.roots))).time(now).build_client_verifier().verify(leaf, [])
        except (VerificationError, UnsupportedAlgorithm):
            raise LeafRefused from None
        return uris[0]


def bundle_of(trust_domain: str, pem: str, sequence: int) -> TrustBundle:
    """The bundle of roots in PEM. Raises: BundleUnreadable."""
    try:
        roots = x509.load_pem_x509_certificates(pem.encode())
    except ValueError:
        raise BundleUnreadable("a trust bundle has certificates in PEM, or the SPIFFE form in JSON") from None
    return _checked(roots, trust_domain, sequence)


def read_bundle(text: str, trust_domain: str | None = None) -> TrustBundle:
    """The bundle in a text, PEM or SPIFFE JSON; without `trust_domain` the one that its roots name.

    Raises: BundleUnreadable.
    """
    if len(text.encode("utf-8", "replace")) > BUNDLE_MAX_BYTES:
        raise BundleUnreadable(f"a trust bundle has at most {BUNDLE_MAX_BYTES} bytes")
    if text.lstrip().startswith("-----BEGIN"):
        return bundle_of(trust_domain or "", text, 0)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise BundleUnreadable("a trust bundle has certificates in PEM, or the SPIFFE form in JSON") from None
    return bundle_in(document, trust_domain)


def bundle_in(document: object, trust_domain: str | None = None) -> TrustBundle:
    """The bundle in a SPIFFE JWK set; keys for other uses than X.509 are left aside. Raises: BundleUnreadable."""
    keys = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(keys, list):
        raise BundleUnreadable("the SPIFFE form of a trust bundle is an object with a list `keys`")
    sequence = document.get("spiffe_sequence", 0)
    if not isinstance(sequence, int) or isinstance(sequence, bool) or not 0 <= sequence <= SEQUENCE_MAX:
        raise BundleUnreadable("spiffe_sequence is a whole number from 0 to 2^53 - 1")
    roots = [_root(key) for key in keys if isinstance(key, dict) and key.get("use") == "x509-svid"]
    return _checked(roots, trust_domain or "", sequence)


def uris_of(certificate: x509.Certificate) -> list[str]:
    """The URIs that a certificate names; empty also where its names cannot be read."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return []
    return names.get_values_for_type(x509.UniformResourceIdentifier)


def domain_of(spiffe_id: str) -> str | None:
    """The trust domain of a SPIFFE id, or None where the text is none."""
    scheme, _, rest = spiffe_id.partition("://")
    return rest.partition("/")[0] or None if scheme == "spiffe" else None


def _checked(roots: Iterable[x509.Certificate], trust_domain: str, sequence: int) -> TrustBundle:
    unique = tuple({root.public_bytes(Encoding.DER): root for root in roots}.values())
    if not 1 <= len(unique) <= ROOTS_MAX:
        raise BundleUnreadable(f"a trust bundle has 1 to {ROOTS_MAX} roots for X.509, got {len(unique)}")
    domains = {_root_domain(root) for root in unique}
    if len(domains) != 1 or (trust_domain and domains != {trust_domain}):
        named = ", ".join(sorted(domains))
        raise BundleUnreadable(
            f"expected roots of the trust domain {trust_domain or 'of one registry'}, got {named}"
        )
    return TrustBundle(domains.pop(), unique, sequence)


def _root_domain(root: x509.Certificate) -> str:
    try:
        signs = root.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        _key_id(root)
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        signs = False
    if not signs or not isinstance(_public_key(root), ec.EllipticCurvePublicKey | rsa.RSAPublicKey):
        raise BundleUnreadable("a root is a certificate authority with an EC or RSA key and a key identifier")
    uris = uris_of(root)
    domain = domain_of(uris[0]) if len(uris) == 1 else None
    if domain is None or uris[0] != f"spiffe://{domain}":
        raise BundleUnreadable("a root names exactly one URI, spiffe://<trust domain>")
    return domain


def _public_key(root: x509.Certificate) -> object:
    try:
        return root.public_key()
    except (ValueError, UnsupportedAlgorithm):
        return None


def _key_id(root: x509.Certificate) -> bytes:
    return root.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest


def _root(key: dict[str, Any]) -> x509.Certificate:
    chain = key.get("x5c")
    if not isinstance(chain, list) or len(chain) != 1 or not isinstance(chain[0], str):
        raise BundleUnreadable("a key for X.509 has exactly one certificate in x5c")
    try:
        return x509.load_der_x509_certificate(b64decode(chain[0], validate=True))
    except ValueError:
        raise BundleUnreadable("a certificate in x5c cannot be read") from None


def _jwk(root: x509.Certificate) -> dict[str, Any]:
    key = root.public_key()
    certificate = b64encode(root.public_bytes(Encoding.DER)).decode()
    common = {"use": "x509-svid", "x5c": [certificate]}
    if isinstance(key, ec.EllipticCurvePublicKey):
        numbers, size = key.public_numbers(), (key.key_size + 7) // 8
        coordinates = {name: encoded(getattr(numbers, name).to_bytes(size, "big")) for name in ("x", "y")}
        return {**common, "kty": "EC", "crv": _CURVES[key.curve.name], **coordinates}
    assert isinstance(key, rsa.RSAPublicKey)
    public = key.public_numbers()
    return {**common, "kty": "RSA", "n": _unsigned(public.n), "e": _unsigned(public.e)}


def _unsigned(number: int) -> str:
    return encoded(number.to_bytes((number.bit_length() + 7) // 8, "big"))


_CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
