"""Judge, step by step, whether a registry signed its registry card 0.6 (Specification 2; decisions F, T and W 22).

- The list of signed paths is read from the card; a card that signs fewer than the thirteen basic ones is refused.
- Only members that the signature covers are returned (`CardVerdict.signed`). A settlement currency, namespace or fee that the
  card does not sign counts as absent.
- Keys come from the card's own host, which the caller names; no address in the card is followed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Context, Decimal
from functools import reduce
from hashlib import sha256
from typing import Any

from .canonical import NotCanonical, canonical_json, decoded, read_json, read_moment
from .jws import read_entry
from .keys import CLOCK_SKEW, RegistryKey, is_signed
from .schema import form_error, form_of, schema_errors
from .steps import Decision, Refusal, TextEvaluation, refused_as

REGISTRY_CARD_MAX_BYTES = 256 * 1024
STRING_MAX_CHARACTERS = 2048
JWS_TYPE = "registry-card+jws"
FRACTION_DIGITS_MAX = 6
# Numbers of a card have at most 60 digits on either side of the point: nothing is rounded here.
_EXACT = Context(prec=200)
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
EDITABLE_BLOCKS = ("operator", "description", "tags", "visual", "links", "commitments")
"""What the operator states. The entity tag covers it beside the signed leaves."""
ETAG_HEX_DIGITS = 32


@dataclass(frozen=True)
class CardReader:
    """Reader of a card: the domain that the sender proved over mutual TLS, and the reader's own namespace, if any.

    `is_of_own_frame` is true of a frame and its own operator registry, which share a namespace.
    """

    proved_domain: str | None = None
    own_namespace: str | None = None
    is_of_own_frame: bool = False


@dataclass(frozen=True)
class CardVerdict(Decision):
    """The judgement; `signed` has the signed leaves by their paths, where the card is verified: all that may be believed."""

    signed: Mapping[str, Any] | None = None
    kid: str | None = None
    signed_at: datetime | None = None
    expires_at: datetime | None = None


def verify_registry_card(
    text: bytes | str,
    keys: Sequence[RegistryKey],
    *,
    at: datetime | None = None,
    reader: CardReader | None = None,
) -> CardVerdict:
    """Judge the text of a registry card by the keys of its host, as of `at`. Never raises."""
    judged = _Evaluation(text, keys, reader or CardReader(), at)
    code, steps = judged.take()
    signed = judged.signed if code == "verified" else None
    return CardVerdict(code, steps, signed, judged.kid, *judged.times)


def card_etag(card: Mapping[str, Any], signed_paths: Sequence[str]) -> str:
    """The entity tag of a card: over the editable blocks and the signed leaves outside `lifecycle`. Raises: NotCanonical."""
    core = {path: _at(card, path) for path in signed_paths if not path.startswith("lifecycle.")}
    editable = {name: card[name] for name in EDITABLE_BLOCKS if name in card}
    content = canonical_json(_plain({"editable": editable, "signed": core}))
    return sha256(content).hexdigest()[:ETAG_HEX_DIGITS]


def _plain(value: Any) -> Any:
    """The value with doubles for numbers that were read exactly. Raises: NotCanonical where a double is another number."""
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    return read_json(str(value)) if isinstance(value, Decimal) else value


class _Evaluation(TextEvaluation):
    card: dict[str, Any]
    signed: dict[str, Any]
    signer: RegistryKey
    kid: str | None = None
    times: tuple[datetime | None, datetime | None] = (None, None)

    def __init__(
        self, text: bytes | str, keys: Sequence[RegistryKey], reader: CardReader, at: datetime | None
    ) -> None:
        super().__init__(text, keys, at)
        self.reader = reader

    def form(self) -> str:
        if len(self.text) > REGISTRY_CARD_MAX_BYTES:
            raise Refusal("too_large", f"a registry card has at most {REGISTRY_CARD_MAX_BYTES} bytes")
        with refused_as("malformed"):
            self.card = read_json(self.text, exact=True)
        if not isinstance(self.card, dict):
            raise Refusal("malformed", "a registry card is an object")
        if any(len(text) > STRING_MAX_CHARACTERS for text in _texts(self.card)):
            raise Refusal("string_too_long", f"a string has more than {STRING_MAX_CHARACTERS} characters")
        return "strict JSON within its limits"

    def namespace(self) -> str:
        """Before the schema, so that its three refusals keep their codes."""
        namespace, domain = (_at(self.card, f"identity.{name}") for name in ("did_namespace", "trust_domain"))
        if namespace is None:
            return "the card states no namespace"
        said = f"did_namespace {namespace}"
        form = form_of("registry_card")["properties"]["identity"]["properties"]["did_namespace"]
        if any(schema_errors(namespace, form)):
            raise Refusal("did_namespace_invalid", f"{said} is malformed or reserved")
        if namespace != domain or self.reader.proved_domain not in {None, namespace}:
            raise Refusal("did_namespace_mismatch", f"{said} is not the proved trust domain")
        if namespace == self.reader.own_namespace and not self.reader.is_of_own_frame:
            raise Refusal("did_namespace_self", f"{said} is the reader's own")
        return said

    def schema(self) -> str:
        if error := form_error(self.card, "registry_card"):
            is_version = error.startswith("registry_card_version ")
            raise Refusal("version_unknown" if is_version else "schema_violated", error)
        if "signature" not in self.card:
            raise Refusal("unsigned", "the card has no signature")
        return "every member is one of registry card 0.6"

    def key(self) -> str:
        named = [key for key in self.keys if key.kid == self.card["signature"]["kid"]]
        if len(named) != 1:
            raise Refusal("unknown_key", f"the registry has no key {self.card['signature']['kid']!r}")
        named[0].require_in_grace(self.at)
        self.signer, self.kid = named[0], named[0].kid
        return f"signed with {self.kid}"

    def paths(self) -> str:
        listed = self.card["signature"]["signed_canonical"]
        if missing := [path for path in BASIC_PATHS if path not in listed]:
            raise Refusal("paths_missing", f"the card does not sign {', '.join(missing)}")
        if len(set(listed)) != len(listed):
            raise Refusal("paths_missing", "a signed path is listed twice")
        return f"{len(listed)} signed paths"

    def signature(self) -> str:
        block = self.card["signature"]
        self.signed = {path: _at(self.card, path) for path in block["signed_canonical"]}
        times = {"_signed_at": block["signed_at"], "_expires_at": block["expires_at"]}
        with refused_as("malformed"):
            payload, raw = _canonical({**self.signed, **times}), decoded(block["value"])
        if not is_signed(self.signer.public_key, raw, payload):
            raise Refusal("bad_signature", "the signed leaves are not what was signed")
        if "jws" in block:
            _require_same_by_jws(block["jws"], self.signer, payload)
        self._require_etag()
        return "the signed leaves are as they were signed, and the entity tag is that of the content"

    def _require_etag(self) -> None:
        """Require that the signed entity tag is that of the signed leaves and of the operator's statements."""
        stated = self.signed["lifecycle.card_etag"]
        with refused_as("malformed"):
            found = card_etag(self.card, self.card["signature"]["signed_canonical"])
        if stated != found:
            raise Refusal("etag_mismatch", f"the entity tag {stated} is not that of the content, {found}")

    def window(self) -> str:
        block = self.card["signature"]
        signed_at, expires_at = read_moment(block["signed_at"]), read_moment(block["expires_at"])
        if signed_at is None or expires_at is None:
            raise Refusal("malformed", "signed_at and expires_at are times")
        self.times = signed_at, expires_at
        if signed_at > self.at + CLOCK_SKEW:
            raise Refusal("from_the_future", f"signed at {signed_at.isoformat()}")
        if expires_at <= signed_at:
            raise Refusal("malformed", "the signature expires before it begins")
        if self.at >= expires_at:
            raise Refusal("expired", f"the signature expired at {expires_at.isoformat()}")
        self.signer.require_in_force(signed_at)
        return f"valid from {signed_at.isoformat()} until {expires_at.isoformat()}"

    def domain(self) -> str:
        spiffe_id, domain = self.signed["identity.spiffe_id"], self.signed["identity.trust_domain"]
        if spiffe_id.removeprefix("spiffe://").partition("/")[0] != domain:
            raise Refusal("trust_domain_mismatch", f"{spiffe_id} is not of the trust domain {domain}")
        proved = self.reader.proved_domain
        if proved not in {None, domain}:
            raise Refusal("trust_domain_mismatch", f"the sender proved {proved}, not {domain}")
        return f"trust domain {domain}"

    steps = (form, namespace, schema, key, paths, signature, window, domain)


STEPS = tuple(step.__name__ for step in _Evaluation.steps)
"""Names of the steps of a verdict, in their order."""


def _require_same_by_jws(jws: str, signer: RegistryKey, payload: bytes) -> None:
    protected, _, signature = jws.partition("..")
    with refused_as("malformed", "jws: "):
        entry = read_entry({"protected": protected, "signature": signature})
    if dict(entry.header) != {"alg": "EdDSA", "kid": signer.kid, "typ": JWS_TYPE}:
        raise Refusal("malformed", f"the protected header of jws is alg, kid and typ {JWS_TYPE}")
    if not entry.is_by(signer.public_key, payload):
        raise Refusal("bad_signature", "jws does not sign the same leaves")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)


def _at(card: Any, path: str) -> Any:
    return reduce(
        lambda block, name: block.get(name) if isinstance(block, dict) else None, path.split("."), card
    )


def _canonical(value: Any) -> bytes:
    """Canonical JSON in which a number has no exponent and at most six fraction digits. Raises: NotCanonical."""
    if isinstance(value, dict):
        members = (canonical_json(name) + b":" + _canonical(value[name]) for name in sorted(value))
        return b"{" + b",".join(members) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(_canonical, value)) + b"]"
    if not isinstance(value, Decimal):
        return canonical_json(value)
    number = _EXACT.add(value.normalize(_EXACT), 0)
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -FRACTION_DIGITS_MAX:
        raise NotCanonical(f"a signed number has at most {FRACTION_DIGITS_MAX} fraction digits")
    return f"{number:f}".encode()
