"""Proposed ruling of a dispute that its facts decide. Pure: the same bundle gives everybody the same proposal.

A rule finds one party at fault from the records of the registry and from receipts and quotes whose signatures hold; the
word of a party counts for nothing. A finding against the defendant decides for the complainant if it answers the reason
of the complaint. A complaint that the complainant's own evidence contradicts is decided for the defendant. Without a
finding, or with findings against both, the facts are `undecidable`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any

from .canonical import read_moment
from .jws import CompactSignature, read_compact
from .keys import NotAKey, public_key_of

RULES_VERSION = 3
RULES_VERSIONS = (1, 2, 3)
"""Versions whose bundles are decided. A rule that a version did not have decides none of its bundles."""
FOR_COMPLAINANT, FOR_DEFENDANT = "IN_FAVOR_OF_COMPLAINANT", "IN_FAVOR_OF_DEFENDANT"
UNDECIDABLE = "undecidable"
RECEIPT_TYPE, RECEIPT_KIND = "pay-delivery+jws", "pay.delivery.v1"
QUOTE_TYPE, QUOTE_KIND = "payment-quote+jws", "pay.quote.v1"

Bundle = Mapping[str, Any]


@dataclass(frozen=True)
class Proposal:
    """The ruling that the facts give, None where they decide nothing; by which rule, and why."""

    ruling: str | None
    rule: str
    why: str


@dataclass(frozen=True)
class _Finding:
    """`at_fault` is a DID. `answers` are the reasons of a complaint that the finding decides."""

    rule: str
    at_fault: str
    answers: frozenset[str]
    why: str


@dataclass(frozen=True)
class _Receipt:
    """A delivery receipt that the payee signed."""

    request_digest: str
    answer_digest: str
    at: datetime


_NOT_AS_AGREED = frozenset({"SERVICE_NOT_DELIVERED", "CONTRACT_VIOLATION"})
_UNPAID = frozenset({"released", "expired"})
UNPAID_SINCE = 2
"""The first version of the rules with `not_paid`."""
_OVERPAID = frozenset({"UNFAIR_FEE", "CONTRACT_VIOLATION", "OTHER"})


def propose(bundle: Bundle) -> Proposal:
    """Return the ruling that follows from the facts of a bundle that a registry signed."""
    dispute, findings = bundle["dispute"], list(_findings(bundle))
    if len({finding.at_fault for finding in findings}) > 1:
        return Proposal(None, UNDECIDABLE, "The facts are against both parties.")
    answering = [finding for finding in findings if dispute["reason_code"] in finding.answers]
    if not answering:
        return Proposal(None, UNDECIDABLE, "No fact of record decides this complaint.")
    found = answering[0]
    if found.at_fault == dispute["defendant_did"]:
        return Proposal(FOR_COMPLAINANT, found.rule, found.why)
    if found.rule == "delivered":
        return Proposal(FOR_DEFENDANT, found.rule, found.why)
    return Proposal(None, UNDECIDABLE, "The facts are against the complainant, but not about this complaint.")


def _findings(bundle: Bundle) -> Iterator[_Finding]:
    """Yield the findings of the rules: those about a contract first, then those about a settled payment token."""
    contract, token = bundle["contract"], bundle["token"]
    if contract is not None:
        yield from (found for rule in _OF_CONTRACTS if (found := rule(bundle, contract)))
    if token is not None:
        yield from (found for rule in _OF_TOKENS if (found := rule(bundle, token)))


def _not_delivered(_: Bundle, contract: Bundle) -> _Finding | None:
    if (contract["status"], contract["ended_because"]) != ("FAILED", "not_submitted"):
        return None
    why = "The work was due, and the provider had not submitted it."
    return _Finding("not_delivered", contract["provider_did"], _NOT_AS_AGREED, why)


def _not_reviewed(bundle: Bundle, contract: Bundle) -> _Finding | None:
    """Delivered, and the contractor kept silent: in the review, and in the dispute as well."""
    contractor = contract["contractor_did"]
    is_unreviewed = (contract["status"], contract["ended_because"]) == ("FAILED", "not_reviewed")
    if not is_unreviewed or contractor in _spoke(bundle):
        return None
    submitted = [line for line in contract["history"] if line["act"] == "submitted"]
    delivered = {(piece["milestone"], piece["at"]) for piece in contract["deliverables"]}
    if not submitted or (submitted[-1]["milestone"], submitted[-1]["at"]) not in delivered:
        return None
    why = "The work was submitted with its digest, and the contractor did not review it in time."
    return _Finding("not_reviewed", contractor, frozenset({"CONTRACT_VIOLATION", "OTHER"}), why)


def _paid_beyond_contract(bundle: Bundle, contract: Bundle) -> _Finding | None:
    paid = sum((Decimal(payment["amount"]) for payment in bundle["payments"]), Decimal(0))
    if paid <= Decimal(contract["amount"]):
        return None
    why = f"The contract is worth {contract['amount']}, and {paid} were paid."
    return _Finding("settled_twice", contract["provider_did"], _OVERPAID, why)


def _settled_twice(bundle: Bundle, token: Bundle) -> _Finding | None:
    if token["status"] != "settled" or not bundle["same_work"]:
        return None
    other = bundle["same_work"][0]["token_id"]
    why = f"The payment token {other} had paid the same request of the same task."
    return _Finding("settled_twice", token["payee_did"], _OVERPAID, why)


def _above_quote(bundle: Bundle, token: Bundle) -> _Finding | None:
    if (token["status"], token["capture_by"]) != ("settled", "payee"):
        return None
    quoted = [Decimal(quote["amount"]) for quote in _quotes(bundle)]
    if not quoted or Decimal(token["paid_amount"]) <= max(quoted):
        return None
    why = f"The registry had signed a quote of {max(quoted)}, and the payee captured {token['paid_amount']}."
    return _Finding("above_quote", token["payee_did"], _OVERPAID, why)


def _wrong_request(bundle: Bundle, token: Bundle) -> _Finding | None:
    receipts = list(_receipts(bundle)) if token["status"] == "settled" else []
    if not receipts or token["request_digest"] in {None, *(one.request_digest for one in receipts)}:
        return None
    why = "The payee signed that it answered another request than the one that was paid."
    return _Finding("wrong_digest", token["payee_did"], _NOT_AS_AGREED | {"POOR_QUALITY"}, why)


def _too_late(bundle: Bundle, token: Bundle) -> _Finding | None:
    receipts = list(_receipts(bundle)) if token["status"] == "settled" else []
    first = min((receipt.at for receipt in receipts), default=None)
    if first is None or first <= _moment(token["expires_at"]):
        return None
    why = f"The payee signed that it answered at {first.isoformat()}, after the payment token had expired."
    return _Finding("not_delivered", token["payee_did"], _NOT_AS_AGREED, why)


def _delivered(bundle: Bundle, token: Bundle) -> _Finding | None:
    """The complainant says that nothing came, and names the digest of the answer that the receipt states."""
    caller, receipts = bundle["dispute"]["complainant_did"], list(_receipts(bundle))
    if caller != token["caller_did"] or {one.request_digest for one in receipts} != {token["request_digest"]}:
        return None
    had = {f"sha256:{piece['sha256']}" for piece in bundle["evidence"] if piece["by"] == caller}
    answers = {one.answer_digest for one in receipts}
    if len(answers) != 1 or not answers <= had:
        return None
    why = "The complainant has the answer whose digest the payee signed for this request."
    return _Finding("delivered", caller, frozenset({"SERVICE_NOT_DELIVERED"}), why)


def _not_paid(bundle: Bundle, token: Bundle) -> _Finding | None:
    """Delivered, and the caller that settles the token kept silent: it paid nothing, and brought nothing in the dispute either."""
    if bundle["rules"] < UNPAID_SINCE or token["settled_by"] != "caller" or token["status"] not in _UNPAID:
        return None
    caller, receipts = token["caller_did"], list(_receipts(bundle))
    is_of_another = any(token["request_digest"] not in {None, one.request_digest} for one in receipts)
    if not receipts or is_of_another or caller in _spoke(bundle):
        return None
    first = min(receipt.at for receipt in receipts)
    if first > min(_moment(token["ended_at"]), _moment(token["expires_at"])):
        return None
    why = f"The payee signed that it answered at {first.isoformat()}, and the caller did not pay."
    return _Finding("not_paid", caller, frozenset({"CONTRACT_VIOLATION", "OTHER"}), why)


_Rule = Callable[[Bundle, Bundle], _Finding | None]
_OF_CONTRACTS: tuple[_Rule, ...] = (_not_delivered, _not_reviewed, _paid_beyond_contract)
_OF_TOKENS: tuple[_Rule, ...] = (
    _settled_twice,
    _above_quote,
    _wrong_request,
    _too_late,
    _delivered,
    _not_paid,
)


def _spoke(bundle: Bundle) -> set[str]:
    """The parties that complained or brought evidence."""
    return {bundle["dispute"]["complainant_did"], *(piece["by"] for piece in bundle["evidence"])}


def _receipts(bundle: Bundle) -> Iterator[_Receipt]:
    """The receipts of the payee for the token, each signed by a key that the payee had then."""
    token = bundle["token"]
    keys = bundle["keys"]["agents"].get(token["payee_did"], ()) if token else ()
    for signed in _signed(bundle, RECEIPT_TYPE):
        declared = signed.payload
        if (declared.get("kind"), declared.get("token_id")) != (RECEIPT_KIND, token["token_id"]):
            continue
        at = read_moment(declared.get("at"))
        digests = declared.get("request_digest"), declared.get("answer_digest")
        if at is not None and all(isinstance(one, str) for one in digests) and _is_by(signed, keys, at):
            yield _Receipt(*digests, at)  # type: ignore[arg-type]


def _quotes(bundle: Bundle) -> Iterator[Mapping[str, Any]]:
    """The quotes of the registry that were in force when the token was authorized, for its caller and payee."""
    token = bundle["token"]
    authorized = _moment(token["created_at"]).timestamp()
    for signed in _signed(bundle, QUOTE_TYPE):
        quote = signed.payload
        declared = (quote.get("kind"), quote.get("caller"), quote.get("payee"), quote.get("currency"))
        if declared != (QUOTE_KIND, token["caller_did"], token["payee_did"], bundle["currency"]):
            continue
        issued, expires = quote.get("iat"), quote.get("exp")
        if type(issued) is not int or type(expires) is not int or not 0 <= issued <= authorized <= expires:
            continue
        if _is_by(signed, bundle["keys"]["registry"], datetime.fromtimestamp(issued, UTC)):
            yield quote


def _signed(bundle: Bundle, typ: str) -> Iterator[CompactSignature]:
    """Evidence whose note is a signature of this type, and whose digest is that of the note."""
    for piece in bundle["evidence"] if bundle["token"] is not None else ():
        signed = read_compact(piece["note"], typ)
        if signed is not None and sha256(piece["note"].encode()).hexdigest() == piece["sha256"]:
            yield signed


def _is_by(signed: CompactSignature, keys: Sequence[Mapping[str, Any]], at: datetime) -> bool:
    for key in keys:
        since, until = _moment(key["valid_from"]).replace(microsecond=0), read_moment(key["valid_until"])
        if since <= at and (until is None or at <= until):
            with suppress(NotAKey):
                if signed.is_by(public_key_of(key["public_key_jwk"])):
                    return True
    return False


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
