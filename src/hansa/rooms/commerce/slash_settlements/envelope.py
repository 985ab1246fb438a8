"""Messages about settlements as they travel: compact JWS by the key of the author's registry, `fed-slash+jws`.

Each type of message is a shape with its limits, and a value that the acts of the room take and return.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.money import NotAnAmount, format_amount, parse_amount, parse_positive
from hansa.rooms import federation, transfers

from .settlement import Award, Claim, Outcome, Receipt, Status

KIND = "fed.slash.v1"
MESSAGE_MAX_CHARACTERS = 800_000
PROOF_MAX_CHARACTERS = 16_384
PAYMENT_MAX_CHARACTERS = 200
BIGINT_MAX = 2**63 - 1
ENVELOPE = federation.mailbox.Envelope("fed-slash+jws", MESSAGE_MAX_CHARACTERS)
MalformedMessage = federation.mailbox.MalformedMessage

Did = Annotated[str, msgspec.Meta(min_length=1, max_length=DID_MAX_CHARACTERS, pattern=r"\A[^\x00]*\Z")]
Number = Annotated[int, msgspec.Meta(ge=1, le=BIGINT_MAX)]
Amount = Annotated[str, msgspec.Meta(max_length=32)]
TxId = Annotated[str, msgspec.Meta(max_length=64)]
Payment = Annotated[
    str, msgspec.Meta(min_length=1, max_length=PAYMENT_MAX_CHARACTERS, pattern=r"\A[^\x00]*\Z")
]
Text = Annotated[str, msgspec.Meta(max_length=500, pattern=r"\A[^\x00]*\Z")]


class SettlementRequest(msgspec.Struct, frozen=True):
    """The claim of the author with the facts that it signed; `proof` is the addressee's text that it shows, not verified yet."""

    claim: Claim
    verdict: dict[str, Any]
    proof: str | None
    payment: str | None
    text: str = ""


class Confirmation(msgspec.Struct, frozen=True):
    """Statement of the author about a claim of the addressee, as it came; `positions` are nowhere where it states none."""

    outcome: Outcome
    positions: transfers.Message
    text: str = ""
    settlement_id: int = 0


class SignedAward(msgspec.Struct, frozen=True):
    """An award with the facts of its dispute, and the positions of the chains; nowhere where it states none."""

    claim: Claim
    award: Award
    verdict: dict[str, Any]
    positions: transfers.Message
    text: str = ""


class Paid(msgspec.Struct, frozen=True):
    """An award of the addressee that the author has paid; `proof` is the text by which it was awarded, not verified yet.

    `award`: the award that the author names itself; None where it names none.
    """

    claim: Claim
    award: Award | None
    proof: str
    positions: transfers.Message
    text: str = ""

    def is_of(self, signed: SignedAward) -> bool:
        """Return whether the author states that it paid this award."""
        is_named = self.award is None or self.award.is_same(signed.award)
        return is_named and signed.claim == self.claim


class SignedReceipt(msgspec.Struct, frozen=True):
    """A receipt as it came; `positions` are nowhere where it states none."""

    stated: Receipt
    text: str
    positions: transfers.Message


Message: TypeAlias = SettlementRequest | Confirmation | SignedAward | Paid | SignedReceipt


class _Claim(federation.mailbox.Placed, frozen=True, kw_only=True):
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

    def positions(self, text: str) -> transfers.Message:
        """Return the positions of the two chains of the pair when this text was signed; nowhere where it states none."""
        return transfers.positions_at(self.own_position, self.seen_position, self.to, text)


class _Named(_Claim, frozen=True, kw_only=True):
    """The members that distinguish an award from another one of the same dispute."""

    slashed_amount: Amount | None = None
    compensation_amount: Amount | None = None
    payment: Payment | None = None

    def award(self) -> Award | None:
        """Raises: NotAnAmount."""
        if self.slashed_amount is None or self.compensation_amount is None:
            return None
        amounts = parse_amount(self.slashed_amount), parse_amount(self.compensation_amount)
        return Award(*amounts, payment=self.payment)


class _Request(_Claim, frozen=True, kw_only=True, tag_field="type", tag="slash-request"):
    verdict: dict[str, Any]
    proof: Annotated[str, msgspec.Meta(max_length=PROOF_MAX_CHARACTERS)] | None = None
    payment: Payment | None = None

    def message(self, text: str) -> SettlementRequest:
        """Raises: NotAnAmount."""
        return SettlementRequest(self.claim(), self.verdict, self.proof, self.payment, text)


class _Confirmation(_Claim, frozen=True, kw_only=True, tag_field="type", tag="slash-confirmation"):
    settlement_id: Number
    status: Status
    slashed_amount: Amount
    tx_id: TxId | None = None
    reason: Text | None = None

    def message(self, text: str) -> Confirmation:
        """Raises: NotAnAmount."""
        slashed = parse_amount(self.slashed_amount)
        outcome = Outcome(self.claim(), self.status, slashed, self.tx_id, self.reason)
        return Confirmation(outcome, self.positions(text), text, self.settlement_id)


class _Award(_Claim, frozen=True, kw_only=True, tag_field="type", tag="slash-award"):
    slashed_amount: Amount
    compensation_amount: Amount
    verdict: dict[str, Any]
    tx_id: TxId | None = None
    payment: Payment | None = None

    def message(self, text: str) -> SignedAward:
        """Raises: NotAnAmount."""
        amounts = parse_amount(self.slashed_amount), parse_amount(self.compensation_amount)
        award = Award(*amounts, self.tx_id, self.payment)
        return SignedAward(self.claim(), award, self.verdict, self.positions(text), text)


class _Paid(_Named, frozen=True, kw_only=True, tag_field="type", tag="slash-paid"):
    proof: Annotated[str, msgspec.Meta(max_length=MESSAGE_MAX_CHARACTERS)]

    def message(self, text: str) -> Paid:
        """Raises: NotAnAmount."""
        return Paid(self.claim(), self.award(), self.proof, self.positions(text), text)


class _Receipt(_Named, frozen=True, kw_only=True, tag_field="type", tag="slash-receipt"):
    status: Status
    reason: Text | None = None

    def message(self, text: str) -> SignedReceipt:
        """Raises: NotAnAmount."""
        receipt = Receipt(self.claim(), self.status, self.reason, self.award())
        return SignedReceipt(receipt, text, self.positions(text))


def read_request(text: str, keys: Mapping[str, bytes]) -> Sequence[Message]:
    """Read a request of the peer with these keys. Raises: MalformedMessage."""
    return [_read(text, keys, _Request)]


def read_confirmation(text: str, keys: Mapping[str, bytes]) -> Sequence[Message]:
    """Read the answer of the peer with these keys to a request. Raises: MalformedMessage."""
    return [_read(text, keys, _Confirmation)]


def read_statement(text: str, keys: Mapping[str, bytes]) -> Sequence[Message]:
    """An outcome, an award, or the payment of one, by the peer with these keys. Raises: MalformedMessage."""
    return [_read(text, keys, _Confirmation | _Award | _Paid)]


def read_receipt(text: str, keys: Mapping[str, bytes]) -> Sequence[Message]:
    """Read the receipt of the peer with these keys for a statement. Raises: MalformedMessage."""
    return [_read(text, keys, _Receipt)]


def own_outcome(text: str, own_keys: Mapping[str, bytes]) -> Outcome:
    """Read the outcome that this registry, which has or had these keys, stated about a claim. Raises: MalformedMessage."""
    if len(text) > PROOF_MAX_CHARACTERS:
        raise MalformedMessage("form")
    outcome: Outcome = _read(text, own_keys, _Confirmation).outcome
    return outcome


def own_award(text: str, own_keys: Mapping[str, bytes]) -> SignedAward:
    """Read the award of this registry, which has or had these keys. Raises: MalformedMessage."""
    award: SignedAward = _read(text, own_keys, _Award)
    return award


def _read(text: str, keys: Mapping[str, bytes], shape: Any) -> Any:
    declared = ENVELOPE.verify_as(text, keys, shape)
    try:
        return declared.message(text)
    except NotAnAmount as error:
        raise MalformedMessage("amount") from error


def signed_text(key: federation.SigningKey, message: Message) -> str:
    """The message with the signature of this registry."""
    match message:
        case SettlementRequest():
            return signed_request(key, message.claim, message.verdict, message.proof, message.payment)
        case Confirmation():
            return signed_confirmation(key, message.settlement_id, message.outcome, message.positions)
        case SignedAward():
            return signed_award(key, message.claim, message.award, message.verdict, message.positions)
        case Paid():
            assert message.award is not None
            return signed_paid(key, message.claim, message.award, message.proof, message.positions)
        case SignedReceipt():
            return signed_receipt(key, message.stated, message.positions)


def signed_request(
    key: federation.SigningKey,
    claim: Claim,
    verdict: dict[str, Any],
    proof: str | None = None,
    payment: str | None = None,
) -> str:
    """Sign the claim with the facts of its dispute; `proof` is the text that the addressee had signed about it."""
    members = {"type": "slash-request", "verdict": verdict, "proof": proof, "payment": payment}
    return _signed(key, claim, {name: value for name, value in members.items() if value is not None})


def signed_confirmation(
    key: federation.SigningKey, settlement_id: int, outcome: Outcome, positions: transfers.Message
) -> str:
    """Sign the act or decision of this registry about a claim of a peer, with the positions of the two chains of the pair."""
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
    """Sign the award of this registry, decided and destroyed for a complainant of a peer, with the facts of the dispute."""
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
    """Return the members that distinguish an award from another one of the same dispute."""
    named = {
        "slashed_amount": format_amount(award.slashed),
        "compensation_amount": format_amount(award.compensation),
        "payment": award.payment,
    }
    return {name: value for name, value in named.items() if value is not None}


def _places(positions: transfers.Message) -> dict[str, Any]:
    return federation.mailbox.placed_members(positions.own, positions.seen, positions.to)


def _signed(key: federation.SigningKey, claim: Claim, members: dict[str, Any]) -> str:
    declared = {
        "kind": KIND,
        "dispute_id": claim.dispute_id,
        "defendant_did": claim.defendant_did,
        "complainant_did": claim.complainant_did,
        "amount": format_amount(claim.amount),
        "currency": claim.currency,
    }
    return ENVELOPE.sign(key, {**declared, **members})
