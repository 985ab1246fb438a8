"""Orders to the book: the movement of each verb, in the form that the engine reads (`sql/apply.sql`, which decides them).

Amounts are minor units, greater than zero; parties are DIDs. Buckets: 1 liquid, 2 staked, 3 escrow, 4 transit.
"""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from hansa.foundation.values.money import ZERO, Minor

LIQUID, STAKED, ESCROW, TRANSIT = 1, 2, 3, 4
DEBIT, CREDIT, NOBODY = 1, 2, 0


class NewHold(msgspec.Struct, frozen=True, omit_defaults=True):
    """A hold to be opened for an owner's act; without `expires_at` it has no end of its own."""

    owner_kind: str
    owner_id: str
    payee: str | None = None
    expires_at: datetime | None = None


class Capture(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a hold to be paid; `final` frees the rest. A part that is `destroyed` is paid to no account."""

    id: int
    final: bool = False
    destroyed: bool = False


class Release(msgspec.Struct, frozen=True, omit_defaults=True):
    """Rest of a hold to be freed; with `due` only when it has expired and is not frozen."""

    id: int
    due: bool = False


class CrossingStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """Step of a crossing to or from another registry (`crossings.py`); the members are those of the engine."""

    step: Literal["reserve", "commit", "abort"]
    direction: Literal["out", "in", "swap_out", "swap_in"]
    transfer_id: UUID
    transit: str
    counterparty: str | None = None
    fee: int = 0
    net_in_limit: int | None = None
    supply_max: int | None = None
    treasury: str | None = None
    unclaimed: str | None = None
    leg: str | None = None
    again: bool = False


class ExtensionLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """Extension of an order (`extensions.py`) with its payload; `kind` names two functions of the room, or one."""

    kind: str
    payload: msgspec.Struct
    is_recorded: bool = True


class Terms(msgspec.Struct, frozen=True, omit_defaults=True, rename={"from_": "from"}):
    """Differences of an order from a transfer between two liquid balances; the members are those of the engine."""

    tx_type: str = "transfer"
    from_: int = LIQUID
    to: int = LIQUID
    fee: str = "none"
    fixed_fee: int | None = None
    active: int = DEBIT | CREDIT
    paced: str | None = None
    at_most: bool = False
    typed: bool = False
    ref: str | None = None
    memo: str | None = None
    group: int | None = None
    counterparty_frame: str | None = None
    hold: NewHold | None = None
    capture: Capture | None = None
    release: Release | None = None
    crossing: CrossingStep | None = None
    extension: ExtensionLine | None = None


class Order(msgspec.Struct, frozen=True, omit_defaults=True):
    """One order. `scope` and `digest`, both in hex, are its ledger key; `barred` refuses it unless the key was used.

    `caller_version` is the version of `caller`, or else of `debit`, as it was read before; None where it is not compared.
    """

    debit: str | None
    credit: str | None
    amount: int
    message: str | None = None
    more: Terms | None = None
    scope: str | None = None
    digest: str | None = None
    barred: bool = False
    caller: str | None = None
    caller_version: int | None = None

    @property
    def terms(self) -> Terms:
        """The terms in full, those of a transfer included."""
        return self.more or Terms(fee="on_top", paced="sent", typed=True)

    @property
    def is_extended(self) -> bool:
        """Return whether a room claims and records rows of its own with this order."""
        return self.more is not None and self.more.extension is not None

    def compared(self, caller: str, version: int | None) -> "Order":
        """The same order, refused (CallerChanged) if this caller has another version by then; None is not compared."""
        return (
            self if version is None else msgspec.structs.replace(self, caller=caller, caller_version=version)
        )

    def in_group(self, number: int) -> "Order":
        """The same order as one of a group, of which all are done or none."""
        return msgspec.structs.replace(self, more=msgspec.structs.replace(self.terms, group=number))

    def extended(self, line: ExtensionLine) -> "Order":
        """The same order with an extension."""
        return msgspec.structs.replace(self, more=msgspec.structs.replace(self.terms, extension=line))


class TransferOrder(msgspec.Struct, frozen=True):
    """Transfer that a payer asks for; `amount` in minor units, greater than zero."""

    payer: str
    payee: str
    amount: Minor
    message: str | None = None


def nothing_but(line: ExtensionLine) -> Order:
    """No units move: an extension alone."""
    return Order(None, None, 0, more=Terms(active=NOBODY, extension=line))


def transfer(order: TransferOrder, caller_version: int | None = None) -> Order:
    """Both liquid; the fee on top goes to the fee collector."""
    return Order(order.payer, order.payee, order.amount, order.message, caller_version=caller_version)


def payment(
    payer: str, payee: str, amount: Minor, ref: str, *, fee: Minor | None = None, memo: str | None = None
) -> Order:
    """Order of a transfer with a reference, and with this fee if one is given."""
    terms = Terms(fee="on_top", fixed_fee=fee, paced="sent", typed=True, ref=ref)
    return Order(payer, payee, amount, memo, more=terms)


def issue(account: str, amount: Minor, ref: str) -> Order:
    """Units come into being in an account, whatever its status; `ref` is used once."""
    return Order(None, account, amount, more=Terms(tx_type="issue", active=NOBODY, ref=ref))


def destroy(account: str, amount: Minor, ref: str, *, at_most: bool = False) -> Order:
    """Liquid units of an account cease to be, with `at_most` as many as there are; `ref` is used once."""
    terms = Terms(tx_type="destroy", active=NOBODY, at_most=at_most, ref=ref)
    return Order(account, None, amount, more=terms)


def fund(source: str, target: str, amount: Minor, ref: str) -> Order:
    """Between two of the registry's own accounts, without a fee."""
    return Order(source, target, amount, more=Terms(tx_type="pool", active=NOBODY, ref=ref))


def gather(source: str, target: str, amount: Minor) -> Order:
    """Between two of the registry's own accounts, as much as there is up to the amount, without a fee."""
    return Order(source, target, amount, more=Terms(tx_type="pool", active=NOBODY, at_most=True))


def grant(treasury: str, payee: str, amount: Minor, ref: str) -> Order:
    """Without a fee, whatever the status of the payee."""
    terms = Terms(tx_type="grant", active=NOBODY, typed=True, ref=ref, memo=ref)
    return Order(treasury, payee, amount, more=terms)


def correction(debit: str, credit: str, amount: Minor, ref: str) -> Order:
    """Order between the treasury and an account by an administrator, without a fee, whatever the status of the account; `ref` is used once."""
    return Order(debit, credit, amount, more=Terms(tx_type="correction", active=NOBODY, ref=ref, memo=ref))


def stake(agent: str, amount: Minor, position: str) -> Order:
    """Liquid to staked. The fee is measured against the largest balance of the hour, which a stake lowers."""
    terms = Terms(tx_type="stake", to=STAKED, active=DEBIT, paced="held", ref=position, memo=position)
    return Order(agent, agent, amount, more=terms)


def unstake(agent: str, amount: Minor, position: str | None) -> Order:
    """Staked to liquid."""
    terms = Terms(tx_type="unstake", from_=STAKED, active=DEBIT, ref=position, memo=position)
    return Order(agent, agent, amount, more=terms)


def reward(collector: str, agent: str, due: Minor) -> Order:
    """Order to pay the reward that is due, as far as the fee collector covers it."""
    return Order(collector, agent, due, more=Terms(tx_type="reward", active=CREDIT, at_most=True))


def compound(collector: str, agent: str, earned: Minor, position: str | None) -> Order:
    """Order to add a reward to the stake that earned it, as far as the fee collector covers it."""
    terms = Terms(tx_type="compound", to=STAKED, active=CREDIT, at_most=True, ref=position, memo=position)
    return Order(collector, agent, earned, more=terms)


def hold(payer: str, amount: Minor, held_for: NewHold, *, fee: Minor | None = None) -> Order:
    """Liquid to the payer's own escrow, with the fee of a transfer as of now, or with this one."""
    terms = Terms(
        tx_type="hold", to=ESCROW, fee="held", fixed_fee=fee, active=DEBIT, paced="sent", hold=held_for
    )
    return Order(payer, payer, amount, more=terms)


def rehold(payer: str, amount: Minor, held_for: NewHold, fee: Minor) -> Order:
    """Order of a hold with this fee of units that were held, and counted as sent, before."""
    terms = Terms(
        tx_type="hold", to=ESCROW, fee="held", fixed_fee=fee, active=DEBIT, paced="held", hold=held_for
    )
    return Order(payer, payer, amount, more=terms)


def deposit(payer: str, amount: Minor, held_for: NewHold) -> Order:
    """Order of a hold of units that stay the payer's own: without a fee, and not counted as sent."""
    return rehold(payer, amount, held_for, ZERO)


def capture(
    hold_id: int, amount: Minor, *, payee: str | None = None, final: bool = False, message: str | None = None
) -> Order:
    """From a hold to its payee, or to another one, with its part of the held fee. A suspended payer still pays."""
    terms = Terms(tx_type="capture", active=CREDIT, typed=True, capture=Capture(hold_id, final))
    return Order(None, payee, amount, message, more=terms)


def final_capture(
    hold_id: int, amount: Minor, ref: str, *, payee: str | None = None, memo: str | None = None
) -> Order:
    """The one capture of a hold, with a reference; its payer must be active as well."""
    terms = Terms(tx_type="capture", typed=True, ref=ref, capture=Capture(hold_id, final=True))
    return Order(None, payee, amount, memo, more=terms)


def sale(
    hold_id: int,
    amount: Minor,
    fee: Minor,
    *,
    payee: str,
    tx_type: Literal["launch", "trade"],
    final: bool = False,
    active: int = DEBIT | CREDIT,
) -> Order:
    """From a hold to a seller of points, who pays the fee of the amount."""
    terms = Terms(
        tx_type=tx_type, fee="inside", fixed_fee=fee, active=active, capture=Capture(hold_id, final=final)
    )
    return Order(None, payee, amount, more=terms)


def purchase(buyer: str, seller: str, amount: Minor, fee: Minor) -> Order:
    """From a buyer of points to their seller at once, who pays the fee of the amount."""
    terms = Terms(tx_type="trade", fee="inside", fixed_fee=fee, paced="held")
    return Order(buyer, seller, amount, more=terms)


def levy(payer: str, account: str, amount: Minor, ref: str) -> Order:
    """From the liquid units of an organization's agent to the account of a listing, whatever its status, without a fee."""
    return Order(payer, account, amount, more=Terms(tx_type="levy", active=NOBODY, ref=ref, memo=ref))


def distribution(account: str, holder: str, amount: Minor, ref: str) -> Order:
    """From the account of a listing to a holder of its points, without a fee."""
    return Order(
        account, holder, amount, more=Terms(tx_type="distribution", active=CREDIT, ref=ref, memo=ref)
    )


def unclaimed_distribution(account: str, unclaimed: str, amount: Minor, ref: str, holder: str) -> Order:
    """From the account of a listing to that for unclaimed units, in the name of a holder that was revoked."""
    terms = Terms(tx_type="distribution", active=NOBODY, ref=holder, memo=ref)
    return Order(account, unclaimed, amount, more=terms)


def slash(hold_id: int, amount: Minor, ref: str) -> Order:
    """A part of a hold ceases to be, with its part of the held fee; `ref` is used once."""
    terms = Terms(tx_type="destroy", active=NOBODY, ref=ref, capture=Capture(hold_id, destroyed=True))
    return Order(None, None, amount, more=terms)


def award(hold_id: int, amount: Minor, *, message: str | None = None) -> Order:
    """The final capture of a hold, whatever the status of its parties."""
    terms = Terms(tx_type="capture", active=NOBODY, typed=True, capture=Capture(hold_id, final=True))
    return Order(None, None, amount, message, more=terms)


def release(hold_id: int) -> Order:
    """Order to return the rest of a hold to its payer's liquid balance."""
    return Order(None, None, 1, more=Terms(tx_type="release", active=NOBODY, release=Release(hold_id)))


def expire(hold_id: int) -> Order:
    """Order to release a hold once it has expired."""
    terms = Terms(tx_type="expire", active=NOBODY, release=Release(hold_id, due=True))
    return Order(None, None, 1, more=terms)
