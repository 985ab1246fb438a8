"""Messages about settlements as they travel: compact JWS by the key of the author's registry, `fed-slash+jws`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.money import NotAnAmount, format_amount, parse_amount, parse_positive
from hansa.rooms import federation, transfers
from hansa_verify.jws import read_compact

from .settlement import Award, Claim, Outcome, Receipt, Status

TYPE = "fed-slash+jws"
KIND = "fed.slash.v1"
MESSAGE_MAX_CHARACTERS = 800_000
PROOF_MAX_CHARACTERS = 16_384
PAYMENT_MAX_CHARACTERS = 200
BIGINT_MAX = 2**63 - 1

Did = Annotated[str, msgspec.Meta(min_length=1, max_length=DID_MAX_CHARACTERS, pattern=r"\A[^\x00]*\Z")]
Number = Annotated[int, msgspec.Meta(ge=1, le=BIGINT_MAX)]
Amount = Annotated[str, msgspec.Meta(max_length=32)]
Place = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Head = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Payment = Annotated[
    str, msgspec.Meta(min_length=1, max_length=PAYMENT_MAX_CHARACTERS, pattern=r"\A[^\x00]*\Z")
]
Text = Annotated[str, msgspec.Meta(max_length=500, pattern=r"\A[^\x00]*\Z")]


class _Claim(msgspec.Struct, frozen=True, kw_only=True):
    kind: Literal["fed.slash.v1"]
    dispute_id: Number
    defendant_did: Did
    complainant_did: Did
    amount: Amount
    currency: Annotated[str, msgspec.Meta(pattern=r"\A[A-Z0-9]{2,8}\Z")]

    def claim(self) -> Claim:
        """Raises: NotAnAmount."""
        return Claim(
            self.dispute_id,
            self.defendant_did,
            self.complainant_did,
            parse_positive(self.amount),
            self.currency,
        )


class _Position(msgspec.Struct, frozen=True):
    epoch: Place
    seq: Place
    head: Head

    @property
    def place(self) -> transfers.Position:
        return transfers.Position(self.epoch, self.seq, self.head)


class _Placed(_Claim, frozen=True, kw_only=True):
    epoch: Place = 0
    seq: Place = 0
    head: Head = transfers.NO_HEAD
    seen: _Position | None = None
    to: Annotated[str, msgspec.Meta(max_length=transfers.ADDRESSEE_MAX_CHARACTERS)] | None = None

    def positions(self, text: str) -> transfers.Message:
        """Where the two chains of the pair were when this text was signed; nowhere where it states none."""
        own = transfers.Position(self.epoch, self.seq, self.head)
        seen = transfers.NOWHERE if self.seen is None else self.seen.place
        return transfers.positions_at(own, seen, self.to, text)


class _Request(_Claim, frozen=True, kw_only=True):
    type: Literal["slash-request"]
    verdict: dict[str, Any]
    proof: Annotated[str, msgspec.Meta(max_length=PROOF_MAX_CHARACTERS)] | None = None
    payment: Payment | None = None


class _Confirmation(_Placed, frozen=True, kw_only=True):
    type: Literal["slash-confirmation"]
    settlement_id: Number
    status: Status
    slashed_amount: Amount
    tx_id: Annotated[str, msgspec.Meta(max_length=64)] | None = None
    reason: Text | None = None


class _Award(_Placed, frozen=True, kw_only=True):
    type: Literal["slash-award"]
    slashed_amount: Amount
    compensation_amount: Amount
    verdict: dict[str, Any]
    tx_id: Annotated[str, msgspec.Meta(max_length=64)] | None = None
    payment: Payment | None = None


class _Paid(_Placed, frozen=True, kw_only=True):
    type: Literal["slash-paid"]
    proof: Annotated[str, msgspec.Meta(max_length=MESSAGE_MAX_CHARACTERS)]
    slashed_amount: Amount | None = None
    compensation_amount: Amount | None = None
    payment: Payment | None = None


class _Receipt(_Placed, frozen=True, kw_only=True):
    type: Literal["slash-receipt"]
    status: Status
    reason: Text | None = None
    slashed_amount: Amount | None = None
    compensation_amount: Amount | None = None
    payment: Payment | None = None


def signed_request(
    key: federation.SigningKey,
    claim: Claim,
    verdict: dict[str, Any],
    proof: str | None = None,
    payment: str | None = None,
) -> str:
    """The claim with the facts of its dispute; `proof` is what the addressee had signed about it."""
    members = {"type": "slash-request", "verdict": verdict, "proof": proof, "payment": payment}
    return _signed(key, claim, {name: value for name, value in members.items() if value is not None})


def signed_confirmation(
    key: federation.SigningKey, settlement_id: int, outcome: Outcome, positions: transfers.Message
) -> str:
    """What this registry did or decided about a claim of a peer, and where the two chains of the pair are."""
    members = {
        **_places(positions),
        "type": "slash-confirmation",
        "settlement_id": settlement_id,
        "status": outcome.status.value,
        "slashed_amount": format_amount(outcome.slashed),
        "tx_id": outcome.tx_id,
        "reason": outcome.reason,
    }
    return _signed(key, outcome.claim, {name: value for name, value in members.items() if value is not None})


def signed_award(
    key: federation.SigningKey,
    claim: Claim,
    award: Award,
    verdict: dict[str, Any],
    positions: transfers.Message,
) -> str:
    """What this registry decided and destroyed for a complainant of a peer, with the facts of the dispute."""
    members = {
        **_places(positions),
        "type": "slash-award",
        "slashed_amount": format_amount(award.slashed),
        "compensation_amount": format_amount(award.compensation),
        "verdict": verdict,
        "tx_id": award.tx_id,
        "payment": award.payment,
    }
    return _signed(key, claim, {name: value for name, value in members.items() if value is not None})


def signed_paid(
    key: federation.SigningKey, claim: Claim, award: Award, proof: str, positions: transfers.Message
) -> str:
    """An award of the addressee is paid here: shown to it as it signed it, as it may have lost it in a restore."""
    members = {"type": "slash-paid", "proof": proof, **_named(award)}
    return _signed(key, claim, {**_places(positions), **members})


def signed_receipt(key: federation.SigningKey, receipt: Receipt, positions: transfers.Message) -> str:
    """The outcome of an own claim is recorded here, or an award is paid or refused."""
    members = {
        **_places(positions),
        "type": "slash-receipt",
        "status": receipt.status.value,
        "reason": receipt.reason,
        **({} if receipt.award is None else _named(receipt.award)),
    }
    return _signed(key, receipt.claim, {name: value for name, value in members.items() if value is not None})


def _named(award: Award) -> dict[str, Any]:
    """What distinguishes an award from another one of the same dispute."""
    named = {
        "slashed_amount": format_amount(award.slashed),
        "compensation_amount": format_amount(award.compensation),
        "payment": award.payment,
    }
    return {name: value for name, value in named.items() if value is not None}


def _named_award(stated: _Paid | _Receipt) -> Award | None:
    """Raises: NotAnAmount."""
    if stated.slashed_amount is None or stated.compensation_amount is None:
        return None
    amounts = parse_amount(stated.slashed_amount), parse_amount(stated.compensation_amount)
    return Award(*amounts, payment=stated.payment)


class SettlementRequest(msgspec.Struct, frozen=True):
    """The claim of a peer with the facts that it signed; `proof` is what it shows of this registry, not verified yet."""

    claim: Claim
    verdict: dict[str, Any]
    proof: str | None
    payment: str | None


def read_request(text: str, peer: federation.PeerRecord) -> SettlementRequest | None:
    """What this peer asks for; None where the text is no request."""
    payload = federation.read_signed(text, TYPE, _Request, peer, most_characters=MESSAGE_MAX_CHARACTERS)
    try:
        if payload is None:
            return None
        return SettlementRequest(payload.claim(), payload.verdict, payload.proof, payload.payment)
    except NotAnAmount:
        return None


def own_outcome(text: str, own_keys: Mapping[str, bytes]) -> Outcome | None:
    """What this registry, which has or had these keys, stated about a claim; None where it signed no such statement."""
    payload = _own_payload(text, own_keys, PROOF_MAX_CHARACTERS)
    try:
        return None if payload is None else _outcome(msgspec.convert(payload, _Confirmation))
    except (msgspec.ValidationError, NotAnAmount):
        return None


def _own_payload(text: str, own_keys: Mapping[str, bytes], most_characters: int) -> dict[str, Any] | None:
    signature = read_compact(text, TYPE, most_characters)
    key = None if signature is None else own_keys.get(signature.entry.kid or "")
    if signature is None or key is None or not signature.is_by(key):
        return None
    return dict(signature.payload)


class Confirmation(msgspec.Struct, frozen=True):
    """What a peer states about a claim of this registry, as it came; `positions` are nowhere where it states none."""

    outcome: Outcome
    positions: transfers.Message
    text: str


def read_confirmation(text: str, peer: federation.PeerRecord) -> Confirmation | None:
    """What this peer states about a claim of this registry; None where the text is no such statement."""
    payload = federation.read_signed(text, TYPE, _Confirmation, peer, most_characters=MESSAGE_MAX_CHARACTERS)
    try:
        if payload is None:
            return None
        return Confirmation(_outcome(payload), payload.positions(text), text)
    except NotAnAmount:
        return None


def _outcome(stated: _Confirmation) -> Outcome:
    slashed = parse_amount(stated.slashed_amount)
    return Outcome(stated.claim(), stated.status, slashed, stated.tx_id, stated.reason)


class SignedAward(msgspec.Struct, frozen=True):
    """An award with the facts of its dispute, and the positions of the chains; nowhere where it states none."""

    claim: Claim
    award: Award
    verdict: dict[str, Any]
    positions: transfers.Message


def read_award(text: str, peer: federation.PeerRecord) -> SignedAward | None:
    """What this peer awarded to an agent here, and the facts that it signed; None where the text is no award."""
    payload = federation.read_signed(text, TYPE, _Award, peer, most_characters=MESSAGE_MAX_CHARACTERS)
    try:
        return None if payload is None else _award(payload, text)
    except NotAnAmount:
        return None


class Paid(msgspec.Struct, frozen=True):
    """What a peer states that it paid; `proof` is the text by which this registry awarded it, not verified yet.

    `award`: what the peer names itself; None where it names nothing.
    """

    claim: Claim
    award: Award | None
    proof: str
    positions: transfers.Message
    text: str

    def is_of(self, signed: SignedAward) -> bool:
        """Whether the peer states that it paid this award."""
        is_named = self.award is None or self.award.is_same(signed.award)
        return is_named and signed.claim == self.claim


def read_paid(text: str, peer: federation.PeerRecord) -> Paid | None:
    """Which award this peer has paid; None where the text is no such statement."""
    payload = federation.read_signed(text, TYPE, _Paid, peer, most_characters=MESSAGE_MAX_CHARACTERS)
    try:
        if payload is None:
            return None
        return Paid(payload.claim(), _named_award(payload), payload.proof, payload.positions(text), text)
    except NotAnAmount:
        return None


def own_award(text: str, own_keys: Mapping[str, bytes]) -> SignedAward | None:
    """What this registry, which has or had these keys, awarded; None where it signed no such award."""
    payload = _own_payload(text, own_keys, MESSAGE_MAX_CHARACTERS)
    try:
        return None if payload is None else _award(msgspec.convert(payload, _Award), text)
    except (msgspec.ValidationError, NotAnAmount):
        return None


def _award(stated: _Award, text: str) -> SignedAward:
    amounts = parse_amount(stated.slashed_amount), parse_amount(stated.compensation_amount)
    award = Award(*amounts, stated.tx_id, stated.payment)
    return SignedAward(stated.claim(), award, stated.verdict, stated.positions(text))


class SignedReceipt(msgspec.Struct, frozen=True):
    """A receipt of a peer as it came; `positions` are nowhere where it states none."""

    stated: Receipt
    text: str
    positions: transfers.Message


def read_receipt(text: str, peer: federation.PeerRecord) -> SignedReceipt | None:
    """What this peer did with an outcome or an award of this registry; None where the text is no receipt."""
    payload = federation.read_signed(text, TYPE, _Receipt, peer, most_characters=MESSAGE_MAX_CHARACTERS)
    try:
        if payload is None:
            return None
        receipt = Receipt(payload.claim(), payload.status, payload.reason, _named_award(payload))
        return SignedReceipt(receipt, text, payload.positions(text))
    except NotAnAmount:
        return None


def _places(positions: transfers.Message) -> dict[str, Any]:
    own, seen = positions.own, positions.seen
    addressee = {} if positions.to is None else {"to": positions.to}
    return {
        **addressee,
        "epoch": own.epoch,
        "seq": own.seq,
        "head": own.head,
        "seen": {"epoch": seen.epoch, "seq": seen.seq, "head": seen.head},
    }


def _signed(key: federation.SigningKey, claim: Claim, members: dict[str, Any]) -> str:
    stated = {
        "kind": KIND,
        "dispute_id": claim.dispute_id,
        "defendant_did": claim.defendant_did,
        "complainant_did": claim.complainant_did,
        "amount": format_amount(claim.amount),
        "currency": claim.currency,
    }
    return federation.signed_message(key, TYPE, {**stated, **members})
