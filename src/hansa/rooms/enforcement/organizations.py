"""Suspend and reinstate an organization with its treasury and its agents. A reinstatement ends only what the suspension began.

Locks: the organization, then its agents in the order of their DIDs. Members decide nothing about their own organization.
"""

from typing import Final

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import agents, organizations

from . import store
from .rules import Restored, Stopped
from .suspend import reinstate_each, suspend_each

BASIS: Final = "organization"


async def suspend_organization(
    tx: Tx, key: str, administrator: Developer, *, reason: str
) -> tuple[organizations.Organization, list[Stopped]]:
    """Suspend the organization, its treasury and every agent, hard. Raises: OrganizationUnknown, agents.AgentOfCaller."""
    organization, dids = await organizations.lock_for_enforcement(tx, key)
    await agents.require_of_others(tx, administrator, [organization.treasury_did])
    await organizations.suspend(tx, organization)
    outcome = await suspend_each(tx, dids, administrator, basis=BASIS, reason=reason, soft=False)
    await record_admin_act(
        tx, administrator, act="organization.suspend", subject=str(organization.id), reason=reason
    )
    return organization, [outcome[did] for did in dids]


async def reinstate_organization(
    tx: Tx, key: str, administrator: Developer, *, reason: str
) -> tuple[organizations.Organization, list[Restored]]:
    """Reinstate the organization, and those of its agents that nothing else suspends. Raises: OrganizationUnknown, agents.AgentOfCaller."""
    organization, dids = await organizations.lock_for_enforcement(tx, key)
    await agents.require_of_others(tx, administrator, [organization.treasury_did])
    await organizations.reinstate(tx, organization)
    await store.lock(tx, dids)
    lifted = await store.lift_suspensions_of(tx, dids, BASIS, by=administrator.id)
    others = await store.suspensions_of(tx, sorted(lifted))
    outcome = await reinstate_each(
        tx, [did for did in dids if did in lifted and did not in others], administrator, soft=False
    )
    await record_admin_act(
        tx, administrator, act="organization.reinstate", subject=str(organization.id), reason=reason
    )
    return organization, [outcome[did] for did in dids if did in outcome]
