"""Signed cards of payees, read from the caller's own registry."""

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from hansa_client import AsyncRegistry
from hansa_client.calls import Call
from hansa_client.errors import NotFound
from hansa_client.pay.errors import OfferDeclined
from hansa_verify import NotAKey, NotCanonical, RegistryKey, read_json, read_keys, verify_card

KEPT_SECONDS = 300.0
CARDS_MAX = 1000


class AsyncSignedCards:
    """Cards that the registry signed; each is kept for five minutes. A verdict on a payment is never kept."""

    def __init__(self, registry: AsyncRegistry) -> None:
        self._registry = registry
        self._cards: dict[str, tuple[float, Mapping[str, Any]]] = {}

    async def card(self, did: str, *, is_fresh: bool = False) -> Mapping[str, Any]:
        """The verified card of an agent; `is_fresh` reads it anew. Raises: OfferDeclined, HansaError."""
        kept = self._cards.get(did)
        if kept and not is_fresh and kept[0] > time.monotonic():
            return kept[1]
        card = await self._read(did)
        if len(self._cards) >= CARDS_MAX:
            self._cards.clear()
        self._cards[did] = (time.monotonic() + KEPT_SECONDS, card)
        return card

    async def _read(self, did: str) -> Mapping[str, Any]:
        call = Call("GET", f"/api/v1/agents/{quote(did, safe=':')}/card-export")
        try:
            exported = await self._registry.fetch(call)
        except NotFound:
            raise OfferDeclined(f"The registry {self._registry.url} knows no payee {did}.") from None
        verdict = verify_card(exported.content, await self._keys())
        if not verdict.is_valid or verdict.card is None:
            raise OfferDeclined(f"The card of {did} is not signed by {self._registry.url}: {verdict.code}.")
        if verdict.card.get("did") not in {None, did}:
            raise OfferDeclined(f"The card of {did} is that of another agent.")
        return verdict.card

    async def _keys(self) -> tuple[RegistryKey, ...]:
        published = await self._registry.fetch(Call("GET", "/.well-known/registry-jwks.json"))
        try:
            return read_keys(read_json(published.content))
        except (NotCanonical, NotAKey) as trouble:
            raise OfferDeclined(f"The keys of {self._registry.url} are not usable: {trouble}.") from None
