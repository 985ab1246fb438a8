"""Suspend and reinstate a developer with every agent.

A suspended developer may log in, read, secure the login and delete the account, and does nothing else. Administrators cannot
suspend or reinstate their own account: the administrator who suspends remains one, so that enforcement always has an administrator.

Agents of a developer with their suspensions, for an administrator.
"""

from collections.abc import Sequence

import msgspec

from hansa.foundation.events import DeveloperReinstated, DeveloperSuspended
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import admit_author, bar_author, record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import agents, catalogue, journal, people

from . import store
from .errors import AccountOfCaller, DeveloperUnknown
from .rules import DeveloperSuspension, Restored, Stopped, Suspension
from .suspend import reinstate_each, suspend_each


async def suspend_developer(
    tx: Tx, developer_id: int, administrator: Developer, *, reason: str
) -> list[Stopped]:
    """Suspend the developer and every agent, hard. Raises: DeveloperUnknown, AccountOfCaller."""
    await require_another_developer(tx, developer_id, administrator)
    await bar_author(tx, developer_id)
    await store.lock_developer(tx, developer_id)
    opened = await store.open_developer_suspension(tx, developer_id, reason=reason, by=administrator.id)
    await catalogue.suspend_listings(tx, developer_id)
    dids = [agent.did for agent in await agents.of_developer(tx, developer_id)]
    outcome = await suspend_each(tx, dids, administrator, basis="developer", reason=reason, soft=False)
    if opened:
        stopped = sum(row.registry == "suspended" for row in outcome.values())
        day = (await store.today(tx)).isoformat()
        await journal.append(tx, DeveloperSuspended(developer_id=developer_id, agents=stopped, date=day))
    await record_admin_act(
        tx, administrator, act="developer.suspend", subject=str(developer_id), reason=reason
    )
    return [outcome[did] for did in dids]


async def reinstate_developer(
    tx: Tx, developer_id: int, administrator: Developer, *, reason: str | None
) -> list[Restored]:
    """Lift the developer's suspension and whatever stands against the agents. Raises: DeveloperUnknown, AccountOfCaller."""
    await require_another_developer(tx, developer_id, administrator)
    await admit_author(tx, developer_id)
    await store.lock_developer(tx, developer_id)
    lifted = await store.lift_developer_suspension(tx, developer_id, by=administrator.id)
    await catalogue.reinstate_listings(tx, developer_id)
    dids = [agent.did for agent in await agents.of_developer(tx, developer_id)]
    outcome = await reinstate_each(tx, dids, administrator, soft=False)
    if lifted:
        returned = sum(row.registry == "reinstated" for row in outcome.values())
        day = (await store.today(tx)).isoformat()
        await journal.append(tx, DeveloperReinstated(developer_id=developer_id, agents=returned, date=day))
    await record_admin_act(
        tx, administrator, act="developer.reinstate", subject=str(developer_id), reason=reason
    )
    return [outcome[did] for did in dids]


async def is_suspended_or_closed(tx: Tx, developer_id: int) -> bool:
    """Return whether the developer is suspended or the account closed; neither begins before this transaction ends."""
    if await people.is_account_closed(tx, developer_id):
        return True
    await store.share_developer(tx, developer_id)
    return await store.developer_suspension(tx, developer_id) is not None


async def require_another_developer(tx: Tx, developer_id: int, administrator: Developer) -> None:
    """Raises: DeveloperUnknown, AccountOfCaller."""
    await require_developer(tx, developer_id)
    if developer_id == administrator.id:
        raise AccountOfCaller


async def require_developer(tx: Tx, developer_id: int) -> str:
    """The developer's name. Raises: DeveloperUnknown."""
    name = (await people.names_of(tx, [developer_id])).get(developer_id)
    if name is None:
        raise DeveloperUnknown
    return name


class OwnedAgents(msgspec.Struct, frozen=True):
    """Page of a developer's agents, the oldest first, each with its suspensions."""

    developer_id: int
    developer_name: str
    developer_suspension: DeveloperSuspension | None
    agents: Sequence[tuple[agents.OwnedAgent, Sequence[Suspension]]]
    total: int


async def agents_by_developer(tx: Tx, developer_id: int, *, limit: int, offset: int) -> OwnedAgents:
    """Read one page. Raises: DeveloperUnknown."""
    name = (await people.names_of(tx, [developer_id])).get(developer_id)
    return await agents_of_named(tx, developer_id, name, limit=limit, offset=offset)


async def agents_of_named(
    tx: Tx, developer_id: int, name: str | None, *, limit: int, offset: int
) -> OwnedAgents:
    """Read one page of a developer whose name the caller has read; None for an account that is unknown or closed. Raises: DeveloperUnknown."""
    if name is None:
        raise DeveloperUnknown
    owned = await agents.of_developer(tx, developer_id)
    page = owned[offset : offset + limit]
    suspensions = await store.suspensions_of(tx, [agent.did for agent in page])
    return OwnedAgents(
        developer_id=developer_id,
        developer_name=name,
        developer_suspension=await store.developer_suspension(tx, developer_id),
        agents=[(agent, suspensions.get(agent.did, [])) for agent in page],
        total=len(owned),
    )
