"""Select the flares that an agent shows: its card, and that of its copies at peers, states them from then on."""

from collections.abc import Iterable

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.flares import SLOT_OF, SLOTS, Slot
from hansa.rooms import catalogue

from . import store
from .errors import FlareNotOwned, SelectionInvalid


class FlaresOfAgent(msgspec.Struct, frozen=True):
    """Flares that an agent bought, and those that it shows."""

    owned: tuple[str, ...]
    selected: catalogue.Flares


async def flares_of(tx: Tx, did: str) -> FlaresOfAgent:
    """The flares of an agent; none of an unknown one."""
    return FlaresOfAgent(*await store.flares(tx, did))


def of_slot(variants: Iterable[str], slot: Slot) -> tuple[str, ...]:
    """Those of the variants that belong to a slot."""
    return tuple(variant for variant in variants if SLOT_OF.get(variant) == slot)


async def select_flares(tx: Tx, did: str, chosen: catalogue.Flares) -> FlaresOfAgent:
    """Show these flares and no others. Raises: SelectionInvalid, FlareNotOwned."""
    _require_fitting(chosen)
    bought = await store.owned(tx, did)
    for slot in SLOTS:
        variant = getattr(chosen, slot)
        if variant is not None and variant not in bought:
            raise FlareNotOwned(f"The agent has not bought the flare {variant}.")
    await store.select(tx, did, chosen)
    await catalogue.show_flares(tx, did, chosen)
    return FlaresOfAgent(tuple(bought), chosen)


def _require_fitting(chosen: catalogue.Flares) -> None:
    for slot in SLOTS:
        variant = getattr(chosen, slot)
        if variant is not None and SLOT_OF.get(variant) != slot:
            raise SelectionInvalid(f"There is no {slot} of that name.", field=slot)
    if chosen.overlay is not None and chosen.encirclement is None:
        raise SelectionInvalid("An overlay needs an encirclement: select one too.", field="overlay")
