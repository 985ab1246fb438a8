"""Judge whether a registry signed its part of a slash across registries (Specification 2, "Federation slash settlement").

The evidence has signed messages (`fed-slash+jws`) of one registry about one claim: amounts that it asked for, applied, awarded,
paid or acknowledged. A request and an award have the facts of the dispute, which the same registry signed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from .canonical import canonical_json, read_json
from .card import CARD_MAX_BYTES, signer_of, time_of, verify_document
from .jws import CompactSignature, read_compact
from .keys import RegistryKey
from .schema import form_error
from .steps import VERIFIED, Decision, Refusal, TextEvaluation, refused_as

MESSAGE_TYPE, BUNDLE_TYPE = "fed-slash+jws", "dispute-bundle+jws"
MESSAGE_MAX_CHARACTERS = 800_000

_CLAIM = ("dispute_id", "defendant_did", "complainant_did", "amount", "currency")
# What each type of message has beside the claim.
_MEMBERS = {
    "slash-request": ("verdict",),
    "slash-confirmation": ("settlement_id", "status", "slashed_amount"),
    "slash-award": ("slashed_amount", "compensation_amount", "verdict"),
    "slash-paid": ("slashed_amount", "compensation_amount", "proof"),
    "slash-receipt": ("status",),
}
# What names an award; a receipt of an outcome has none of it.
_AWARD = ("slashed_amount", "compensation_amount", "payment")
_OPTIONAL = {
    "slash-confirmation": ("tx_id", "reason"),
    "slash-award": ("tx_id", "payment"),
    "slash-paid": ("payment",),
    "slash-receipt": ("reason", *_AWARD),
}
_NOT_SHOWN = {"verdict", "proof"}
_DESTROYED = {"SLASHED", "SETTLED"}
_DECIDED = {*_DESTROYED, "FAILED", "EXPIRED"}


@dataclass(frozen=True)
class SettlementVerdict(Decision):
    """The judgement; `messages` are the claim and the statement of each message without the facts, where they are verified."""

    messages: tuple[Mapping[str, Any], ...] = ()


def verify_settlement(
    text: bytes | str, keys: Sequence[RegistryKey], *, at: datetime | None = None
) -> SettlementVerdict:
    """Judge the evidence of a settlement by the keys of the registry that wrote it, as of `at`. Never raises."""
    judged = _Evaluation(text, keys, at)
    code, steps = judged.take()
    return SettlementVerdict(code, steps, judged.said() if code == VERIFIED else ())


class _Evaluation(TextEvaluation):
    messages: list[CompactSignature]
    signers: list[RegistryKey]

    def form(self) -> str:
        if len(self.text) > CARD_MAX_BYTES:
            raise Refusal("malformed", f"a document has at most {CARD_MAX_BYTES} bytes")
        with refused_as("malformed"):
            document = read_json(self.text)
        if error := form_error(document, "slash_evidence"):
            raise Refusal("malformed", error)
        self.messages = [_read_message(text) for text in document["messages"]]
        types = [message.payload["type"] for message in self.messages]
        if len(set(types)) != len(types):
            raise Refusal("malformed", "two messages are of the same type")
        return ", ".join(types)

    def key(self) -> str:
        self.signers = [signer_of(message.entry, self.keys) for message in self.messages]
        return f"signed with {', '.join(dict.fromkeys(signer.kid for signer in self.signers))}"

    def time(self) -> str:
        times = [time_of(message.payload["iat"], signer, self.at) for message, signer in self._signed()]
        return f"signed at {', '.join(time.isoformat() for time in times)}"

    def signature(self) -> str:
        for message, signer in self._signed():
            if not message.is_by(signer.public_key):
                raise Refusal("bad_signature", f"the {message.payload['type']} is not what was signed")
        return "every message is as it was signed"

    def claim(self) -> str:
        first, *others = (tuple(message.payload[name] for name in _CLAIM) for message in self.messages)
        if any(other != first for other in others):
            raise Refusal("claim", "the messages are about different claims")
        stated = self.messages[0].payload
        if Decimal(stated["amount"]) <= 0:
            raise Refusal("claim", "the amount must be greater than 0")
        return f"dispute {stated['dispute_id']}, {stated['amount']} {stated['currency']} of {stated['defendant_did']}"

    def outcome(self) -> str:
        said = "; ".join(_outcome_of(message.payload) for message in self.messages)
        named = [message.payload for message in self.messages if _names_award(message.payload)]
        if len({tuple(declared.get(name) for name in _AWARD) for declared in named}) > 1:
            raise Refusal("outcome", "the messages are about different awards")
        return said

    def facts(self) -> str:
        """A registry asks and awards on facts that it signed itself."""
        bundles = [
            message.payload for message in self.messages if "verdict" in _MEMBERS[message.payload["type"]]
        ]
        for declared in bundles:
            bundle = declared["verdict"]
            verdict = verify_document(canonical_json(bundle), self.keys, typ=BUNDLE_TYPE, at=self.at)
            if not verdict.is_valid:
                raise Refusal("facts", f"the facts of the dispute are not verified: {verdict.code}")
            if not _is_about(bundle.get("dispute"), declared):
                raise Refusal("facts", "the facts are of another dispute")
        return "signed facts of the dispute" if bundles else "these messages rest on no facts"

    steps = (form, key, time, signature, claim, outcome, facts)

    def said(self) -> tuple[Mapping[str, Any], ...]:
        """Statements of the verified messages, without the facts."""
        return tuple(_statement(message.payload) for message in self.messages)

    def _signed(self) -> list[tuple[CompactSignature, RegistryKey]]:
        return list(zip(self.messages, self.signers, strict=True))


def _is_about(complaint: Any, stated: Mapping[str, Any]) -> bool:
    if not isinstance(complaint, Mapping) or type(complaint.get("id")) is not int:
        return False
    named = [complaint.get(name) for name in ("id", "defendant_did", "complainant_did")]
    return named == [stated[name] for name in ("dispute_id", "defendant_did", "complainant_did")]


def _read_message(text: str) -> CompactSignature:
    message = read_compact(text, MESSAGE_TYPE, MESSAGE_MAX_CHARACTERS)
    if message is None:
        raise Refusal("malformed", f"a message is not a compact JWS of the type {MESSAGE_TYPE}")
    if error := form_error(message.payload, "slash_message"):
        raise Refusal("malformed", error)
    for name in _MEMBERS[message.payload["type"]]:
        if name not in message.payload:
            raise Refusal("malformed", f"{name} is required in a {message.payload['type']}")
    return message


def _outcome_of(stated: Mapping[str, Any]) -> str:
    """Return the statement of one message, if its amounts and its status agree."""
    kind = stated["type"]
    if kind == "slash-request":
        return f"{stated['amount']} asked for"
    if kind == "slash-receipt":
        if stated["status"] not in _DECIDED:
            raise Refusal("outcome", f"a receipt is for a final status, not for {stated['status']}")
        said = f"{stated['status']} acknowledged"
        return f"{said} of {_award_of(stated)}" if _names_award(stated) else said
    if kind == "slash-award":
        return _award_of(stated)
    if kind == "slash-paid":
        return f"{_award_of(stated)} and paid"
    said = _slash_of(stated)
    if (stated["status"] in _DESTROYED) != (Decimal(stated["slashed_amount"]) > 0):
        raise Refusal("outcome", f"{said} does not agree with {stated['status']}")
    return f"{stated['status']}, {said}"


def _names_award(stated: Mapping[str, Any]) -> bool:
    return "compensation_amount" in stated and "slashed_amount" in stated


def _slash_of(stated: Mapping[str, Any]) -> str:
    if Decimal(stated["slashed_amount"]) > Decimal(stated["amount"]):
        raise Refusal("outcome", "more was slashed than the amount of the claim")
    return f"{stated['slashed_amount']} slashed"


def _award_of(stated: Mapping[str, Any]) -> str:
    said = _slash_of(stated)
    if not 0 < Decimal(stated["compensation_amount"]) <= Decimal(stated["slashed_amount"]):
        raise Refusal("outcome", "a compensation is greater than 0, and at most what was slashed")
    return f"{said}, {stated['compensation_amount']} awarded"


def _statement(stated: Mapping[str, Any]) -> dict[str, Any]:
    kind = stated["type"]
    shown = ("type", *_CLAIM, *_MEMBERS[kind], *_OPTIONAL.get(kind, ()), "iat")
    return {name: stated[name] for name in shown if name in stated and name not in _NOT_SHOWN}
