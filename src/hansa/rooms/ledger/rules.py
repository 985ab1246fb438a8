"""The decisions of the book, without I/O.

The fee: 0.5 % of the amount, on top. An agent that turns its funds over more than once an hour pays more: with
v = what it sent in the last hour (this transfer excluded) over the largest balance it held in that hour, the rate is
0.5 % while v <= 1 and rises in a straight line to 5 % at v = 10.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec
from msgspec.structs import replace

from hansa.foundation.words.did import is_system_did
from hansa.foundation.words.money import SUPPLY_MAX_UNITS, Minor, format_amount, share, units

from .errors import (
    AccountSuspended,
    InsufficientBalance,
    MintTooLarge,
    ReferenceInvalid,
    SelfTransfer,
    SupplyExhausted,
    SystemAccountRefused,
    TreasuryInsufficient,
)

REFERENCE_MAX_CHARACTERS = 128
WINDOW_MINUTES = 60
SENT_MAX = 2**63 - 1


@dataclass(frozen=True)
class FeePolicy:
    """The published rates: fractions of the amount, and the turnovers an hour between which they rise."""

    rate_base: Fraction = Fraction(5, 1000)
    rate_max: Fraction = Fraction(5, 100)
    velocity_base: Fraction = Fraction(1)
    velocity_max: Fraction = Fraction(10)

    def as_integers(self) -> list[int]:
        """Numerators and denominators in the order of the members."""
        fractions = (self.rate_base, self.rate_max, self.velocity_base, self.velocity_max)
        return [number for fraction in fractions for number in fraction.as_integer_ratio()]


class Account(msgspec.Struct, frozen=True):
    """A locked account. `pace` holds (minute, sent, largest balance before sending) for recent minutes."""

    id: int
    did: str
    is_active: bool
    liquid: Minor
    pace: tuple[tuple[int, int, int], ...]
    minute: int


def fee_on(amount: Minor, payer: Account, policy: FeePolicy) -> Minor:
    """The fee added on top of `amount`, rounded half to even to the smallest unit."""
    sent, most_held = turnover(payer)
    # Nearly every transfer stands here; exact fractions are for the few that pay more.
    if sent <= most_held * policy.velocity_base.numerator // policy.velocity_base.denominator:
        return share(amount, policy.rate_base)
    return share(amount, fee_rate(velocity(payer), policy))


def velocity(payer: Account) -> Fraction:
    """How often the payer turned its funds over in the last hour."""
    sent, most_held = turnover(payer)
    return Fraction(sent, most_held) if most_held else Fraction(0)


def turnover(payer: Account) -> tuple[int, int]:
    """What the payer sent in the last hour, and the largest balance it held in it."""
    recent = recent_pace(payer)
    if not recent:
        return 0, payer.liquid
    return sum(sent for _, sent, _ in recent), max(payer.liquid, *(held for _, _, held in recent))


def fee_rate(turnovers: Fraction, policy: FeePolicy) -> Fraction:
    """The rate at a velocity: the base up to `velocity_base`, the maximum from `velocity_max` on."""
    heat = (turnovers - policy.velocity_base) / (policy.velocity_max - policy.velocity_base)
    return policy.rate_base + min(max(heat, Fraction(0)), Fraction(1)) * (policy.rate_max - policy.rate_base)


def recent_pace(payer: Account) -> tuple[tuple[int, int, int], ...]:
    """The minutes that still count."""
    return tuple(entry for entry in payer.pace if entry[0] > payer.minute - WINDOW_MINUTES)


def pace_after_sending(payer: Account, amount: Minor) -> tuple[tuple[int, int, int], ...]:
    """The payer's pace once `amount` is sent; minutes that no longer count are dropped."""
    past = recent_pace(payer)
    minute, sent, held = past[-1] if past else (0, 0, 0)
    # A large share of the supply that goes round and round passes 64 bits: the minute then gets another entry.
    if minute == payer.minute and sent + amount <= SENT_MAX:
        return (*past[:-1], (minute, sent + amount, max(held, payer.liquid)))
    return (*past, (payer.minute, amount, payer.liquid))


def fee_of_covered(payer: Account, payee: Account, amount: Minor, policy: FeePolicy) -> Minor:
    """The decision on a transfer between two locked accounts: its fee, when both may take part and it is covered.

    Raises: AccountSuspended, InsufficientBalance.
    """
    require_active([payer, payee])
    fee = fee_on(amount, payer, policy)
    require_covered(payer, amount + fee)
    return fee


def after_sending(payer: Account, amount: Minor, fee: Minor) -> Account:
    """The payer once the transfer is done."""
    return replace(payer, liquid=Minor(payer.liquid - amount - fee), pace=pace_after_sending(payer, amount))


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


def require_covered(payer: Account, required: int) -> None:
    """Raises: InsufficientBalance with what is available and what is required."""
    if payer.liquid < required:
        raise uncovered(payer.liquid, required)


def uncovered(liquid: int, required: int) -> InsufficientBalance:
    """The refusal that says what is available and what is required."""
    available, wanted = format_amount(liquid), format_amount(required)
    return InsufficientBalance(
        f"The balance does not cover the amount and its fee: {available} available, {wanted} required.",
        context={"available": available, "required": wanted},
    )


def require_mintable(amount: Minor, amount_max: Minor) -> None:
    """Raises: MintTooLarge."""
    if amount > amount_max:
        raise MintTooLarge(
            f"One mint issues at most {format_amount(amount_max)} units (TEG_MINT_MAX_AVT), not {format_amount(amount)}."
        )


def require_reference(ref: str) -> None:
    """Raises: ReferenceInvalid."""
    if not ref.strip() or len(ref) > REFERENCE_MAX_CHARACTERS or not ref.isprintable():
        raise ReferenceInvalid(f"A reference has 1 to {REFERENCE_MAX_CHARACTERS} printable characters.")


def require_within_supply(supply: Minor, amount: Minor) -> None:
    """Raises: SupplyExhausted."""
    if supply + amount > units(SUPPLY_MAX_UNITS):
        raise SupplyExhausted(
            f"The supply is {format_amount(supply)} of at most {SUPPLY_MAX_UNITS} units:"
            f" {format_amount(amount)} more would pass it."
        )


def require_in_treasury(treasury: Account, amount: Minor) -> None:
    """Raises: TreasuryInsufficient."""
    if treasury.liquid < amount:
        raise TreasuryInsufficient(
            f"The treasury holds {format_amount(treasury.liquid)} units: {format_amount(amount)} cannot be destroyed."
        )
