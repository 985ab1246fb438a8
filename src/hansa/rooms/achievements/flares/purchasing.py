"""Buy a flare: one payment to the treasury, the flare and its event in one commit.

The payment is judged as any other of the agent: by its roles, a capability, its spend policy and the grant of a connected client.
Locks: the spend policy and the grant, then the accounts, then the flare.
"""

from dataclasses import dataclass, field
from uuid import UUID, uuid4

import msgspec

from hansa.foundation.events import FlarePurchased
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import agents, journal, ledger

from . import store
from .errors import FlareOwned
from .prices import Flare, flare_at

PERMISSION = "teg.transfer"
OPERATION = "flare.purchase"


@dataclass(frozen=True)
class FlareOrder:
    """Flare that an agent asks for, at the price that it expects; `approval_id` is its owner's approval."""

    variant: str
    price: Minor
    approval_id: UUID | None = None
    capability_token: str | None = field(default=None, repr=False)
    request_scope: bytes | None = field(default=None, repr=False)


class Bought(msgspec.Struct, frozen=True):
    """Flare that was bought, with the receipt of its payment."""

    flare: Flare
    receipt: ledger.Receipt


async def buy_flare(tx: Tx, agent: Agent, order: FlareOrder, settings: Settings) -> Bought | agents.Approval:
    """Buy a flare, or ask the owner of the agent to approve the payment.

    Raises: FlareUnknown, FlarePriceChanged, FlareOwned, the refusals of `agents.clear_payment` and `agents.ask_owner`, AccountSuspended,
    InsufficientBalance.
    """
    flare = flare_at(settings, order.variant, order.price)
    if flare.variant in await store.owned(tx, agent.did):
        raise FlareOwned
    book = ledger.Book.of(settings)
    payment = _payment(flare, order, book)
    if await agents.clear_payment(tx, agent, payment, settings) is agents.Clearance.NEEDS_APPROVAL:
        # Nobody is asked about what could not be paid anyway.
        await _require_liquid(tx, agent.did, flare.price)
        return await agents.ask_owner(tx, agent, payment)
    receipt = await ledger.pay_treasury(
        tx, agent.did, flare.price, ref=f"flare-{uuid4()}", memo=f"Flare {flare.variant}", book=book
    )
    assert receipt.tx_id is not None
    # The second of two purchases at the same moment finds the row, and its payment is undone.
    if not await store.add(tx, agent.did, flare, receipt.tx_id):
        raise FlareOwned
    await journal.append(tx, _purchased(agent.did, flare, receipt, book))
    return Bought(flare, receipt)


async def _require_liquid(tx: Tx, did: str, amount: Minor) -> None:
    liquid = (await ledger.balance_of(tx, did)).liquid
    if liquid < amount:
        raise ledger.uncovered(liquid, amount)


def _payment(flare: Flare, order: FlareOrder, book: ledger.Book) -> agents.Payment:
    return agents.Payment(
        payee=book.treasury,
        amount=flare.price,
        currency=book.currency,
        permission=PERMISSION,
        operation=OPERATION,
        approval_id=order.approval_id,
        capability_token=order.capability_token,
        request_scope=order.request_scope,
    )


def _purchased(did: str, flare: Flare, receipt: ledger.Receipt, book: ledger.Book) -> FlarePurchased:
    assert receipt.tx_id is not None
    return FlarePurchased(
        did,
        variant=flare.variant,
        slot=flare.slot,
        price=format_amount(flare.price),
        fee=format_amount(receipt.fee),
        currency=book.currency,
        tx_id=receipt.tx_id,
    )
