"""Judge, step by step, whether a registry signed an agent card.

- A card is believed by the registry's profile alone (`sorted-ascii-json/1`), which covers every member, prices and
  extensions included. The profile of stock A2A clients covers neither, so it is never enough here.
- Keys come from the caller, who took them from the registry itself; keys inside a card are not looked at.
- The card is judged as of a moment, now unless another is asked for: its key may by then be retired for seven days at
  the most, and may not have been retired when the card was signed.
- The verified card is returned (`Verdict.card`); nothing else of the document may be believed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .canonical import canonical_json, read_json
from .jws import BadEntry, DetachedSignature, read_entry
from .keys import CLOCK_SKEW, RegistryKey
from .steps import Decision, Refusal, TextEvaluation, refused_as

CARD_PROFILE = "sorted-ascii-json/1"
CARD_MAX_BYTES = 2 * 1024 * 1024
SIGNATURES_MAX = 16
# The year 9999, in epoch seconds.
SIGNED_AT_MAX = 253_402_300_799


@dataclass(frozen=True)
class Verdict(Decision):
    """The judgement; `card` is the card without its signatures, where it is verified."""

    card: Mapping[str, Any] | None = None
    kid: str | None = None
    signed_at: datetime | None = None


def verify_card(text: bytes | str, keys: Sequence[RegistryKey], *, at: datetime | None = None) -> Verdict:
    """Judge the text of an exported card by the keys of its registry, as of `at`. Never raises."""
    return verify_document(text, keys, typ="JOSE", at=at)


def verify_document(
    text: bytes | str, keys: Sequence[RegistryKey], *, typ: str, at: datetime | None = None
) -> Verdict:
    """Verify any document that a registry signed with a signature of this type, as `verify_card` does. Never raises."""
    judged = DocumentEvaluation(text, keys, typ, at)
    code, steps = judged.take()
    if code != "verified":
        return Verdict(code, steps)
    return Verdict(code, steps, judged.card, judged.signer.kid, judged.signed_at)


def signer_of(entry: DetachedSignature, keys: Sequence[RegistryKey]) -> RegistryKey:
    """The key that a signature names. Raises: Refusal when it is none of these."""
    for key in keys:
        if key.kid == entry.kid:
            return key
    raise Refusal("unknown_key", "the registry has no key of that kid")


def time_of(stated: int | None, signer: RegistryKey, at: datetime) -> datetime:
    """The stated time of a signature, in epoch seconds, if its key counts then and as of `at`. Raises: Refusal."""
    if stated is None or not 0 <= stated <= SIGNED_AT_MAX:
        raise Refusal("malformed", "the signature does not state when it was made")
    signed_at = datetime.fromtimestamp(stated, UTC)
    if signed_at > at + CLOCK_SKEW:
        raise Refusal("from_the_future", f"signed at {signed_at.isoformat()}, judged as of {at.isoformat()}")
    signer.require_in_force(signed_at)
    signer.require_in_grace(at)
    return signed_at


class DocumentEvaluation(TextEvaluation):
    """Decision of a signed document; `card` is the document without its signatures."""

    card: dict[str, Any]
    entries: list[Any]
    entry: DetachedSignature
    signer: RegistryKey
    signed_at: datetime

    def __init__(self, text: bytes | str, keys: Sequence[RegistryKey], typ: str, at: datetime | None) -> None:
        super().__init__(text, keys, at)
        self.typ = typ

    def form(self) -> str:
        if len(self.text) > CARD_MAX_BYTES:
            raise Refusal("malformed", f"a document has at most {CARD_MAX_BYTES} bytes")
        with refused_as("malformed"):
            document = read_json(self.text)
        if not isinstance(document, dict):
            raise Refusal("malformed", "a signed document is an object")
        entries = document.pop("signatures", None)
        if not isinstance(entries, list) or not 1 <= len(entries) <= SIGNATURES_MAX:
            raise Refusal("unsigned", f"a signed document has 1 to {SIGNATURES_MAX} signatures")
        self.card, self.entries = document, entries
        return "strict JSON with signatures"

    def profile(self) -> str:
        """A second signature by the registry's profile would leave open which of them is meant."""
        try:
            found = [entry for entry in map(read_entry, self.entries) if entry.profile == CARD_PROFILE]
        except BadEntry as error:
            raise Refusal(error.code, str(error)) from None
        if len(found) != 1:
            raise Refusal(
                "profile_missing", f"{len(found)} signatures by the profile {CARD_PROFILE}, not one"
            )
        self.entry = found[0]
        if self.entry.header.get("typ") != self.typ:
            raise Refusal("malformed", f"the `typ` of the signature is {self.typ}")
        return f"one signature by the profile {CARD_PROFILE}"

    def key(self) -> str:
        self.signer = signer_of(self.entry, self.keys)
        return f"signed with {self.signer.kid}"

    def time(self) -> str:
        self.signed_at = time_of(self.entry.signed_at, self.signer, self.at)
        return f"signed at {self.signed_at.isoformat()}"

    def signature(self) -> str:
        if not self.entry.is_by(self.signer.public_key, canonical_json(self.card)):
            raise Refusal("bad_signature", "the document is not what was signed")
        return "the whole document is as it was signed"

    steps: tuple[Callable[[Any], str], ...] = (form, profile, key, time, signature)
