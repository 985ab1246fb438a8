"""Decisions of the book that need no account, without I/O. Those on orders are the engine's (`sql/apply.sql`).

The fee: 0.5 % of the amount, on top. An agent that turns its funds over more than once an hour pays more: with
v = the units it sent in the last hour (this transfer excluded) over the largest balance it held in that hour, the rate is
0.5 % while v <= 1 and rises in a straight line to 5 % at v = 10. Both rates are settings that governance may change; the rates of a
fee are those in force at now() of the transaction that computes it, which the database decides (`sql/fees.sql`).
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import msgspec

from hansa.foundation.plumbing.settings import FEE_MAX_MOST, GovernedValues, Value
from hansa.foundation.values.did import is_system_did
from hansa.foundation.values.money import SUPPLY_MAX_UNITS, Minor, format_amount, units

from .errors import (
    AccountSuspended,
    InsufficientBalance,
    IssuanceRefused,
    MintTooLarge,
    ReferenceInvalid,
    SelfTransfer,
    SupplyExhausted,
    SystemAccountRefused,
    TreasuryInsufficient,
)

DISPUTE_REFERENCE = "dispute:"
"""How the references begin under which rulings destroy and issue units."""
REFERENCE_MAX_CHARACTERS = 128
OPEN_MAX = timedelta(hours=1)
"""No transaction is open for so long: the server ends it before."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


HIGHEST_RATE = Fraction(FEE_MAX_MOST) / 100
"""No setting and no decision of governance makes a fee that is a greater part of its amount."""


class FeePolicy(msgspec.Struct, frozen=True):
    """The published rates: fractions of the amount, and the turnovers an hour between which they rise."""

    rate_base: Fraction = Fraction(5, 1000)
    rate_max: Fraction = Fraction(5, 100)
    velocity_base: Fraction = Fraction(1)
    velocity_max: Fraction = Fraction(10)

    def as_integers(self) -> list[int]:
        """Numerators and denominators in the order of the members."""
        fractions = (self.rate_base, self.rate_max, self.velocity_base, self.velocity_max)
        return [number for fraction in fractions for number in fraction.as_integer_ratio()]


def fee_policy(base_percent: Value, max_percent: Value) -> FeePolicy:
    """The rates of the settings FEE_BASE_RATE_PERCENT and FEE_MAX_RATE_PERCENT."""
    return FeePolicy(Fraction(base_percent) / 100, Fraction(max_percent) / 100)


def fees_over_time(governed: GovernedValues) -> list[int]:
    """Rates that this process knows of, as `ledger_fees_at` reads them, for every transaction that is open or begins.

    Numerators and denominators; the moment before which the knowledge is complete; for each change its moment and the numerators and
    denominators from then on; those of the environment. Moments in microseconds since 1970.
    """
    knowledge = governed.knowledge
    settled_at = knowledge.until - OPEN_MAX if knowledge.turns else knowledge.until
    rates = _rates({**governed.stated, **knowledge.overlay(settled_at)})
    line = [*rates, _microseconds(knowledge.until)]
    for at in sorted({turn.at for turn in knowledge.turns if turn.at > settled_at}):
        before, rates = rates, _rates({**governed.stated, **knowledge.overlay(at)})
        if rates != before:
            line += [_microseconds(at), *rates]
    return [*line, *_rates(governed.stated)]


def _rates(values: Mapping[str, Value]) -> list[int]:
    return fee_policy(values["fee_base_rate_percent"], values["fee_max_rate_percent"]).as_integers()


def highest_fee(amount: Minor) -> Minor:
    """A bound of the fee of this amount, whatever its payer sent before and whatever the rates are."""
    return Minor(-(-amount * HIGHEST_RATE.numerator // HIGHEST_RATE.denominator))


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


class Account(msgspec.Struct, frozen=True):
    """A locked account."""

    id: int
    did: str
    is_active: bool
    liquid: Minor


def require_ordinary_parties(payer: str, payee: str) -> None:
    """Raises: SelfTransfer, SystemAccountRefused."""
    if payer == payee:
        raise SelfTransfer
    if is_system_did(payer) or is_system_did(payee):
        raise SystemAccountRefused


def require_active(parties: Sequence[Account]) -> None:
    """Raises: AccountSuspended, naming which."""
    for account in parties:
        if not account.is_active:
            raise suspended(account.did)


def suspended(did: str) -> AccountSuspended:
    """The refusal that names which account is suspended."""
    return AccountSuspended(f"The account {did} is suspended.")


def uncovered(liquid: int, required: int) -> InsufficientBalance:
    """Return the refusal that states the available and the required amount."""
    available, needed = format_amount(liquid), format_amount(required)
    return InsufficientBalance(
        f"The balance does not cover the amount and its fee: {available} available, {needed} required.",
        context={"available": available, "required": needed},
    )


def require_issuing(*, issues: bool) -> None:
    """Raises: IssuanceRefused, where the book issues no units."""
    if not issues:
        raise IssuanceRefused


def require_mintable(amount: Minor, amount_max: Minor) -> None:
    """Raises: MintTooLarge."""
    if amount > amount_max:
        raise MintTooLarge(
            f"One mint issues at most {format_amount(amount_max)} units (TEG_MINT_MAX_AVT), not {format_amount(amount)}."
        )


def require_reference(ref: str) -> None:
    """Raises: ReferenceInvalid."""
    if not ref.strip() or len(ref) > REFERENCE_MAX_CHARACTERS or not ref.isprintable():
        raise ReferenceInvalid(f"A reference must have 1 to {REFERENCE_MAX_CHARACTERS} printable characters.")
    if ref.startswith(DISPUTE_REFERENCE):
        raise ReferenceInvalid(f"References that begin with {DISPUTE_REFERENCE!r} are those of rulings.")


def require_within_supply(supply: Minor, amount: Minor) -> None:
    """Raises: SupplyExhausted."""
    if supply + amount > units(SUPPLY_MAX_UNITS):
        raise SupplyExhausted(
            f"The supply is {format_amount(supply)} of at most {SUPPLY_MAX_UNITS} units:"
            f" {format_amount(amount)} more would exceed it."
        )


def not_in_treasury(available: int, amount: int) -> TreasuryInsufficient:
    """Return the refusal that states the balance of the treasury."""
    return TreasuryInsufficient(
        f"The treasury holds {format_amount(available)} units: {format_amount(amount)} cannot be destroyed."
    )
