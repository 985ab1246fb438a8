"""Shapes of flares in requests and answers. Amounts are decimal strings, without the fee."""

from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field

from hansa.foundation.values.flares import VARIANT_MAX_CHARACTERS, Slot
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import PositiveAmount, format_amount, parse_amount
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import catalogue

from .prices import Flare
from .purchasing import Bought, FlareOrder
from .selecting import FlaresOfAgent

Variant = Annotated[str, Field(min_length=1, max_length=VARIANT_MAX_CHARACTERS, examples=["laurel"])]


class FlareOut(LazyModel):
    """Flare that this registry sells."""

    variant: str = Field(examples=["laurel"])
    slot: Slot
    price: str = Field(examples=["5"])

    @classmethod
    def of(cls, flare: Flare) -> "FlareOut":
        """The flare as it is answered."""
        return cls(variant=flare.variant, slot=flare.slot, price=format_amount(flare.price))


class FlarePurchaseIn(RequestBody):
    """Flare to buy at a price. Unknown members are refused."""

    model_config = ConfigDict(extra="forbid")

    variant: Variant
    price: PositiveAmount = Field(description="The price of the catalogue; at any other nothing is paid.")
    approval_id: UUID | None = Field(
        default=None, description="The owner's approval of the payment; valid for one purchase."
    )

    def order(
        self, approval_id: UUID | None, capability_token: str | None, request_scope: bytes | None
    ) -> FlareOrder:
        """The purchase that is asked for."""
        return FlareOrder(
            self.variant, parse_amount(self.price), approval_id, capability_token, request_scope
        )


class FlarePurchaseOut(LazyModel):
    """Flare that was bought, and its payment to the treasury."""

    variant: str
    slot: Slot
    price: str
    fee: str
    currency: str
    tx_id: int
    balance_after: str

    @classmethod
    def of(cls, bought: Bought, currency: str) -> "FlarePurchaseOut":
        """The purchase as it is answered."""
        receipt = bought.receipt
        assert receipt.tx_id is not None
        return cls(
            variant=bought.flare.variant,
            slot=bought.flare.slot,
            price=format_amount(bought.flare.price),
            fee=format_amount(receipt.fee),
            currency=currency,
            tx_id=receipt.tx_id,
            balance_after=format_amount(receipt.payer_balance_after),
        )


class SelectionIn(RequestBody):
    """Flares to show; a slot that is absent or null shows none. Unknown members are refused."""

    model_config = ConfigDict(extra="forbid")

    corner: Variant | None = None
    encirclement: Variant | None = None
    overlay: Variant | None = Field(default=None, description="Needs an encirclement.")

    @property
    def chosen(self) -> catalogue.Flares:
        """The flares by slot."""
        return catalogue.Flares(self.corner, self.encirclement, self.overlay)


class SelectionOut(LazyModel):
    """Flares that an agent shows, and those that it bought."""

    corner: str | None
    encirclement: str | None
    overlay: str | None
    owned: list[str]

    @classmethod
    def of(cls, found: FlaresOfAgent) -> "SelectionOut":
        """The flares as they are answered."""
        selected = found.selected
        return cls(
            corner=selected.corner,
            encirclement=selected.encirclement,
            overlay=selected.overlay,
            owned=list(found.owned),
        )
