"""Issuing a capability, and drawing a narrower one from it."""

from dataclasses import dataclass, field
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.secrets import fingerprint, new_hex

from . import rules, store
from .errors import HolderUnknown
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

    Raises: PermissionNotHeld, HolderUnknown, TooManyCapabilities.
    """
    if settings.agent_rbac_mode == "enforce":
        with within_mode(settings.agent_delegation_mode, issuer.did):
            rules.require_held(terms.permissions, issuer.permissions)
    return await _issued(tx, issuer.did, terms, recipient, parent=None)


async def attenuate(
    tx: Tx, capability_id: UUID, presenter: Presenter, asked: Narrowing, recipient: Recipient
) -> IssuedCapability:
    """A capability within another, drawn by an agent that may use that.

    Raises: CapabilityAbsent, CapabilityUnknown, CapabilityEnded, NotRedelegable, CapabilityWidened, HolderUnknown,
    TooManyCapabilities.
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
    if recipient.holder_did is not None and not await store.is_agent(tx, recipient.holder_did):
        raise HolderUnknown
    token = new_hex("att_")
    new = store.NewCapability(
        fingerprint(token), issuer_did, recipient.holder_did, terms, recipient.ttl_seconds, parent
    )
    chain = await store.find_chain(tx, await store.insert(tx, new))
    assert chain is not None
    return IssuedCapability(chain, token)
