"""Recorded transactions of the book, and the orders that carry them out once more. No I/O.

An order is given with its fee to be computed where the engine computed it: of transfers, of payments and of holds for them. Every
other amount is the recorded one.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from fractions import Fraction

import msgspec
from msgspec.structs import replace

from hansa.foundation.values.did import is_system_did
from hansa.foundation.values.money import share
from hansa.rooms.ledger.orders import ESCROW, LIQUID, NOBODY, Capture, NewHold, Order, Release, Terms

BUCKETS = ("liquid", "staked", "escrow", "transit")
AS_FAR_AS_COVERED = ("reward", "compound")
FEE_INSIDE = ("in", "launch", "trade")


class Change(msgspec.Struct, frozen=True):
    """One posting of a party: the bucket by its name, amounts in minor units."""

    account: str
    bucket: str
    delta: int
    after: int


class Movement(msgspec.Struct, frozen=True):
    """One transaction as it was recorded, amounts in minor units; `changes` are those of its parties, without that of the fee.

    Of a hold that is opened `fee_held` is its fee and `held_for` the kind of its owner.
    """

    id: int
    tx_type: str
    payer: str | None
    payee: str | None
    amount: int
    fee: int
    ref: str | None
    hold_id: int | None
    recorded_at: datetime
    changes: tuple[Change, ...]
    held_for: str | None
    hold_payee: str | None
    fee_held: int

    @property
    def parties(self) -> tuple[str, ...]:
        """The accounts that are debited and credited."""
        return tuple(did for did in (self.payer, self.payee) if did is not None)

    @property
    def recorded_fee(self) -> int:
        """The fee that was fixed by this transaction: the fee of a hold when it is opened, else the one that was paid."""
        return self.fee_held if self.tx_type == "hold" else self.fee

    @property
    def is_final(self) -> bool:
        """Return whether a capture freed the rest of its hold."""
        return any(
            one.account == self.payer and one.bucket == "liquid" and one.delta > 0 for one in self.changes
        )

    def bucket(self, account: str | None, *, is_debited: bool) -> int:
        """The bucket of this party that lost units, or gained them."""
        names = (
            one.bucket for one in self.changes if one.account == account and (one.delta < 0) == is_debited
        )
        return BUCKETS.index(next(names, "liquid")) + 1


class HeldUnits(msgspec.Struct, frozen=True):
    """Hold of the replay: its id there, its amount and its fee."""

    id: int
    amount: int
    fee: int


class Kinds(msgspec.Struct, frozen=True):
    """Kinds of holds that are deposits: without a fee, and not counted as sent."""

    deposits: frozenset[str]

    def is_computed(self, movement: Movement) -> bool:
        """Return whether the engine computes the fee of this transaction from the rates in force."""
        if movement.tx_type == "hold":
            return movement.held_for not in self.deposits
        return movement.tx_type == "transfer"

    def order_of(
        self,
        movement: Movement,
        *,
        hold: HeldUnits | None = None,
        replaced: HeldUnits | None = None,
        is_fee_fixed: bool = False,
    ) -> Order:
        """The order that does this once more; `hold` is the one that it ends or takes from, `replaced` the one before it."""
        if movement.tx_type == "transfer":
            if not is_fee_fixed:
                return Order(movement.payer, movement.payee, movement.amount)
            return _between(movement, Terms(fee="on_top", fixed_fee=movement.fee, paced="sent", typed=True))
        if movement.tx_type == "hold":
            return self._opening(movement, replaced, is_fee_fixed=is_fee_fixed)
        if hold is not None:
            return _on_hold(movement, hold)
        return _between(movement, _kept(movement))

    def _opening(self, movement: Movement, replaced: HeldUnits | None, *, is_fee_fixed: bool) -> Order:
        fixed = movement.fee_held if is_fee_fixed or movement.held_for in self.deposits else None
        if replaced is not None and fixed is None:
            fixed = share(movement.amount, Fraction(replaced.fee, replaced.amount))
        terms = Terms(
            tx_type="hold",
            to=ESCROW,
            fee="held",
            fixed_fee=fixed,
            active=NOBODY,
            paced="held" if replaced is not None or movement.held_for in self.deposits else "sent",
            hold=NewHold(movement.held_for or "", f"tx-{movement.id}"),
        )
        return _between(movement, terms)


def names_a_hold(movement: Movement) -> bool:
    """Return whether the transaction takes from a hold, or ends it."""
    return movement.hold_id is not None and movement.tx_type != "hold"


def replaces(movement: Movement, released: Movement | None) -> bool:
    """Return whether a hold was opened in the commit that released another one of its payer, with a part of its units."""
    return (
        movement.tx_type == "hold"
        and released is not None
        and released.payer == movement.payer
        and released.recorded_at == movement.recorded_at
        and released.amount >= movement.amount
    )


def crossing_of(movement: Movement) -> tuple[str, str] | None:
    """The account of the other registry, and the transfer that the transaction is a part of; None where it is no part of one."""
    account = {"out": movement.payee, "return": movement.payer, "swap": movement.payer}.get(movement.tx_type)
    if account is None or movement.ref is None:
        return None
    return account, movement.ref.strip("{}")


def is_between(movement: Movement, accounts: Collection[str]) -> bool:
    """Return whether all parties are among these accounts, which a replay takes for one."""
    return all(party in accounts for party in movement.parties)


def merged(movement: Movement, collectors: Sequence[str]) -> Movement:
    """Return the transaction with the first of these accounts in place of the others."""
    first, *others = collectors
    if not any(party in others for party in movement.parties):
        return movement
    payer, payee = (first if party in others else party for party in (movement.payer, movement.payee))
    changes = tuple(replace(one, account=first) if one.account in others else one for one in movement.changes)
    return replace(movement, payer=payer, payee=payee, changes=changes)


def _between(movement: Movement, terms: Terms) -> Order:
    return Order(movement.payer, movement.payee, movement.amount, more=terms)


def _on_hold(movement: Movement, hold: HeldUnits) -> Order:
    if movement.tx_type in {"release", "expire"}:
        terms = Terms(tx_type="release", active=NOBODY, release=Release(hold.id))
        return Order(None, None, 1, more=terms)
    is_inside = movement.tx_type in FEE_INSIDE
    terms = Terms(
        tx_type=movement.tx_type,
        fee="inside" if is_inside else "none",
        fixed_fee=movement.fee if is_inside else None,
        active=NOBODY,
        typed=movement.tx_type == "capture",
        capture=Capture(hold.id, final=movement.is_final, destroyed=movement.tx_type == "destroy"),
    )
    return Order(None, movement.payee, movement.amount, more=terms)


def _kept(movement: Movement) -> Terms:
    is_inside = movement.tx_type in FEE_INSIDE
    takes_the_rest = movement.tx_type == "destroy" and not is_system_did(movement.payer or "")
    return Terms(
        tx_type=movement.tx_type,
        from_=movement.bucket(movement.payer, is_debited=True) if movement.payer else LIQUID,
        to=movement.bucket(movement.payee, is_debited=False) if movement.payee else LIQUID,
        fee="inside" if is_inside else "none",
        fixed_fee=movement.fee if is_inside else None,
        active=NOBODY,
        paced="held" if movement.tx_type in {"stake", "trade"} else None,
        at_most=movement.tx_type in AS_FAR_AS_COVERED or takes_the_rest,
    )
