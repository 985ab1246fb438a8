"""Signed cards of payees, read from the caller's own registry, or from the home of an agent of one of its peers."""

import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from hansa_client import AsyncRegistry
from hansa_client.calls import Call
from hansa_client.errors import NotFound
from hansa_client.pay.errors import OfferDeclined
from hansa_client.pay.offer import CardTerms
from hansa_verify import NotAKey, NotCanonical, RegistryKey, read_json, read_keys, verify_card

KEPT_SECONDS = 300.0
CARDS_MAX = 1000


class AsyncSignedCards:
    """Cards that their registry signed; the terms of each are kept for five minutes. A verdict on a payment is never kept.

    The home of an agent of another registry is the active peer that the caller's own registry lists for its DID.
    """

    def __init__(self, registry: AsyncRegistry) -> None:
        self._registry = registry
        self._terms: dict[str, tuple[float, CardTerms]] = {}

    async def terms(self, did: str, *, is_fresh: bool = False) -> CardTerms:
        """Return the terms of an agent's verified card; `is_fresh` reads it anew. Raises: OfferDeclined, HansaError."""
        kept = self._terms.get(did)
        if kept and not is_fresh and kept[0] > time.monotonic():
            return kept[1]
        terms = CardTerms.of(await self._read(did))
        if len(self._terms) >= CARDS_MAX:
            self._terms.clear()
        self._terms[did] = (time.monotonic() + KEPT_SECONDS, terms)
        return terms

    async def _read(self, did: str) -> Mapping[str, Any]:
        try:
            return await _signed_card(self._registry, did)
        except NotFound:
            address = await self._address_of_home(did)
        try:
            async with AsyncRegistry(address) as home:
                return await _signed_card(home, did)
        except NotFound:
            raise OfferDeclined(f"The registry {address} knows no payee {did}.") from None

    async def _address_of_home(self, did: str) -> str:
        """Return the address of the peer that speaks for the DID. Raises: OfferDeclined, HansaError."""
        roster = await self._registry.fetch(Call("GET", "/api/v1/federation/peers"))
        _, _, issuer, *_ = [*did.split(":"), "", "", ""]
        for peer in json.loads(roster.content)["peers"]:
            if (peer["trust_domain"], peer["status"]) == (issuer, "active"):
                address: str = peer["registry_url"]
                return address
        raise OfferDeclined(f"The registry {self._registry.url} knows no payee {did}.")


async def _signed_card(registry: AsyncRegistry, did: str) -> Mapping[str, Any]:
    """The card of an agent that this registry signed. Raises: NotFound, OfferDeclined, HansaError."""
    exported = await registry.fetch(Call("GET", f"/api/v1/agents/{quote(did, safe=':')}/card-export"))
    verdict = verify_card(exported.content, await _keys(registry))
    if verdict.code == "from_the_future":
        raise OfferDeclined(
            f"The card of {did} was signed later than the clock of this machine states: set the clock."
        )
    if not verdict.is_valid or verdict.card is None:
        raise OfferDeclined(f"The card of {did} is not signed by {registry.url}: {verdict.code}.")
    if verdict.card.get("did") not in {None, did}:
        raise OfferDeclined(f"The card of {did} is that of another agent.")
    return verdict.card


async def _keys(registry: AsyncRegistry) -> tuple[RegistryKey, ...]:
    published = await registry.fetch(Call("GET", "/.well-known/registry-jwks.json"))
    try:
        return read_keys(read_json(published.content))
    except (NotCanonical, NotAKey) as error:
        raise OfferDeclined(f"The keys of {registry.url} are not usable: {error}.") from None
