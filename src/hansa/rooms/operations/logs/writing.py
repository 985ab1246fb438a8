"""Write and delete entries of logs."""

from collections.abc import Sequence
from typing import Never

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.plumbing.web.idempotency import Answer, Repeatable
from hansa.foundation.plumbing.web.shared_transactions import SharedTransactions
from hansa.foundation.values.errors import QuotaReached, Refused
from hansa.foundation.values.rights import Right
from hansa.rooms import agents
from hansa.rooms.operations.metrics import add_log_errors

from . import store
from .records import NewEntry, Source
from .schemas import LogsAcceptedOut

TOGETHER_MAX = 20
PAUSE_SECONDS = 0.02
"""From the beginning of a transaction of entries to that of the next: payments wait for the same disk, entries can wait."""


class LogRateReached(QuotaReached):
    """The agent's log takes no more entries in this minute; nothing of the request was stored."""

    sentence = "The log takes 600 entries of an agent a minute; nothing of this request was stored."
    remedy = "Send the entries again after the time in the Retry-After header, or write fewer of them."


class Written(msgspec.Struct, frozen=True, eq=False):
    """Entries that somebody writes to the log of an agent."""

    caller: Developer | Agent
    did: str
    entries: Sequence[NewEntry]


class Logs:
    """The entries that come to one process, which share transactions."""

    def __init__(self, runtime: Runtime) -> None:
        self._shared = SharedTransactions[Written, Never](
            runtime.database, write_each, TOGETHER_MAX, pause_seconds=PAUSE_SECONDS
        )

    async def write(self, written: Written, request: Repeatable | None) -> Answer:
        """Write entries, all or none; durable when this returns.

        Raises: AgentUnknown, OrgRoleRequired, LogRateReached, KeyReused, KeyInProgress, Unavailable.
        """
        return await self._shared.carry_out(written, request)


LOGS: Slot[Logs] = Slot("operations: logs that share transactions", build=Logs)


async def write_each(tx: Tx, each: Sequence[Written]) -> dict[Written, str | Exception]:
    """Write the entries of each, or refuse them; logs are locked in the order of their DIDs."""
    outcomes: dict[Written, str | Exception] = {}
    for one in sorted(each, key=lambda one: one.did):
        try:
            accepted = await write(tx, one.caller, one.did, one.entries)
            outcomes[one] = LogsAcceptedOut(accepted=accepted).model_dump_json()
        except Refused as refusal:
            outcomes[one] = refusal
    return outcomes


async def write(tx: Tx, caller: Developer | Agent, did: str, entries: Sequence[NewEntry]) -> int:
    """Write entries to the log of an agent, all or none; returns their number.

    Raises: AgentUnknown, OrgRoleRequired, LogRateReached.
    """
    await agents.require_caller(tx, caller, did, Right.OPERATE)
    if not await _write(tx, did, entries, "agent"):
        raise LogRateReached(retry_after=await store.seconds_of_minute_left(tx))
    return len(entries)


async def write_of_registry(tx: Tx, did: str, *entries: NewEntry) -> None:
    """Write entries of the registry to the log of one of its agents; they do not count in the minute."""
    is_written = await _write(tx, did, entries, "registry")
    assert is_written


async def clear(tx: Tx, developer: Developer, did: str) -> int:
    """Delete every entry of the log of an agent; returns their number. Raises: AgentUnknown, OrgRoleRequired."""
    await agents.require_caller(tx, developer, did, Right.MANAGE)
    return await store.delete(tx, did)


async def _write(tx: Tx, did: str, entries: Sequence[NewEntry], source: Source) -> bool:
    """Return whether the minute takes the entries, which are then written."""
    written_at = await store.write(tx, did, entries, source)
    if written_at is None:
        return False
    await add_log_errors(tx, did, written_at, sum(entry.level == "ERROR" for entry in entries))
    return True
