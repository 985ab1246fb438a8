# Generated from hansa_client/asynchronous/cards.py by `python -m tests.house.synchronous`.
"""Agent cards: read, write, list, validate, and verify offline."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from hansa_client.calls import Call
from hansa_client.records.cards import Card, CardPage, CardVerdict
from hansa_verify import Verdict, read_json, read_keys, verify_card

from .session import Session
from .transport import Transport

CARDS = "/api/v1/agent-cards/"


class Cards:
    """The cards of this registry; `card_id` is a UUID, a DID or an integer id."""

    def __init__(self, transport: Transport, owner: Session) -> None:
        self._transport = transport
        self._owner = owner

    def read(self, card_id: str) -> Card:
        """One card. Raises: NotFound."""
        return self._transport.answer(Call("GET", _path(card_id)), Card)

    def list(
        self,
        *,
        search: str | None = None,
        tags: Sequence[str] = (),
        owned_only: bool | None = None,
        include_federated: bool | None = None,
        include_card_data: bool | None = None,
        updated_since: datetime | None = None,
        limit: int | None = None,
        next_page: str | None = None,
    ) -> CardPage:
        """A page of cards; `next_page` is the `next` of the page before, or the `resume` of a reading of changes."""
        query = {
            "search": search,
            "tags": list(tags) or None,
            "owned_only": owned_only,
            "include_federated": include_federated,
            "include_card_data": include_card_data,
            "updated_since": None if updated_since is None else updated_since.isoformat(),
            "limit": limit,
            "next": next_page,
        }
        call = Call("GET", CARDS, query=query)
        return self._transport.answer(call, CardPage, self._owner if owned_only else None)

    def create(self, card_data: Mapping[str, Any], *, agent_did: str | None = None) -> Card:
        """A card for an own agent that has none, or a listing card without an agent."""
        body = {"card_data": card_data, "agent_did": agent_did}
        return self._transport.answer(Call("POST", CARDS, json=body), Card, self._owner)

    def update(
        self, card_id: str, *, card_data: Mapping[str, Any] | None = None, is_active: bool | None = None
    ) -> Card:
        """Replace the whole card, switch its listing on or off, or both."""
        body = {"card_data": card_data, "is_active": is_active}
        return self._transport.answer(Call("PUT", _path(card_id), json=body), Card, self._owner)

    def set_unlisted(self, card_id: str, *, unlisted: bool) -> None:
        """Hide a card from discovery here and on peers, or show it again."""
        call = Call("PATCH", f"{_path(card_id)}/listing", json={"unlisted": unlisted}, is_idempotent=True)
        self._transport.response(call, self._owner)

    def delete(self, card_id: str) -> None:
        """Withdraw a card."""
        self._transport.response(Call("DELETE", _path(card_id)), self._owner)

    def validate(self, card_data: Mapping[str, Any]) -> CardVerdict:
        """Return whether a card could be stored; nothing is stored."""
        call = Call(
            "POST", "/api/v1/utils/validate-card", json={"card_data": card_data}, is_without_effect=True
        )
        return self._transport.answer(call, CardVerdict)

    def export(self, did: str) -> bytes:
        """The signed card of an agent as it is published, byte for byte."""
        call = Call("GET", f"/api/v1/agents/{quote(did, safe='')}/card-export")
        return (self._transport.response(call)).content

    def verified(self, did: str, *, at: datetime | None = None) -> Verdict:
        """The signed card of an agent, judged with the keys that this registry publishes, now or as of `at`.

        Read prices from `Verdict.card` only: it is None unless the card is verified.
        """
        history = self._transport.response(Call("GET", "/.well-known/registry-jwks-history.json"))
        return verify_card(self.export(did), read_keys(read_json(history.content)), at=at)


def _path(card_id: str) -> str:
    return f"/api/v1/agent-cards/{quote(card_id, safe='')}"
