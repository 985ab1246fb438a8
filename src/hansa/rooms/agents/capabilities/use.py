"""Using a capability: judged and counted under the lock of its tree, so that no tree spends more than its root."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from hansa.foundation.plumbing.settings import CAUTIOUS_MODE, Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import begin, shadow_refusals_total
from hansa.foundation.values.errors import Forbidden
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms.agents.lineage import require_not_ending

from . import rules, store
from .errors import PASSED_IN_SHADOW, CapabilityAbsent, CapabilityUnknown
from .rules import Chain, Use
from .store import return_spent, spend

__all__ = [
    "Presenter",
    "chain_for",
    "consume",
    "found_for_use",
    "held_for_use",
    "return_spent",
    "spend",
    "within_mode",
]

_log = structlog.get_logger()
begin(shadow_refusals_total, ("capabilities",), [error.code for error in PASSED_IN_SHADOW])


@dataclass(frozen=True)
class Presenter:
    """The agent that names a capability by its id, and the token it shows with it."""

    did: str
    token: str | None = field(default=None, repr=False)


async def held_for_use(tx: Tx, token: str, did: str) -> Chain:
    """The capability that an agent shows, its tree locked until the transaction ends. Raises: CapabilityUnknown."""
    capability_id = await store.find_by_token(tx, fingerprint(token))
    chain = await store.lock_chain(tx, capability_id) if capability_id else None
    return rules.require_usable_by(chain, did, shows_token=True)


async def found_for_use(tx: Tx, token: str, did: str) -> Chain:
    """Return the capability that an agent shows, without the lock of `held_for_use`. Raises: CapabilityUnknown."""
    capability_id = await store.find_by_token(tx, fingerprint(token))
    chain = await store.find_chain(tx, capability_id) if capability_id else None
    return rules.require_usable_by(chain, did, shows_token=True)


async def chain_for(tx: Tx, capability_id: UUID, presenter: Presenter) -> Chain:
    """A capability that an agent names, its tree locked until the transaction ends.

    Raises: CapabilityAbsent when the agent has no part in it, CapabilityUnknown when it has and may not use it.
    """
    did, token = presenter.did, presenter.token
    shows_token = token is not None and await store.find_by_token(tx, fingerprint(token)) == capability_id
    chain = await store.lock_chain(tx, capability_id)
    if chain is not None and rules.may_use(chain.leaf, did, shows_token=shows_token):
        return chain
    if chain is not None and did in {link.issuer_did for link in chain.links}:
        raise CapabilityUnknown
    raise CapabilityAbsent


async def consume(tx: Tx, capability_id: UUID, presenter: Presenter, use: Use, settings: Settings) -> Chain:
    """Spend from a capability without moving units, for work paid or done elsewhere. Returns the chain with the rest of its budget.

    Raises: CapabilityAbsent, CapabilityUnknown, ChildEnding, and where delegation is enforced the errors of `rules.evaluate`.
    """
    chain = await chain_for(tx, capability_id, presenter)
    await require_not_ending(tx, presenter.did)
    with within_mode(settings.agent_delegation_mode, presenter.did):
        rules.evaluate(chain, use, roles_count=settings.agent_rbac_mode == "enforce")
        await spend(tx, chain, use.amount)
    left = await store.find_chain(tx, capability_id)
    assert left is not None
    return left


@contextmanager
def within_mode(mode: CAUTIOUS_MODE, did: str) -> Iterator[None]:
    """Let a refusal pass in `enforce`; in `shadow` record it, in `off` ignore it, and go on behind the block."""
    try:
        yield
    except Forbidden as refusal:
        if mode == "enforce":
            raise
        if mode == "shadow":
            shadow_refusals_total.labels("capabilities", refusal.code).inc()
            _log.warning(
                "shadow mode: would have been refused", control="capabilities", code=refusal.code, agent=did
            )
