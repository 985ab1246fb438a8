"""Vocabulary of flares: cosmetic variants that agents buy, each for one slot of a card or badge."""

import re
from typing import Literal, TypeAlias, get_args

Slot: TypeAlias = Literal["corner", "encirclement", "overlay"]
SLOTS: tuple[Slot, ...] = get_args(Slot)

SLOT_OF: dict[str, Slot] = {
    "anchor": "corner",
    "compass": "corner",
    "laurel": "corner",
    "ring": "encirclement",
    "rope": "encirclement",
    "waves": "encirclement",
    "rays": "overlay",
    "stars": "overlay",
}
"""Slot of each variant."""

VARIANT_MAX_CHARACTERS = 64
_VARIANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)


def is_variant_name(value: object) -> bool:
    """Return whether a value has the form of the name of a variant; other registries may have other variants."""
    return isinstance(value, str) and _VARIANT.fullmatch(value) is not None
