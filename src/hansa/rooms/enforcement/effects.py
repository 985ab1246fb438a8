"""Effects of enforcement, each carried out by itself: a failing effect is undone, and the others go on.

Suspensions that the log of the registry proves: the status and the day, never the reason.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, Literal, TypeVar

import asyncpg
import structlog

from hansa.foundation.plumbing.storage.database import OUT_OF_REACH, RETRIED, Tx
from hansa.foundation.plumbing.storage.log_outbox import record_object
from hansa.rooms import agents, catalogue, ledger

from .rules import (
    AccountReinstatement,
    AccountSuspension,
    End,
    IdentityRestoration,
    IdentityRevocation,
    Return,
    Stop,
)

Outcome = TypeVar("Outcome")
FAILED: Final = "failed"
# A lock that does not come free, a statement that takes too long: these are failures of the effect.
_ITS_OWN = (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError)
_log = structlog.get_logger()
VERSION = 1


async def suspend(tx: Tx, did: str) -> Stop:
    """Suspend the agent and its card."""

    async def apply() -> Stop:
        outcome = await agents.suspend(tx, did)
        if outcome == "suspended":
            await catalogue.suspend_card(tx, did)
        return "already_suspended" if outcome == "already" else outcome

    return await _applied(tx, apply, did)


async def reinstate(tx: Tx, did: str) -> Return:
    """Reinstate the agent and its card."""

    async def apply() -> Return:
        outcome = await agents.reinstate(tx, did)
        if outcome == "reinstated":
            await catalogue.reinstate_card(tx, did)
        return "already_active" if outcome == "already" else outcome

    return await _applied(tx, apply, did)


async def end(tx: Tx, did: str) -> End:
    """Revoke the agent and its card for good."""

    async def apply() -> End:
        outcome = await agents.revoke(tx, did, by="administrator")
        return "already_revoked" if outcome == "already" else outcome

    return await _applied(tx, apply, did)


async def revoke_identity(tx: Tx, did: str) -> IdentityRevocation:
    """Take the agent's workload identity away."""

    async def apply() -> IdentityRevocation:
        return await agents.revoke_mtls(tx, did)

    return await _applied(tx, apply, did)


async def restore_identity(tx: Tx, did: str) -> IdentityRestoration:
    """Enrol the agent again, if it was."""

    async def apply() -> IdentityRestoration:
        return "restored" if await agents.restore_mtls(tx, did) == "enrolled" else "not_enrolled"

    return await _applied(tx, apply, did)


async def suspend_accounts(tx: Tx, dids: Sequence[str]) -> dict[str, AccountSuspension]:
    """Suspend the ledger accounts, all of them at once where that goes."""
    done, failed = await _applied_together(tx, ledger.suspend_accounts, dids)
    taken: dict[str, AccountSuspension] = dict.fromkeys(done, "suspended")
    return taken | dict.fromkeys(failed, FAILED)


async def reinstate_accounts(tx: Tx, dids: Sequence[str]) -> dict[str, AccountReinstatement]:
    """Reinstate the ledger accounts, all of them at once where that goes."""
    done, failed = await _applied_together(tx, ledger.reinstate_accounts, dids)
    given: dict[str, AccountReinstatement] = dict.fromkeys(done, "reinstated")
    return given | dict.fromkeys(failed, FAILED)


async def _applied_together(
    tx: Tx, apply: Callable[[Tx, Sequence[str]], Awaitable[set[str]]], dids: Sequence[str]
) -> tuple[set[str], set[str]]:
    """Return the agents that the effect was applied to, and those for which it failed."""
    if not dids:
        return set(), set()
    together = await _applied(tx, lambda: apply(tx, dids), f"{len(dids)} together")
    if together != FAILED:
        return together, set()
    done: set[str] = set()
    failed: set[str] = set()
    for did in dids:
        alone = await _applied(tx, partial(apply, tx, [did]), did)
        if alone == FAILED:
            failed.add(did)
        else:
            done |= alone
    return done, failed


async def _applied(
    tx: Tx, apply: Callable[[], Awaitable[Outcome]], subject: str
) -> Outcome | Literal["failed"]:
    # What goes wrong with the savepoint itself goes wrong with the whole act.
    savepoint = tx.transaction()
    await savepoint.start()
    try:
        outcome = await apply()
    except _ITS_OWN as failure:
        reason: Exception = failure
    except (*RETRIED, *OUT_OF_REACH):
        raise
    except Exception as failure:  # noqa: BLE001
        reason = failure
    else:
        await savepoint.commit()
        return outcome
    await savepoint.rollback()
    _log.error("enforcement effect failed", agent=subject, exc_info=reason)
    return FAILED


async def record_statuses(tx: Tx, dids: Sequence[str], status: str, day: str) -> None:
    """Let the status of each of these agents become a leaf of the log."""
    for did in dids:
        members = {"kind": "suspension", "did": did, "status": status, "date": day, "version": VERSION}
        await record_object(tx, "suspension", did, members)
