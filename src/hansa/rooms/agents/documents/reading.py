"""Resolve a DID of this registry. The registry's own accounts have readable DIDs and no keys."""

from uuid import UUID

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import SystemAccount, mint_did, system_did
from hansa.rooms import catalogue
from hansa.rooms.agents.errors import AgentUnknown

from . import store
from .records import Identity


async def resolve(tx: Tx, did: str, settings: Settings) -> Identity:
    """The agent of this registry, in any status, or the system account with that DID. Raises: AgentUnknown."""
    if did in {system_did(settings.did_method, account) for account in SystemAccount}:
        return Identity(did, "active", keys=(), card=None)
    found = await store.status_and_keys(tx, did)
    if found is None:
        raise AgentUnknown
    status, keys = found
    return Identity(did, status, keys, (await catalogue.card_of_agent(tx, did)).card_data)


async def resolve_bound(tx: Tx, unique: UUID, settings: Settings) -> Identity:
    """The agent whose DID is bound to this issuer and ends with that UUID. Raises: AgentUnknown."""
    if not settings.issuer:
        raise AgentUnknown
    return await resolve(tx, mint_did(settings.did_method, settings.issuer, unique), settings)


async def describe(tx: Tx, did: str) -> tuple[Identity, catalogue.Card]:
    """An agent of this registry and its card. Raises: AgentUnknown, also for a system account: it is no agent."""
    found = await store.status_and_keys(tx, did)
    if found is None:
        raise AgentUnknown
    status, keys = found
    card = await catalogue.card_of_agent(tx, did)
    return Identity(did, status, keys, card.card_data), card
