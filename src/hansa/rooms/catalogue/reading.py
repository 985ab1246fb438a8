"""Read one card by any of its names. A suspended, inactive or unlisted card is readable by its key."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx

from . import rules, store
from .errors import CardUnknown
from .records import Card, CardName, WorkOfAgent


async def card_of(tx: Tx, key: str) -> Card:
    """The card with that UUID, DID or number. Raises: CardUnknown."""
    return _found(await store.card_by_key(tx, rules.card_key(key)))


async def card_numbered(tx: Tx, number: int) -> Card:
    """The card with that number. Raises: CardUnknown."""
    return _found(await store.card_by_key(tx, number))


async def card_of_agent(tx: Tx, did: str) -> Card:
    """The card of the agent `did`, local or mirrored. Raises: CardUnknown."""
    return _found(await store.card_by_key(tx, did))


async def mirrored_statuses(tx: Tx, dids: Sequence[str]) -> dict[str, str]:
    """The statuses of agents of other registries as their cards here show them; without those that have no mirror."""
    return await store.mirrored_statuses(tx, dids)


async def mirrored_homes(tx: Tx, dids: Sequence[str]) -> dict[str, str]:
    """The ledger ids of the registries from which the cards of these agents are mirrored; without those that have no mirror."""
    return await store.mirrored_homes(tx, dids)


async def is_stated_bonded_here(tx: Tx, did: str) -> bool:
    """Return whether the mirrored card of an agent of another registry states an active bond."""
    card = await store.card_by_key(tx, did)
    return card is not None and card.source_registry is not None and card.bonded


async def name_of_agent(tx: Tx, did: str) -> str | None:
    """The name on the card of an own agent; None where it has no card, or an erased one."""
    return (await names_of_agents(tx, [did])).get(did)


async def names_of_agents(tx: Tx, dids: Sequence[str]) -> dict[str, str]:
    """The names on the cards of own agents, by DID; without those that have no card, or an erased one."""
    return await store.names_of_agents(tx, dids)


async def names_by_did(tx: Tx, dids: Sequence[str]) -> dict[str, str]:
    """The names on the cards of agents of any registry, by DID; without those whose card is unknown here, or erased."""
    return await store.names_by_did(tx, dids)


async def other_agents_of_owner(tx: Tx, card: Card, limit: int) -> list[CardName]:
    """The newest listed agents of the owner of this card, without its own; empty for the card of a peer and for an owner that is not public."""
    return [] if card.owner is None else await store.others_of_owner(tx, card.owner, card.card_id, limit)


async def listed_agents_of_organization(tx: Tx, organization_id: UUID, limit: int) -> list[WorkOfAgent]:
    """The listed agents of an organization with what they have settled, those with the most verified jobs first."""
    return await store.listed_of_organization(tx, organization_id, limit)


async def verified_jobs_of(tx: Tx, dids: Sequence[str]) -> dict[str, int]:
    """The verified jobs of those agents that have a card of this registry, by DID."""
    return await store.verified_jobs_of(tx, dids)


async def card_called(tx: Tx, human_readable_id: str) -> Card:
    """The card with that humanReadableId. Raises: CardUnknown."""
    return _found(await store.card_by_human_readable_id(tx, human_readable_id))


def _found(card: Card | None) -> Card:
    if card is None:
        raise CardUnknown
    return card
