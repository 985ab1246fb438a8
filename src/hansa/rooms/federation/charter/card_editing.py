"""Blocks of the registry card that the operator writes: six, each replaced or removed as a whole (decision T)."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.visible_text import seen
from hansa_verify.schema import schema_errors

from . import card_store
from .card_paths import CARD_PATHS, EDITABLE, EDITABLE_BLOCKS
from .card_publication import publish_card
from .card_schema import editing_schema
from .card_store import CardVersion, WrittenCard
from .errors import CardBlockLocked, CardMemberInvalid, CardUnsigned

COORDINATE_FRACTION_DIGITS = 6
"""About eleven metres; a signed number with more digits could need an exponent."""

_LOCKED = frozenset(row.path for row in CARD_PATHS if not row.marks & EDITABLE)


class CardEditor(msgspec.Struct, frozen=True):
    """Editor of the card, and the seal that the process signs with."""

    administrator: Developer
    settings: Settings
    seal: Seal


async def read_editable(tx: Tx) -> WrittenCard:
    """Return the blocks that the operator wrote."""
    return await card_store.written_card(tx)


async def read_editable_version(tx: Tx) -> tuple[WrittenCard, CardVersion]:
    """Return the blocks that the operator wrote, and the published version. Raises: CardUnsigned."""
    version = await card_store.newest_version(tx)
    if version is None:
        raise CardUnsigned
    return await read_editable(tx), version


async def edit_card(tx: Tx, editor: CardEditor, given: Mapping[str, Any]) -> CardVersion:
    """Replace the given blocks, remove those that are null, leave the others; sign the card.

    Raises: CardBlockLocked, CardMemberInvalid, KeyDoesNotOpen.
    """
    require_editable(given)
    await card_store.lock_card(tx)
    written = await card_store.written_card(tx)
    merged = {**written.editable, **{name: _plain(value) for name, value in given.items()}}
    blocks = {name: merged[name] for name in EDITABLE_BLOCKS if merged.get(name) is not None}
    await card_store.write_card(tx, blocks)
    await record_admin_act(
        tx, editor.administrator, act="registry_card.edit", subject=", ".join(sorted(given))
    )
    return await publish_card(tx, editor.settings, editor.seal)


async def set_icon(tx: Tx, editor: CardEditor, image: bytes, media_type: str) -> CardVersion:
    """Replace the icon with an image that was rewritten before, and sign the card. Raises: KeyDoesNotOpen."""
    await card_store.lock_card(tx)
    await card_store.write_icon(tx, image, media_type)
    await record_admin_act(tx, editor.administrator, act="registry_card.icon", subject=media_type)
    return await publish_card(tx, editor.settings, editor.seal)


def require_editable(given: Mapping[str, Any]) -> None:
    """Raises: CardBlockLocked, CardMemberInvalid; both name the member."""
    if not given:
        raise CardMemberInvalid(f"The body must have one of {', '.join(EDITABLE_BLOCKS)}.")
    for path, expected in schema_errors(given, editing_schema()):
        if path in _LOCKED:
            raise CardBlockLocked(f"{path} is derived by the registry and cannot be written.", field=path)
        raise CardMemberInvalid(f"{path} {expected}.", field=path)
    for path, text in _texts(given, ""):
        if seen(text) != text:
            raise CardMemberInvalid(f"{path} contains characters that cannot be seen.", field=path)
    for name in ("latitude", "longitude"):
        _require_short_fraction(name, (given.get("operator") or {}).get(name))


def _require_short_fraction(name: str, value: float | None) -> None:
    if value is not None and round(value, COORDINATE_FRACTION_DIGITS) != value:
        raise CardMemberInvalid(
            f"operator.{name} must have at most {COORDINATE_FRACTION_DIGITS} fraction digits.",
            field=f"operator.{name}",
        )


def _plain(value: Any) -> Any:
    """The value with whole numbers as integers, so that a signed number has one spelling."""
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, float | Decimal) and value == int(value):
        return int(value)
    return value


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _texts(member, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, f"{path}[{number}]")
