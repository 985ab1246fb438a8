"""The levers of enforcement, each pulled by itself: what one does when it fails is undone, and no other is hindered."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, Literal, TypeVar

import asyncpg
import structlog

from hansa.foundation.plumbing.database import OUT_OF_REACH, RETRIED, Tx
from hansa.rooms import agents, catalogue, ledger

from .rules import AccountGiven, AccountTaken, End, IdentityGiven, IdentityTaken, Return, Stop

Told = TypeVar("Told")

FAILED: Final = "failed"
# A lock that does not come free, a statement that takes too long: these are the lever's own trouble.
_ITS_OWN = (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError)

_log = structlog.get_logger()


async def stop(tx: Tx, did: str) -> Stop:
    """Suspend the agent and its card."""

    async def pull() -> Stop:
        told = await agents.suspend(tx, did)
        if told == "suspended":
            await catalogue.suspend_card(tx, did)
        return "already_suspended" if told == "already" else told

    return await _pulled(tx, pull, did)


async def let_act(tx: Tx, did: str) -> Return:
    """Reinstate the agent and its card."""

    async def pull() -> Return:
        told = await agents.reinstate(tx, did)
        if told == "reinstated":
            await catalogue.reinstate_card(tx, did)
        return "already_active" if told == "already" else told

    return await _pulled(tx, pull, did)


async def end(tx: Tx, did: str) -> End:
    """Revoke the agent and its card for good."""

    async def pull() -> End:
        told = await agents.revoke(tx, did, by="administrator")
        return "already_revoked" if told == "already" else told

    return await _pulled(tx, pull, did)


async def take_identity(tx: Tx, did: str) -> IdentityTaken:
    """Take the agent's workload identity away."""

    async def pull() -> IdentityTaken:
        return await agents.revoke_mtls(tx, did)

    return await _pulled(tx, pull, did)


async def give_identity(tx: Tx, did: str) -> IdentityGiven:
    """Enrol the agent again, if it was."""

    async def pull() -> IdentityGiven:
        return "restored" if await agents.restore_mtls(tx, did) == "enrolled" else "not_enrolled"

    return await _pulled(tx, pull, did)


async def take_accounts(tx: Tx, dids: Sequence[str]) -> dict[str, AccountTaken]:
    """Suspend the ledger accounts, all of them at once where that goes."""
    done, failed = await _pulled_together(tx, ledger.suspend_accounts, dids)
    taken: dict[str, AccountTaken] = dict.fromkeys(done, "suspended")
    return taken | dict.fromkeys(failed, FAILED)


async def give_accounts(tx: Tx, dids: Sequence[str]) -> dict[str, AccountGiven]:
    """Reinstate the ledger accounts, all of them at once where that goes."""
    done, failed = await _pulled_together(tx, ledger.reinstate_accounts, dids)
    given: dict[str, AccountGiven] = dict.fromkeys(done, "reinstated")
    return given | dict.fromkeys(failed, FAILED)


async def _pulled_together(
    tx: Tx, pull: Callable[[Tx, Sequence[str]], Awaitable[set[str]]], dids: Sequence[str]
) -> tuple[set[str], set[str]]:
    """Who it was done to, and with whom it failed."""
    if not dids:
        return set(), set()
    together = await _pulled(tx, lambda: pull(tx, dids), f"{len(dids)} together")
    if together != FAILED:
        return together, set()
    done: set[str] = set()
    failed: set[str] = set()
    for did in dids:
        alone = await _pulled(tx, partial(pull, tx, [did]), did)
        if alone == FAILED:
            failed.add(did)
        else:
            done |= alone
    return done, failed


async def _pulled(tx: Tx, pull: Callable[[], Awaitable[Told]], whose: str) -> Told | Literal["failed"]:
    # What goes wrong with the savepoint itself goes wrong with the whole act.
    savepoint = tx.transaction()
    await savepoint.start()
    try:
        told = await pull()
    except _ITS_OWN as trouble:
        reason: Exception = trouble
    except (*RETRIED, *OUT_OF_REACH):
        raise
    except Exception as trouble:  # noqa: BLE001
        reason = trouble
    else:
        await savepoint.commit()
        return told
    await savepoint.rollback()
    _log.error("a lever of enforcement failed", agent=whose, exc_info=reason)
    return FAILED
