"""Issuing a capability, and drawing a narrower one from it.

The end of capabilities: revoked with all that was drawn from them, or forgotten when long over.

Whose capabilities there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.rights import Right
from hansa.foundation.values.secrets import fingerprint, new_hex
from hansa.rooms.agents.lineage import require_not_ending
from hansa.rooms.agents.rights import seen_with

from . import rules, store
from .errors import CapabilityAbsent, HolderUnknown
from .rules import Chain, Narrowing, Terms
from .use import Presenter, chain_for, within_mode


@dataclass(frozen=True)
class IssuedCapability:
    """A new capability and its token, which is shown once."""

    chain: Chain
    token: str = field(repr=False)


class Recipient(msgspec.Struct, frozen=True):
    """Holder and lifetime of a capability to be issued; without a holder it is good for everyone who presents it."""

    holder_did: str | None
    ttl_seconds: int


async def issue(
    tx: Tx, issuer: Agent, terms: Terms, recipient: Recipient, settings: Settings
) -> IssuedCapability:
    """A capability that begins a tree.

    Raises: PermissionNotHeld, ChildEnding, HolderUnknown, TooManyCapabilities.
    """
    if settings.agent_rbac_mode == "enforce":
        with within_mode(settings.agent_delegation_mode, issuer.did):
            rules.require_held(terms.permissions, issuer.permissions)
    return await _issued(tx, issuer.did, terms, recipient, parent=None)


async def attenuate(
    tx: Tx, capability_id: UUID, presenter: Presenter, asked: Narrowing, recipient: Recipient
) -> IssuedCapability:
    """A capability within another, drawn by an agent that may use that.

    Raises: CapabilityAbsent, CapabilityUnknown, CapabilityEnded, NotRedelegable, CapabilityWidened, ChildEnding,
    HolderUnknown, TooManyCapabilities.
    """
    parent = await chain_for(tx, capability_id, presenter)
    rules.require_redelegable(parent)
    return await _issued(
        tx, presenter.did, rules.narrowed(parent.leaf.terms, asked), recipient, parent=parent
    )


async def _issued(
    tx: Tx, issuer_did: str, terms: Terms, recipient: Recipient, *, parent: Chain | None
) -> IssuedCapability:
    rules.require_room(await store.lock_issuer(tx, issuer_did))
    await require_not_ending(tx, issuer_did)
    if recipient.holder_did is not None and not await store.is_agent(tx, recipient.holder_did):
        raise HolderUnknown
    token = new_hex("att_")
    new = store.NewCapability(
        fingerprint(token), issuer_did, recipient.holder_did, terms, recipient.ttl_seconds, parent
    )
    chain = await store.find_chain(tx, await store.insert(tx, new))
    assert chain is not None
    return IssuedCapability(chain, token)


class Revoked(msgspec.Struct, frozen=True):
    """Result of a revocation: `count` capabilities of the tree of `root_id` that were not revoked before."""

    root_id: UUID
    count: int


async def revoke(tx: Tx, capability_id: UUID, did: str) -> Revoked:
    """Revoke a capability and all that was drawn from it: for its holder, and for every issuer of its chain.

    Raises: CapabilityAbsent.
    """
    chain = await store.lock_chain(tx, capability_id)
    if chain is None or did not in {chain.leaf.holder_did, *(link.issuer_did for link in chain.links)}:
        raise CapabilityAbsent
    return Revoked(chain.root.id, await store.revoke(tx, chain.leaf))


async def forget_capabilities(tx: Tx) -> None:
    """Delete trees that ended long ago."""
    await store.delete_past(tx)


async def own_capabilities(tx: Tx, did: str) -> Sequence[Chain]:
    """The capabilities that the asking agent issued or holds, the newest first."""
    return await store.chains_of(tx, did)


async def own_capability(tx: Tx, capability_id: UUID, did: str) -> Chain:
    """A capability that an agent issued or holds. Raises: CapabilityAbsent."""
    chain = await store.find_chain(tx, capability_id)
    if chain is None or did not in {chain.leaf.issuer_did, chain.leaf.holder_did}:
        raise CapabilityAbsent
    return chain


async def capability_parties(tx: Tx, capability_id: UUID) -> list[str]:
    """The DIDs of the issuer and the holder of a capability; empty where there is none."""
    chain = await store.find_chain(tx, capability_id)
    if chain is None:
        return []
    return [did for did in (chain.leaf.issuer_did, chain.leaf.holder_did) if did is not None]


async def delegations(tx: Tx, developer: Developer, did: str) -> Sequence[Chain]:
    """The capabilities that an own agent issued or holds, the newest first. Raises: AgentUnknown."""
    await seen_with(tx, developer.id, did, Right.READ)
    return await store.chains_of(tx, did)
