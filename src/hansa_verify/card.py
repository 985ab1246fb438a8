"""Whether a registry stands behind an agent card, judged step by step.

- A card is believed by the registry's profile alone (`sorted-ascii-json/1`), which covers every member, prices and
  extensions included. The profile of stock A2A clients covers neither, so it is never enough here.
- Keys come from the caller, who took them from the registry itself; what a card says of keys is not looked at.
- The card is judged as of a moment, now unless another is asked for: its key may by then be retired for seven days at
  the most, and may not have been retired when the card was signed.
- What was verified is handed back (`Verdict.card`); nothing else of the document may be believed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from .canonical import NotCanonical, canonical_json, read_json
from .jws import BadEntry, DetachedSignature, read_entry
from .keys import NotAKey, public_key_of

CARD_PROFILE = "sorted-ascii-json/1"
CARD_MAX_BYTES = 2 * 1024 * 1024
SIGNATURES_MAX = 16
KEYS_MAX = 10_000
GRACE = timedelta(days=7)
CLOCK_SKEW = timedelta(seconds=60)
# The year 9999, in epoch seconds.
SIGNED_AT_MAX = 253_402_300_799


@dataclass(frozen=True)
class RegistryKey:
    """A key of a registry. Its times are None where the source does not tell them."""

    kid: str
    public_key: bytes
    valid_from: datetime | None = None
    retired_at: datetime | None = None


@dataclass(frozen=True)
class Step:
    """One step of the judgement: what was asked, whether it held, and what was found."""

    name: str
    holds: bool
    said: str


@dataclass(frozen=True)
class Verdict:
    """The judgement: `code` is `verified`, or names the first step that did not hold."""

    code: str
    steps: tuple[Step, ...]
    card: Mapping[str, Any] | None = None
    """The card without its signatures, where it is verified."""
    kid: str | None = None
    signed_at: datetime | None = None

    @property
    def is_valid(self) -> bool:
        """Whether the registry stands behind the card."""
        return self.code == "verified"


class _Fails(Exception):
    def __init__(self, code: str, step: str, said: str) -> None:
        super().__init__(said)
        self.code, self.step, self.said = code, step, said


def verify_card(text: bytes | str, keys: Sequence[RegistryKey], *, at: datetime | None = None) -> Verdict:
    """Judge the text of an exported card by the keys of its registry, as of `at`. Never raises."""
    return verify_document(text, keys, typ="JOSE", at=at)


def verify_document(
    text: bytes | str, keys: Sequence[RegistryKey], *, typ: str, at: datetime | None = None
) -> Verdict:
    """As `verify_card`, of any document that a registry signed with a signature of this type. Never raises."""
    steps: list[Step] = []
    try:
        card, entries = _read(text)
        steps.append(Step("form", holds=True, said="strict JSON with signatures"))
        entry = _of_the_registry(entries, typ)
        steps.append(Step("profile", holds=True, said=f"one signature by the profile {CARD_PROFILE}"))
        key = _key_of(entry, keys)
        steps.append(Step("key", holds=True, said=f"signed with {key.kid}"))
        signed_at = _judged_time(entry, key, at or datetime.now(UTC))
        steps.append(Step("time", holds=True, said=f"signed at {signed_at.isoformat()}"))
        _require_signed(entry, key, card)
        steps.append(Step("signature", holds=True, said="the whole document is as it was signed"))
    except _Fails as trouble:
        return Verdict(trouble.code, (*steps, Step(trouble.step, holds=False, said=trouble.said)))
    return Verdict("verified", tuple(steps), card, key.kid, signed_at)


def read_keys(document: Any) -> tuple[RegistryKey, ...]:
    """The keys of a JSON Web Key Set, or of a registry's history of keys, which adds their times.

    Raises: NotAKey, also when two keys share a kid.
    """
    listed = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(listed, list) or len(listed) > KEYS_MAX:
        raise NotAKey("a key set is an object whose member keys is a list of bounded length")
    keys = tuple(_read_key(jwk) for jwk in listed)
    if len({key.kid for key in keys}) != len(keys):
        raise NotAKey("two keys of the set have the same kid")
    return keys


def _read(text: bytes | str) -> tuple[dict[str, Any], list[Any]]:
    if len(text) > CARD_MAX_BYTES:
        raise _Fails("malformed", "form", f"a document has at most {CARD_MAX_BYTES} bytes")
    try:
        document = read_json(text)
    except NotCanonical as trouble:
        raise _Fails("malformed", "form", str(trouble)) from None
    if not isinstance(document, dict):
        raise _Fails("malformed", "form", "a signed document is an object")
    entries = document.get("signatures")
    if not isinstance(entries, list) or not 1 <= len(entries) <= SIGNATURES_MAX:
        raise _Fails("unsigned", "form", f"a signed document has 1 to {SIGNATURES_MAX} signatures")
    return {name: value for name, value in document.items() if name != "signatures"}, entries


def _of_the_registry(entries: list[Any], typ: str) -> DetachedSignature:
    """The one entry by the registry's profile; a second one would leave open which of them is meant."""
    troubles: list[BadEntry] = []
    found = list(_readable(entries, troubles))
    if troubles:
        raise _Fails(troubles[0].code, "profile", str(troubles[0]))
    of_profile = [entry for entry in found if entry.profile == CARD_PROFILE]
    if len(of_profile) != 1:
        raise _Fails(
            "profile_missing",
            "profile",
            f"{len(of_profile)} signatures by the profile {CARD_PROFILE}, not one",
        )
    if of_profile[0].header.get("typ") != typ:
        raise _Fails("malformed", "profile", f"the `typ` of the signature is {typ}")
    return of_profile[0]


def _readable(entries: list[Any], troubles: list[BadEntry]) -> Iterator[DetachedSignature]:
    for entry in entries:
        try:
            yield read_entry(entry)
        except BadEntry as trouble:
            troubles.append(trouble)


def _key_of(entry: DetachedSignature, keys: Sequence[RegistryKey]) -> RegistryKey:
    for key in keys:
        if key.kid == entry.kid:
            return key
    raise _Fails("unknown_key", "key", "the registry has no key of that kid")


def _judged_time(entry: DetachedSignature, key: RegistryKey, at: datetime) -> datetime:
    if entry.signed_at is None or not 0 <= entry.signed_at <= SIGNED_AT_MAX:
        raise _Fails("malformed", "time", "the signature does not say when it was made")
    signed_at = datetime.fromtimestamp(entry.signed_at, UTC)
    if signed_at > at + CLOCK_SKEW:
        raise _Fails(
            "from_the_future", "time", f"signed at {signed_at.isoformat()}, judged as of {at.isoformat()}"
        )
    if key.valid_from is not None and signed_at < key.valid_from - CLOCK_SKEW:
        raise _Fails("key_not_yet_valid", "time", f"the key is valid from {key.valid_from.isoformat()} on")
    if key.retired_at is not None:
        if signed_at > key.retired_at + CLOCK_SKEW:
            raise _Fails(
                "key_retired", "time", f"signed after the key was retired at {key.retired_at.isoformat()}"
            )
        if at > key.retired_at + GRACE:
            raise _Fails(
                "key_retired", "time", f"the key was retired at {key.retired_at.isoformat()}, past its grace"
            )
    return signed_at


def _require_signed(entry: DetachedSignature, key: RegistryKey, card: Mapping[str, Any]) -> None:
    if not entry.is_by(key.public_key, canonical_json(card)):
        raise _Fails("bad_signature", "signature", "the document is not what was signed")


def _read_key(jwk: Any) -> RegistryKey:
    if not isinstance(jwk, Mapping) or not isinstance(jwk.get("kid"), str):
        raise NotAKey("a key of a set is an object with a kid")
    if jwk.get("use", "sig") != "sig" or jwk.get("alg", "EdDSA") != "EdDSA":
        raise NotAKey("a key of a registry is for signing with EdDSA")
    return RegistryKey(
        jwk["kid"], public_key_of(jwk), _read_moment(jwk, "valid_from"), _read_moment(jwk, "retired_at")
    )


def _read_moment(jwk: Mapping[str, Any], name: str) -> datetime | None:
    text = jwk.get(name)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise NotAKey(f"{name} must be an ISO 8601 time") from None
    if moment.tzinfo is None:
        raise NotAKey(f"{name} must have its offset from UTC")
    return moment
