"""Write and delete entries of logs."""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.errors import QuotaReached
from hansa.foundation.values.rights import Right
from hansa.rooms import agents

from . import store
from .records import NewEntry


class LogRateReached(QuotaReached):
    """The agent's log takes no more entries in this minute; nothing of the request was stored."""

    sentence = "The log takes 600 entries of an agent a minute; nothing of this request was stored."
    remedy = "Send the entries again after the time in the Retry-After header, or write fewer of them."


async def write(tx: Tx, caller: Developer | Agent, did: str, entries: Sequence[NewEntry]) -> int:
    """Write entries to the log of an agent, all or none; returns their number.

    Raises: AgentUnknown, OrgRoleRequired, LogRateReached.
    """
    await require_log(tx, caller, did, Right.OPERATE)
    counted = await store.count(tx, did, entries, "agent")
    if counted is None:
        raise LogRateReached(retry_after=await store.seconds_of_minute_left(tx))
    await store.insert(tx, did, entries, "agent", counted)
    return len(entries)


async def write_of_registry(tx: Tx, did: str, entry: NewEntry) -> None:
    """Write an entry of the registry, which does not count in the minute."""
    counted = await store.count(tx, did, [entry], "registry")
    assert counted is not None
    await store.insert(tx, did, [entry], "registry", counted)


async def clear(tx: Tx, developer: Developer, did: str) -> int:
    """Delete every entry of the log of an agent; returns their number. Raises: AgentUnknown, OrgRoleRequired."""
    await require_log(tx, developer, did, Right.MANAGE)
    return await store.delete(tx, did)


async def require_log(tx: Tx, caller: Developer | Agent, did: str, right: Right) -> None:
    """The caller is the agent, or has the right at it. Raises: AgentUnknown, OrgRoleRequired."""
    if isinstance(caller, Developer):
        await agents.seen_with(tx, caller.id, did, right)
    elif caller.did != did:
        raise agents.AgentUnknown
