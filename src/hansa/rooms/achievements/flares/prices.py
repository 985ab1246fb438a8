"""Catalogue of the flares that this registry sells, by FLARE_PRICES."""

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.flares import SLOT_OF, SLOTS, Slot
from hansa.foundation.values.money import Minor, format_amount, parse_amount

from .errors import FlarePriceChanged, FlareUnknown


class Flare(msgspec.Struct, frozen=True):
    """Flare that is sold; `price` in minor units, without the fee."""

    variant: str
    slot: Slot
    price: Minor


def prices_of(settings: Settings) -> tuple[Flare, ...]:
    """The flares that are sold, by slot and variant."""
    priced = (one.partition("=")[::2] for one in settings.flare_prices)
    flares = (Flare(variant, SLOT_OF[variant], parse_amount(price)) for variant, price in priced)
    return tuple(sorted(flares, key=lambda flare: (SLOTS.index(flare.slot), flare.variant)))


def flare_at(settings: Settings, variant: str, price: Minor) -> Flare:
    """The flare of that name at this price. Raises: FlareUnknown, FlarePriceChanged."""
    found = next((flare for flare in prices_of(settings) if flare.variant == variant), None)
    if found is None:
        raise FlareUnknown
    if found.price != price:
        raise FlarePriceChanged(
            f"The flare {variant} costs {format_amount(found.price)}, not {format_amount(price)}; nothing was paid."
        )
    return found
