"""Invitations and acceptances as signed documents: compact JWS by the registry key (Specification 5 P, 6 W 4).

- `peer-invitation+jws` {kind `fed.peer-invitation.v1`, jti, iss {trust_domain, registry_name}, public_url,
  federation_base_url, bundle_sha256, iat, exp}; `peer-acceptance+jws` has the same members and kind `fed.peer-acceptance.v1`.
- An invitation of a frame for an operator registry names it in `operator`. Its acceptance has `csrs`: a request for each of
  the two certificates of the operator, in PEM.
- Nothing in a document is believed before its signature was verified by the key set at its own public_url.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.settings import is_operator_name
from hansa.foundation.values.canonical import canonical_json
from hansa.rooms.federation.charter import SigningKey, detached_signature
from hansa.rooms.federation.identity import REQUEST_MAX_CHARACTERS
from hansa_verify import NotAKey, NotCanonical, encoded, key_thumbprint, read_json, read_keys
from hansa_verify.jws import CompactSignature, read_compact

Kind = Literal["invitation", "acceptance"]

DOCUMENT_MAX_CHARACTERS = 8192
CSRS_MAX = 4
CLOCK_SKEW_SECONDS = 60
TIME_MAX = 253_402_300_799
NAME_MAX, DOMAIN_MAX, URL_MAX = 128, 253, 500

_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


class DocumentUnreadable(Exception):
    """The text is no such document; the message is one line."""


class Party(msgspec.Struct, frozen=True):
    """Registry that signs, its addresses, and the thumbprint of the bundle by which its certificates are judged."""

    trust_domain: str
    registry_name: str
    public_url: str
    federation_base_url: str
    bundle_sha256: str


class Document(msgspec.Struct, frozen=True):
    """An invitation or acceptance, read. `signature` was not verified yet.

    `operator` is the name that an invitation is for, None: another frame. `csrs` are the requests of an acceptance.
    """

    jti: UUID
    party: Party
    issued_at: datetime
    expires_at: datetime
    signature: CompactSignature
    operator: str | None = None
    csrs: tuple[str, ...] = ()

    def signer_thumbprint(self, keys: str) -> str | None:
        """The thumbprint of the key in this key set that signed it, or None."""
        try:
            found = read_keys(read_json(keys))
        except (NotCanonical, NotAKey):
            return None
        for key in found:
            if key.kid == self.signature.entry.kid and self.signature.is_by(key.public_key):
                return key_thumbprint(key.public_key)
        return None


def sign(
    kind: Kind,
    key: SigningKey,
    party: Party,
    jti: UUID,
    expires_at: datetime,
    *,
    operator: str | None = None,
    csrs: Sequence[str] = (),
) -> str:
    """The signed document; its `iat` is the time at which the key was read."""
    payload = canonical_json(
        {
            "kind": f"fed.peer-{kind}.v1",
            "jti": str(jti),
            "iss": {"trust_domain": party.trust_domain, "registry_name": party.registry_name},
            "public_url": party.public_url,
            "federation_base_url": party.federation_base_url,
            "bundle_sha256": party.bundle_sha256,
            "iat": int(key.now.timestamp()),
            "exp": int(expires_at.timestamp()),
            **({} if operator is None else {"operator": operator}),
            **({"csrs": list(csrs)} if csrs else {}),
        }
    )
    signed = detached_signature(key, payload, {"typ": f"peer-{kind}+jws"})
    return f"{signed['protected']}.{encoded(payload)}.{signed['signature']}"


def read(kind: Kind, text: str) -> Document:
    """Raises: DocumentUnreadable."""
    found = read_compact(text.strip(), f"peer-{kind}+jws", DOCUMENT_MAX_CHARACTERS)
    if found is None:
        raise DocumentUnreadable(f"expected a compact JWS of type peer-{kind}+jws")
    members = found.payload
    if members.get("kind") != f"fed.peer-{kind}.v1":
        raise DocumentUnreadable(f"expected the kind fed.peer-{kind}.v1")
    return Document(
        _uuid(members.get("jti")),
        _party(members),
        _moment(members.get("iat"), "iat"),
        _moment(members.get("exp"), "exp"),
        found,
        _operator(members) if kind == "invitation" else None,
        _csrs(members) if kind == "acceptance" else (),
    )


def _operator(members: Mapping[str, Any]) -> str | None:
    if members.get("operator") is None:
        return None
    name = _text(members, "operator", NAME_MAX)
    if not is_operator_name(name):
        raise DocumentUnreadable("operator is no name of an operator registry")
    return name


def _csrs(members: Mapping[str, Any]) -> tuple[str, ...]:
    found = members.get("csrs", [])
    is_read = isinstance(found, list) and len(found) <= CSRS_MAX
    if not is_read or not all(isinstance(one, str) and len(one) <= REQUEST_MAX_CHARACTERS for one in found):
        raise DocumentUnreadable("csrs is a list of requests in PEM")
    return tuple(found)


def _party(members: Mapping[str, Any]) -> Party:
    issuer = members.get("iss")
    if not isinstance(issuer, dict):
        raise DocumentUnreadable("iss is an object with trust_domain and registry_name")
    domain = _text(issuer, "trust_domain", DOMAIN_MAX)
    if not _DOMAIN.fullmatch(domain):
        raise DocumentUnreadable("iss.trust_domain is no trust domain")
    thumbprint = _text(members, "bundle_sha256", 64)
    if not _SHA256.fullmatch(thumbprint):
        raise DocumentUnreadable("bundle_sha256 has 64 lower-case hexadecimal digits")
    return Party(
        domain,
        _text(issuer, "registry_name", NAME_MAX),
        _text(members, "public_url", URL_MAX).rstrip("/"),
        _text(members, "federation_base_url", URL_MAX).rstrip("/"),
        thumbprint,
    )


def _text(members: Mapping[str, Any], name: str, most: int) -> str:
    text = members.get(name)
    if not isinstance(text, str) or not 1 <= len(text) <= most or not text.isprintable():
        raise DocumentUnreadable(f"{name} is a text of 1 to {most} characters")
    return text


def _uuid(text: object) -> UUID:
    try:
        return UUID(str(text))
    except ValueError:
        raise DocumentUnreadable("jti is a UUID") from None


def _moment(seconds: object, name: str) -> datetime:
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 <= seconds <= TIME_MAX:
        raise DocumentUnreadable(f"{name} is a time in seconds since the epoch")
    return datetime.fromtimestamp(seconds, UTC)
