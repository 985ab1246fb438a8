"""The card as the registry vouches for it: signed twice, by the registry's profile and by the one of stock A2A clients.

- Key and card are looked at for every export, so a rotation, a change and a suspension count at once.
- The signed bytes of a card are kept as long as neither changes, and an hour at most.
"""

import asyncio
import json
from collections import OrderedDict

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.canonical import canonical_json
from hansa.rooms.catalogue.errors import CardUnknown
from hansa.rooms.catalogue.reading import card_of_agent
from hansa.rooms.catalogue.records import Card
from hansa.rooms.federation import SIGNATORY, Signatory, SigningKey, detached_signature
from hansa_verify import CARD_PROFILE

from . import store
from .a2a_profile import A2A_PROFILE, a2a_signature
from .document import TOMBSTONE_TIME, exported_document, is_forgotten, signing_moment
from .records import ExportedState

KEPT_MAX_BYTES = 32 * 1024 * 1024
# Signing a larger card takes long enough for others to notice.
SIGNED_ASIDE_BYTES = 16 * 1024

_Kept = tuple[int, int, int, int]


class CardExporter:
    """Signs cards in one process, and keeps the signed ones within a bound."""

    def __init__(self, database: Database, signatory: Signatory, settings: Settings) -> None:
        self._database = database
        self._signatory = signatory
        self._settings = settings
        self._kept: OrderedDict[_Kept, bytes] = OrderedDict()
        self._kept_bytes = 0

    async def export(self, did: str) -> bytes:
        """The signed card of an agent of this registry, as JSON. Raises: CardUnknown, KeyDoesNotOpen, Unavailable."""
        key = await self._signatory.present_key()
        state = await self._database.query(lambda tx: store.exported_state(tx, did))
        stored = self._kept.get(_name(_require_exported(state, key), key))
        if stored is not None:
            return stored
        state, card = await self._database.read(lambda tx: _state_and_card(tx, did))
        known = _require_exported(state, key)
        if known.card_bytes > SIGNED_ASIDE_BYTES:
            signed = await asyncio.to_thread(self._sign, card, known, key)
        else:
            signed = self._sign(card, known, key)
        self._keep(_name(known, key), signed)
        return signed

    def _sign(self, card: Card, state: ExportedState, key: SigningKey) -> bytes:
        document = exported_document(card, self._settings.extension_base)
        header = {"iat": signing_moment(state, key.valid_from, key.now)}
        signatures = [
            detached_signature(key, canonical_json(document), {**header, "canon": CARD_PROFILE}),
            a2a_signature(
                document,
                key.private,
                {**header, "canon": A2A_PROFILE, "kid": key.kid, "typ": "JOSE"},
            ),
        ]
        return json.dumps(
            {**document, "signatures": signatures}, separators=(",", ":"), ensure_ascii=False
        ).encode()

    def _keep(self, name: _Kept, signed: bytes) -> None:
        self._kept_bytes += len(signed) - len(self._kept.pop(name, b""))
        self._kept[name] = signed
        while self._kept_bytes > KEPT_MAX_BYTES:
            self._kept_bytes -= len(self._kept.popitem(last=False)[1])


async def is_exported(tx: Tx, did: str) -> bool:
    """Return whether this registry exports a signed card of the agent: one of its own, until its tombstone ends."""
    return await store.is_exported(tx, did, TOMBSTONE_TIME)


async def _state_and_card(tx: Tx, did: str) -> tuple[ExportedState | None, Card]:
    return await store.exported_state(tx, did), await card_of_agent(tx, did)


def _require_exported(state: ExportedState | None, key: SigningKey) -> ExportedState:
    """Raises: CardUnknown, also for the card of another registry, which that one exports."""
    if state is None or is_forgotten(state, key.now):
        raise CardUnknown
    return state


def _name(state: ExportedState, key: SigningKey) -> _Kept:
    return state.card_id, state.changed_xid, key.sequence, signing_moment(state, key.valid_from, key.now)


EXPORT_DESK: Slot[CardExporter] = Slot(
    "catalogue: export of signed cards",
    build=lambda runtime: CardExporter(runtime.database, SIGNATORY.of(runtime), runtime.settings),
)
