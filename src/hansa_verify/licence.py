"""Licence certificates of a federation and the lists in which issuers state their status.

Specification 2, "Federation licence certificate". Here their form is judged; `licence_chain` judges whether they count.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from .canonical import canonical_json, encoded
from .jws import CompactSignature, read_compact
from .keys import NotAKey, public_key_of
from .schema import form_error
from .steps import Unreadable

GENESIS_PLAN = "genesis"
FRAME_PLANS = (
    "founding",
    "private",
    "educational",
    "research",
    "non-profit",
    "enterprise",
    "government",
)
"""The plans of frames; an operator has a plan by the policy of its frame."""
WHITESPACE = " \t\r\n"
"""The characters that may surround a certificate or a list; `str.strip` removes others than JavaScript's `trim`."""
CERTIFICATE_TYP, CERTIFICATE_MAX_CHARACTERS = "licence+jws", 16_384
LIST_TYP, LIST_MAX_CHARACTERS = "licence-list+jws", 8_388_608


class BadLicence(Unreadable):
    """The text is no certificate or list of this form; the message is one line."""


@dataclass(frozen=True)
class Certificate:
    """A certificate that is well formed; nothing in it is believed before its issuer's key verified it.

    `public_key` is the licence-signing key of a genesis or frame; None for an operator.
    """

    text: str
    signature: CompactSignature
    public_key: bytes | None

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
        return str(self.payload["type"])

    @property
    def issuer(self) -> tuple[str, str]:
        """The issuer's trust domain and the thumbprint of its key: by these a parent is found."""
        return self.payload["iss"]["trust_domain"], self.payload["iss"]["kid"]

    @property
    def subject(self) -> tuple[str, str, str | None]:
        """For whom it is: its type, trust domain, and for an operator the name."""
        sub = self.payload["sub"]
        return self.kind, sub["trust_domain"], sub["name"] if self.kind == "operator" else None

    def is_named_by(self, entry: Mapping[str, Any]) -> bool:
        """Return whether an entry of a list is of this certificate."""
        return bool(self.hash == entry["hash"] or self.payload["lid"] == entry["lid"])

    @property
    def listed(self) -> Mapping[str, Any]:
        """The members that an entry of a list repeats."""
        payload, sub = self.payload, self.payload["sub"]
        return {
            **{name: payload[name] for name in ("lid", "type", "plan", "iat", "exp")},
            "sub_trust_domain": sub["trust_domain"],
            "sub_name": sub["name"],
        }


@dataclass(frozen=True)
class IssuedList:
    """A list that is well formed; nothing in it is believed before its issuer's key verified it."""

    signature: CompactSignature
    issuer: tuple[str, str]
    generated_at: datetime
    licences: list[Mapping[str, Any]]


def licence_hash(text: str) -> str:
    """The lowercase hexadecimal SHA-256 of a compact JWS without whitespace around it."""
    return sha256(_trimmed(text).encode()).hexdigest()


def kind_of_plan(plan: str) -> str:
    """Type of certificate that carries a plan; a plan that the specification does not name is an operator's."""
    if plan == GENESIS_PLAN:
        return "genesis"
    return "frame" if plan in FRAME_PLANS else "operator"


def key_thumbprint(key: bytes) -> str:
    """The thumbprint of an Ed25519 key (RFC 7638)."""
    return encoded(sha256(canonical_json({"kty": "OKP", "crv": "Ed25519", "x": encoded(key)})).digest())


def read_certificate(text: object) -> Certificate:
    """A certificate, its form judged and nothing else. Raises: BadLicence."""
    signature = _read(text, CERTIFICATE_TYP, CERTIFICATE_MAX_CHARACTERS, "licence")
    payload, is_operator = signature.payload, signature.payload["type"] == "operator"
    if payload["iss"]["kid"] != signature.entry.kid:
        raise BadLicence("iss.kid is not the kid of the header")
    if payload["network"] is None and not is_operator:
        raise BadLicence("network is a trust domain")
    if is_operator == ("key" in payload):
        raise BadLicence("a genesis and a frame have a key, an operator has none")
    try:
        key = None if is_operator else public_key_of(payload["key"])
    except NotAKey as error:
        raise BadLicence(f"key: {error}") from None
    return Certificate(_trimmed(str(text)), signature, key)


def read_issued_list(text: object) -> IssuedList:
    """An issued list, its form judged and nothing else. Raises: BadLicence."""
    signature = _read(text, LIST_TYP, LIST_MAX_CHARACTERS, "licence_list")
    issuer = signature.payload["issuer"]
    if issuer["kid"] != signature.entry.kid:
        raise BadLicence("issuer.kid is not the kid of the header")
    return IssuedList(
        signature,
        (issuer["trust_domain"], issuer["kid"]),
        datetime.fromtimestamp(signature.payload["generated_at"], UTC),
        signature.payload["licences"],
    )


def _read(text: object, typ: str, max_characters: int, form: str) -> CompactSignature:
    signature = read_compact(_trimmed(text) if isinstance(text, str) else text, typ, max_characters)
    if signature is None:
        raise BadLicence(f"not a compact JWS of type {typ} of at most {max_characters} characters")
    if set(signature.entry.header) != {"alg", "kid", "typ"}:
        raise BadLicence("its header has exactly alg, kid and typ")
    if error := form_error(signature.payload, form):
        raise BadLicence(error)
    return signature


def _trimmed(text: str) -> str:
    return text.strip(WHITESPACE)
