"""Price of a call, the payment that a caller presents for it, and the judgement of the registry's verdict. No I/O."""

import hashlib
import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from hansa_client.records.payments import Verification

from .refusals import Refused, payment_refused

TOKEN = re.compile(r"apt_[0-9a-f]{64}", re.ASCII)
PRICE = re.compile(r"[0-9]{1,20}(\.[0-9]{1,8})?", re.ASCII)
MINOR_UNITS = Decimal(100_000_000)
SETTLED_BY_REGISTRY = "registry"
REFUSED_CALLERS = frozenset({"suspended", "revoked"})


@dataclass(frozen=True)
class Terms:
    """The price of one call, in units of `currency`."""

    amount: Decimal
    currency: str

    @property
    def minor_units(self) -> int:
        """The amount in units of 10^-8."""
        return int(self.amount * MINOR_UNITS)


def price_of(stated: str | Decimal | int) -> Decimal:
    """Return a price above zero. Raises: ValueError, TypeError for a float, which does not hold the written digits."""
    if isinstance(stated, float | bool):
        raise TypeError(f'a price is a decimal string such as "0.05", got {stated!r}')
    try:
        price = Decimal(stated)
    except InvalidOperation:
        price = Decimal(0)
    if not PRICE.fullmatch(str(stated)) or price <= 0:
        raise ValueError(f'a price is a decimal string greater than 0, such as "0.05", got {stated!r}')
    return price


@dataclass(frozen=True)
class Presented:
    """Payment that a caller presents."""

    token: str = field(repr=False)
    issuer: str | None
    by_x402: bool = False
    """Presented as an x402 payment, which is captured by the payee."""


@dataclass(frozen=True)
class Order:
    """Call to be paid: its fingerprint, which differs from that of another call, and the names under which a token may be bound to it."""

    fingerprint: str
    body_digest: str
    resources: frozenset[str]


def fingerprint_of(*parts: bytes) -> str:
    """One digest of parts in order; their borders count."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


@dataclass(frozen=True)
class Facts:
    """The verified facts of a payment, which do not change any more."""

    token_id: str
    caller_did: str
    amount: Decimal
    currency: str
    issuer: str
    capture_by: str
    by_x402: bool

    @property
    def is_captured_by_payee(self) -> bool:
        """Return whether the service settles, not the caller."""
        return self.capture_by == "payee"


def facts_of(verdict: Verification, issuer: str, *, by_x402: bool) -> Facts | None:
    """The facts of a valid verdict; None where it lacks one."""
    stated = (verdict.token_id, verdict.caller_did, verdict.amount, verdict.currency)
    token_id, caller_did, amount, currency = stated
    if not verdict.valid or token_id is None or caller_did is None or amount is None or currency is None:
        return None
    return Facts(token_id, caller_did, amount, currency, issuer, verdict.capture_by or "caller", by_x402)


@dataclass(frozen=True)
class Captures:
    """The payments that a service accepts.

    `by_service`: those that it captures itself. `by_any_caller`: also those that their callers settle; `callers_of` are the addresses of
    registries of which it accepts the latter.
    """

    by_service: bool
    by_any_caller: bool = False
    callers_of: frozenset[str] = frozenset()

    def of_issuer(self, address: str, own: str) -> "Captures":
        """The payments that it accepts with tokens of one registry. Only those of its own can be captured by a payee."""
        return Captures(self.by_service and address == own, self.by_any_caller or address in self.callers_of)

    @property
    def stated(self) -> tuple[str, ...]:
        """The values of `capture_by` that a challenge names, the preferred one first."""
        if not self.by_service:
            return ("caller",)
        return ("payee", "caller") if self.by_any_caller or self.callers_of else ("payee",)

    @property
    def needs_reserve(self) -> bool:
        """Return whether a token that its caller settles has to be reserved."""
        return not self.by_service and not self.by_any_caller

    def refusal_of(self, verdict: Verification, facts: Facts) -> Refused | None:
        """Why this kind of token is not accepted; None where it is."""
        if facts.is_captured_by_payee:
            if self.by_service:
                return None
            sentence = (
                "This service does not capture payments; use a reserved token with capture_by `caller`."
            )
            return payment_refused("CAPTURE_NOT_SUPPORTED", sentence)
        if self.by_any_caller or verdict.settled_by == SETTLED_BY_REGISTRY:
            return None
        if self.by_service:
            sentence = "This service captures its payments itself; use a token with capture_by `payee`."
            return payment_refused("CAPTURE_BY_CALLER", sentence)
        if not verdict.reserved:
            return payment_refused("NOT_RESERVED", "This service needs a reserved token; set `reserve`.")
        return None


def refusal_of(
    verdict: Verification, facts: Facts, terms: Terms, order: Order, captures: Captures
) -> Refused | None:
    """Why a valid token does not pay this call; None when it does."""
    unbound = (None, *order.resources)
    reasons = (
        (
            verdict.caller_status in REFUSED_CALLERS,
            "CALLER_SUSPENDED",
            f"The caller is {verdict.caller_status}.",
        ),
        (
            facts.currency != terms.currency,
            "CURRENCY_NOT_ACCEPTED",
            f"The token is in {facts.currency}; this service is paid in {terms.currency}.",
        ),
        (
            facts.amount < terms.amount,
            "AMOUNT_TOO_LOW",
            f"The token is worth {facts.amount}; the price is {terms.amount} {terms.currency}.",
        ),
        (
            verdict.resource not in unbound,
            "BOUND_TO_ANOTHER_RESOURCE",
            "The token is bound to another resource than this one.",
        ),
        (
            verdict.request_digest not in {None, order.body_digest},
            "BOUND_TO_ANOTHER_REQUEST",
            "The token is bound to a request with another body.",
        ),
        (
            facts.by_x402 and not facts.is_captured_by_payee,
            "CAPTURE_NOT_ALLOWED",
            "An x402 payment is a token with capture_by `payee`.",
        ),
    )
    found = next((payment_refused(code, detail) for applies, code, detail in reasons if applies), None)
    return found or captures.refusal_of(verdict, facts)
