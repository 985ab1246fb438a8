"""Change a card at its owner's request. Each act locks the card first, so the second of two sees the result of the first."""

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.rights import Right
from hansa.rooms.catalogue import rules
from hansa.rooms.catalogue.changed_format import with_changed_format
from hansa.rooms.catalogue.errors import CardRevoked, CardUnknown
from hansa.rooms.catalogue.form import CheckedCard, check_card
from hansa.rooms.catalogue.reading import card_numbered
from hansa.rooms.catalogue.records import Card
from hansa.rooms.catalogue.replace import replace_document
from hansa.rooms.catalogue.signatures import SignaturePolicy, require_genuine
from hansa.rooms.catalogue.versions.rules import successor

from . import store
from .create import require_room_for_unverified
from .ownership import Ownership

Precondition: TypeAlias = Callable[[Card], None]
"""Raises: PreconditionFailed where the caller has seen another state of the card than this one."""


class Editor(msgspec.Struct, frozen=True):
    """Developer who edits a card, and the card: `key` is its UUID, the DID of its agent, or its number."""

    developer_id: int
    key: str
    precondition: Precondition
    policy: SignaturePolicy


class CardEdit(msgspec.Struct, frozen=True):
    """Changes that an owner may make to a card; None: no change."""

    card_data: dict[str, Any] | None
    is_active: bool | None


async def edit_card(tx: Tx, editor: Editor, edit: CardEdit, ownership: Ownership) -> Card:
    """Replace the document, switch the card on or off, both, or nothing; the card as it then is.

    Raises: as `_own_card`, and CardRevoked, CardInvalid, CardSignatureRefused, HumanReadableIdTaken, QuotaReached.
    """
    card = await _own_card(tx, editor, ownership, Right.OPERATE)
    if edit.is_active not in {None, card.is_active}:
        # A card that is switched off is in no listing.
        await ownership.require_right(tx, card, editor.developer_id, Right.MANAGE)
    if edit.card_data is None and edit.is_active is None:
        return card
    if edit.card_data is not None:
        await require_genuine(tx, card.did, edit.card_data, ownership.newest_keys, editor.policy)
        document = with_changed_format(edit.card_data, card.card_data or {})
        await replace_document(tx, card.card_id, document, source="owner")
    if edit.is_active is not None:
        _require_not_revoked(card)
        if edit.is_active and not card.is_active and card.is_unverified_server:
            await require_room_for_unverified(tx, editor.developer_id, card.card_id)
        await store.set_active(tx, card.card_id, is_active=edit.is_active)
    return await card_numbered(tx, card.card_id)


def preview_edit(card: Card, card_data: Any) -> CheckedCard:
    """Return the document that `edit_card` would store in place of the card's, or the troubles of `card_data`."""
    stored = card.card_data or {}
    if not isinstance(card_data, dict):
        return check_card(card_data)
    checked = check_card(with_changed_format(card_data, stored))
    if checked.card is None:
        return checked
    return replace(checked, card=successor(stored, checked.card))


async def list_or_unlist(tx: Tx, editor: Editor, ownership: Ownership, *, unlisted: bool) -> Card:
    """Show the card in listings and searches, or hide it there. Raises: as `_own_card`, and CardRevoked."""
    card = await _own_card(tx, editor, ownership, Right.MANAGE)
    _require_not_revoked(card)
    await store.set_unlisted(tx, card.card_id, unlisted=unlisted)
    return await card_numbered(tx, card.card_id)


async def delete_card(tx: Tx, editor: Editor, ownership: Ownership) -> None:
    """Switch the card off; a revoked one is off already. Raises: as `_own_card`."""
    card = await _own_card(tx, editor, ownership, Right.MANAGE)
    await store.set_active(tx, card.card_id, is_active=False)


async def _own_card(tx: Tx, editor: Editor, ownership: Ownership, right: Right) -> Card:
    """The card, locked, at which the editor has the right. Raises: DeveloperSuspended, CardUnknown, CardNotYours, OrgRoleRequired, PreconditionFailed."""
    await ownership.require_not_suspended(tx, editor.developer_id)
    number = await store.lock_card(tx, rules.card_key(editor.key))
    if number is None:
        raise CardUnknown
    card = await card_numbered(tx, number)
    await ownership.require_right(tx, card, editor.developer_id, right)
    editor.precondition(card)
    return card


def _require_not_revoked(card: Card) -> None:
    if card.status == "revoked":
        raise CardRevoked
