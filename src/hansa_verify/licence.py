"""Licence certificates of a federation and the lists in which issuers state what became of them.

Specification 2, "Federation licence certificate". Here their format is judged; `licence_chain` judges what they prove.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from .base64url import encoded
from .canonical import canonical_json
from .compact import CompactSignature, read_compact
from .keys import NotAKey, public_key_of

CERTIFICATE_KIND, CERTIFICATE_TYP, CERTIFICATE_MAX_CHARACTERS = "fed.licence.v1", "licence+jws", 16_384
LIST_KIND, LIST_TYP, LIST_MAX_CHARACTERS = "fed.licence-list.v1", "licence-list+jws", 8_388_608
TYPES = ("genesis", "frame", "operator")
STATES = ("active", "suspended", "revoked", "superseded", "expired")

_HEADER = {"alg", "kid", "typ"}
_DOMAIN = re.compile(
    r"(?=.{3,255}\Z)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+", re.ASCII
)
_PLAN = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MEMBERS = {"kind", "lid", "type", "sub", "iss", "network", "plan", "terms", "iat", "exp"}
_SUB_MAX = {"name": 255, "url": 500, "spiffe": 255}
_TERMS_MAX, _LID_MAX = 32, 128
_LISTED = {
    "hash", "lid", "type", "sub_trust_domain", "sub_name", "plan", "iat", "exp", "state", "updated_at"
}  # fmt: skip


class BadLicence(ValueError):
    """The text is no certificate or list of this format; the message is one line."""


@dataclass(frozen=True)
class Certificate:
    """A certificate that is well formed; nothing in it is believed before its issuer's key verified it."""

    text: str
    signature: CompactSignature
    public_key: bytes | None
    """The licence-signing key of a genesis or frame; None for an operator."""

    @property
    def payload(self) -> Mapping[str, Any]:
        """The members of the specification."""
        return self.signature.payload

    @property
    def hash(self) -> str:
        """The licence hash: SHA-256 of the compact form in hexadecimal."""
        return licence_hash(self.text)

    @property
    def kind(self) -> str:
        """`genesis`, `frame` or `operator`."""
        kind: str = self.payload["type"]
        return kind

    @property
    def issuer(self) -> tuple[str, str]:
        """The issuer's trust domain and the thumbprint of its key: by these a parent is found."""
        return self.payload["iss"]["trust_domain"], self.payload["iss"]["kid"]

    @property
    def subject(self) -> tuple[str, str, str | None]:
        """For whom it is: its type, trust domain, and for an operator the name."""
        sub = self.payload["sub"]
        return self.kind, sub["trust_domain"], sub["name"] if self.kind == "operator" else None


@dataclass(frozen=True)
class IssuedList:
    """A list that is well formed; nothing in it is believed before its issuer's key verified it."""

    signature: CompactSignature

    @property
    def issuer(self) -> tuple[str, str]:
        """The issuer's trust domain and the thumbprint of its key."""
        issuer = self.signature.payload["issuer"]
        return issuer["trust_domain"], issuer["kid"]

    @property
    def generated_at(self) -> datetime:
        """When the issuer signed it."""
        return datetime.fromtimestamp(self.signature.payload["generated_at"], UTC)

    @property
    def licences(self) -> list[Mapping[str, Any]]:
        """What it states, certificate by certificate."""
        listed: list[Mapping[str, Any]] = self.signature.payload["licences"]
        return listed


def licence_hash(text: str) -> str:
    """The lowercase hexadecimal SHA-256 of a compact JWS without whitespace around it."""
    return sha256(text.strip().encode()).hexdigest()


def key_thumbprint(key: bytes) -> str:
    """The thumbprint of an Ed25519 key (RFC 7638)."""
    return encoded(sha256(canonical_json({"kty": "OKP", "crv": "Ed25519", "x": encoded(key)})).digest())


def read_certificate(text: object) -> Certificate:
    """A certificate, its format judged and nothing else. Raises: BadLicence."""
    signature = _read(text, CERTIFICATE_TYP, CERTIFICATE_MAX_CHARACTERS)
    payload = signature.payload
    kind = payload.get("type")
    _require(payload.get("kind") == CERTIFICATE_KIND, f"kind is {CERTIFICATE_KIND}")
    _require(type(kind) is str and kind in TYPES, "type is genesis, frame or operator")
    _require(set(payload) == _MEMBERS | (set() if kind == "operator" else {"key"}), "its members are others")
    _require_subject(payload["sub"])
    _require_issuer(payload["iss"], signature)
    network = payload["network"]
    _require(_is_domain(network) or (network is None and kind == "operator"), "network is a trust domain")
    _require(type(payload["plan"]) is str and _PLAN.fullmatch(payload["plan"]) is not None, "the plan's form")
    _require(_is_text(payload["terms"], _TERMS_MAX), f"terms has 1 to {_TERMS_MAX} characters")
    _require(_is_text(payload["lid"], _LID_MAX), f"lid has 1 to {_LID_MAX} characters")
    _require(_is_epoch(payload["iat"]), "iat is in seconds since the epoch")
    _require(
        payload["exp"] is None or _is_epoch(payload["exp"]), "exp is in seconds since the epoch, or null"
    )
    assert isinstance(text, str)
    return Certificate(text.strip(), signature, None if kind == "operator" else _key(payload["key"]))


def read_issued_list(text: object) -> IssuedList:
    """An issued list, its format judged and nothing else. Raises: BadLicence."""
    signature = _read(text, LIST_TYP, LIST_MAX_CHARACTERS)
    payload = signature.payload
    _require(payload.get("kind") == LIST_KIND, f"kind is {LIST_KIND}")
    _require(set(payload) == {"kind", "issuer", "generated_at", "licences"}, "its members are others")
    issuer, listed = payload["issuer"], payload["licences"]
    _require(
        isinstance(issuer, Mapping) and set(issuer) == {"trust_domain", "name", "kid"}, "the issuer's members"
    )
    _require(_is_domain(issuer["trust_domain"]) and issuer["kid"] == signature.entry.kid, "the issuer's key")
    _require(_is_epoch(payload["generated_at"]), "generated_at is in seconds since the epoch")
    _require(isinstance(listed, list) and all(map(_is_listed, listed)), "an entry has another form")
    return IssuedList(signature)


def _read(text: object, typ: str, max_characters: int) -> CompactSignature:
    signature = read_compact(text.strip() if isinstance(text, str) else text, typ, max_characters)
    if signature is None:
        raise BadLicence(f"not a compact JWS of type {typ} of at most {max_characters} characters")
    _require(set(signature.entry.header) == _HEADER, "its header has exactly alg, kid and typ")
    return signature


def _require(holds: bool, said: str) -> None:
    if not holds:
        raise BadLicence(said)


def _require_subject(sub: object) -> None:
    _require(
        isinstance(sub, Mapping) and {"trust_domain", "name"} <= set(sub), "sub has trust_domain and name"
    )
    assert isinstance(sub, Mapping)
    _require(set(sub) <= {"trust_domain", *_SUB_MAX}, "sub has other members")
    _require(_is_domain(sub["trust_domain"]), "sub.trust_domain is a domain of two labels or more")
    for name, most in _SUB_MAX.items():
        _require(name not in sub or _is_text(sub[name], most), f"sub.{name} has 1 to {most} characters")


def _require_issuer(iss: object, signature: CompactSignature) -> None:
    _require(
        isinstance(iss, Mapping) and set(iss) == {"trust_domain", "name", "kid", "licence"}, "iss's members"
    )
    assert isinstance(iss, Mapping)
    _require(_is_domain(iss["trust_domain"]), "iss.trust_domain is a domain of two labels or more")
    _require(_is_text(iss["name"], _SUB_MAX["name"]), "iss.name has 1 to 255 characters")
    _require(iss["kid"] == signature.entry.kid, "iss.kid is the kid of the header")
    licence = iss["licence"]
    _require(
        licence is None or (type(licence) is str and _HASH.fullmatch(licence) is not None), "iss.licence"
    )


def _key(jwk: object) -> bytes:
    _require(isinstance(jwk, Mapping) and set(jwk) == {"kty", "crv", "x"}, "key has kty, crv and x")
    assert isinstance(jwk, Mapping)
    try:
        return public_key_of(jwk)
    except NotAKey as trouble:
        raise BadLicence(f"key: {trouble}") from None


def _is_listed(entry: object) -> bool:
    if not isinstance(entry, Mapping) or set(entry) != _LISTED:
        return False
    texts = all(
        _is_text(entry[name], 255) for name in ("lid", "type", "sub_trust_domain", "sub_name", "plan")
    )
    times = _is_epoch(entry["iat"]) and _is_epoch(entry["updated_at"])
    return (
        texts
        and times
        and (entry["exp"] is None or _is_epoch(entry["exp"]))
        and type(entry["hash"]) is str
        and _HASH.fullmatch(entry["hash"]) is not None
        and entry["state"] in STATES
    )


def _is_domain(value: object) -> bool:
    return type(value) is str and _DOMAIN.fullmatch(value) is not None


def _is_text(value: object, most: int) -> bool:
    return type(value) is str and 1 <= len(value) <= most


def _is_epoch(value: object) -> bool:
    return type(value) is int and 0 <= value < 10**11
