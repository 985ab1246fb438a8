"""Whether a registry stands behind its registry card 0.6, judged step by step (Specification 2; decisions F, T and W 22).

- The list of signed paths is read from the card; a card that signs fewer than the thirteen basic ones is refused.
- Only what the signature covers is handed back (`CardVerdict.signed`). A settlement currency, namespace or fee that the
  card does not sign counts as absent.
- Keys come from the card's own host, which the caller names; no address in the card is followed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .base64url import NotBase64url, decoded
from .canonical import NotCanonical, canonical_json, read_json
from .card import CLOCK_SKEW, GRACE, RegistryKey, Step
from .jws import BadEntry, read_entry
from .schema import schema_errors

REGISTRY_CARD_MAX_BYTES = 256 * 1024
STRING_MAX_CHARACTERS = 2048
JWS_TYPE = "registry-card+jws"
FRACTION_DIGITS_MAX = 6
BASIC_PATHS = (
    "registry_card_version",
    "identity.spiffe_id",
    "identity.registry_name",
    "identity.trust_domain",
    "identity.tier",
    "visual.sovereign_variant",
    "federation.is_genesis_registry",
    "federation.is_sovereign_frame",
    "federation.policy_hash",
    "fees.cross_registry.base_rate_percent",
    "fees.hosting.enabled",
    "fees.hosting.rate_percent_of_agent_service_fee",
    "lifecycle.card_etag",
)


@dataclass(frozen=True)
class CardReader:
    """Who judges a card: the domain that the sender proved over mutual TLS, and the reader's own namespace, if any."""

    proved_domain: str | None = None
    own_namespace: str | None = None
    is_of_own_frame: bool = False
    """Whether sender and reader are a frame and its own operator registry, which share a namespace."""


@dataclass(frozen=True)
class CardVerdict:
    """The judgement: `code` is `verified`, or names the first step that did not hold."""

    code: str
    steps: tuple[Step, ...]
    signed: Mapping[str, Any] | None = None
    """The signed leaves by their paths, where the card is verified; all that may be believed."""
    kid: str | None = None
    signed_at: datetime | None = None
    expires_at: datetime | None = None

    @property
    def is_valid(self) -> bool:
        """Whether the registry stands behind the card."""
        return self.code == "verified"


class _Fails(Exception):
    def __init__(self, code: str, said: str) -> None:
        super().__init__(said)
        self.code, self.said = code, said


class _Judgement:
    """One card as it is judged; each method is a step that returns what was found, or raises `_Fails`."""

    def __init__(
        self, text: bytes | str, keys: Sequence[RegistryKey], reader: CardReader, at: datetime
    ) -> None:
        self.text, self.keys, self.reader, self.at = text, keys, reader, at
        self.card: dict[str, Any] = {}
        self.kid: str | None = None
        self.times: tuple[datetime, datetime] | None = None
        self.signed: dict[str, Any] = {}

    def form(self) -> str:
        if len(self.text) > REGISTRY_CARD_MAX_BYTES:
            raise _Fails("too_large", f"a registry card has at most {REGISTRY_CARD_MAX_BYTES} bytes")
        try:
            card = read_json(self.text, exact=True)
        except NotCanonical as trouble:
            raise _Fails("malformed", str(trouble)) from None
        if not isinstance(card, dict):
            raise _Fails("malformed", "a registry card is an object")
        if any(len(text) > STRING_MAX_CHARACTERS for text in _texts(card)):
            raise _Fails("string_too_long", f"a string has more than {STRING_MAX_CHARACTERS} characters")
        self.card = card
        return "strict JSON within its limits"

    def namespace(self) -> str:
        """Before the schema, so that its three refusals keep their codes."""
        identity = self.card.get("identity")
        members = identity if isinstance(identity, dict) else {}
        namespace, domain = members.get("did_namespace"), members.get("trust_domain")
        if namespace is None:
            return "the card states no namespace"
        form = registry_card_schema()["properties"]["identity"]["properties"]["did_namespace"]
        if any(schema_errors(namespace, form)):
            raise _Fails("did_namespace_invalid", f"did_namespace {namespace!r} is malformed or reserved")
        if namespace != domain or self.reader.proved_domain not in {None, namespace}:
            raise _Fails(
                "did_namespace_mismatch", f"did_namespace {namespace} is not the proved trust domain"
            )
        if namespace == self.reader.own_namespace and not self.reader.is_of_own_frame:
            raise _Fails("did_namespace_self", f"did_namespace {namespace} is the reader's own")
        return f"did_namespace {namespace}"

    def schema(self) -> str:
        for path, expected in schema_errors(self.card, registry_card_schema()):
            code = "version_unknown" if path == "registry_card_version" else "schema_violated"
            raise _Fails(code, f"{path or 'the card'} {expected}")
        if "signature" not in self.card:
            raise _Fails("unsigned", "the card has no signature")
        return "every member is one of registry card 0.6"

    def key(self) -> str:
        found = [key for key in self.keys if key.kid == self.card["signature"]["kid"]]
        if len(found) != 1:
            raise _Fails("unknown_key", f"the registry has no key {self.card['signature']['kid']!r}")
        retired_at = found[0].retired_at
        if retired_at is not None and self.at > retired_at + GRACE:
            raise _Fails("key_retired", f"the key was retired at {retired_at.isoformat()}, past its grace")
        self.kid = found[0].kid
        return f"signed with {self.kid}"

    def paths(self) -> str:
        signed = self.card["signature"]["signed_canonical"]
        missing = [path for path in BASIC_PATHS if path not in signed]
        if missing:
            raise _Fails("paths_missing", f"the card does not sign {', '.join(missing)}")
        if len(set(signed)) != len(signed):
            raise _Fails("paths_missing", "a signed path is listed twice")
        return f"{len(signed)} signed paths"

    def signature(self) -> str:
        block = self.card["signature"]
        leaves = {path: _value_at(self.card, path) for path in block["signed_canonical"]}
        times = {"_signed_at": block["signed_at"], "_expires_at": block["expires_at"]}
        try:
            payload = _canonical({**leaves, **times})
            raw = decoded(block["value"])
        except (NotCanonical, NotBase64url) as trouble:
            raise _Fails("malformed", str(trouble)) from None
        public = next(key for key in self.keys if key.kid == self.kid).public_key
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(raw, payload)
        except (InvalidSignature, ValueError):
            raise _Fails("bad_signature", "the signed leaves are not what was signed") from None
        if "jws" in block:
            self._require_same_by_jws(block["jws"], public, payload)
        self.signed = leaves
        return "the signed leaves are as they were signed"

    def window(self) -> str:
        block = self.card["signature"]
        try:
            signed_at, expires_at = (
                datetime.fromisoformat(block[name]) for name in ("signed_at", "expires_at")
            )
        except ValueError:
            raise _Fails("malformed", "signed_at and expires_at are times") from None
        self.times = (signed_at, expires_at)
        if signed_at > self.at + CLOCK_SKEW:
            raise _Fails("from_the_future", f"signed at {signed_at.isoformat()}")
        if expires_at <= signed_at:
            raise _Fails("malformed", "the signature expires before it begins")
        if self.at >= expires_at:
            raise _Fails("expired", f"the signature expired at {expires_at.isoformat()}")
        key = next(key for key in self.keys if key.kid == self.kid)
        if key.valid_from is not None and signed_at < key.valid_from - CLOCK_SKEW:
            raise _Fails("key_not_yet_valid", f"the key is valid from {key.valid_from.isoformat()} on")
        if key.retired_at is not None and signed_at > key.retired_at + CLOCK_SKEW:
            raise _Fails("key_retired", f"signed after the key was retired at {key.retired_at.isoformat()}")
        return f"valid from {signed_at.isoformat()} until {expires_at.isoformat()}"

    def domain(self) -> str:
        spiffe_id, domain = self.signed["identity.spiffe_id"], self.signed["identity.trust_domain"]
        if spiffe_id.removeprefix("spiffe://").partition("/")[0] != domain:
            raise _Fails("trust_domain_mismatch", f"{spiffe_id} is not of the trust domain {domain}")
        if self.reader.proved_domain not in {None, domain}:
            raise _Fails(
                "trust_domain_mismatch", f"the sender proved {self.reader.proved_domain}, not {domain}"
            )
        return f"trust domain {domain}"

    def _require_same_by_jws(self, jws: str, public: bytes, payload: bytes) -> None:
        protected, _, signature = jws.partition("..")
        try:
            entry = read_entry({"protected": protected, "signature": signature})
        except BadEntry as trouble:
            raise _Fails("malformed", f"jws: {trouble}") from None
        if dict(entry.header) != {"alg": "EdDSA", "kid": self.kid, "typ": JWS_TYPE}:
            raise _Fails("malformed", f"the protected header of jws is alg, kid and typ {JWS_TYPE}")
        if not entry.is_by(public, payload):
            raise _Fails("bad_signature", "jws does not sign the same leaves")


def verify_registry_card(
    text: bytes | str,
    keys: Sequence[RegistryKey],
    *,
    at: datetime | None = None,
    reader: CardReader | None = None,
) -> CardVerdict:
    """Judge the text of a registry card by the keys of its host, as of `at`. Never raises."""
    judged = _Judgement(text, keys, reader or CardReader(), at or datetime.now(UTC))
    steps: list[Step] = []
    code = "verified"
    for name in ("form", "namespace", "schema", "key", "paths", "signature", "window", "domain"):
        try:
            steps.append(Step(name, holds=True, said=getattr(judged, name)()))
        except _Fails as trouble:
            steps.append(Step(name, holds=False, said=trouble.said))
            code = trouble.code
            break
    signed = judged.signed if code == "verified" else None
    return CardVerdict(code, tuple(steps), signed, judged.kid, *(judged.times or (None, None)))


@cache
def registry_card_schema() -> dict[str, Any]:
    """The strict schema of a registry card. Treat it as immutable."""
    schema: dict[str, Any] = json.loads(
        files(__package__).joinpath("registry_card_schema.json").read_text("utf-8")
    )
    return schema


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from _texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)


def _value_at(card: Any, path: str) -> Any:
    for name in path.split("."):
        card = card.get(name) if isinstance(card, dict) else None
    return card


def _canonical(value: Any) -> bytes:
    """Canonical JSON in which a number has no exponent and at most six fraction digits. Raises: NotCanonical."""
    if isinstance(value, dict):
        members = (canonical_json(name) + b":" + _canonical(value[name]) for name in sorted(value))
        return b"{" + b",".join(members) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(_canonical, value)) + b"]"
    if not isinstance(value, Decimal):
        return canonical_json(value)
    exponent = value.normalize().as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -FRACTION_DIGITS_MAX:
        raise NotCanonical(f"a signed number has at most {FRACTION_DIGITS_MAX} fraction digits")
    return f"{value.normalize() + 0:f}".encode()
