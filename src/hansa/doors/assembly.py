"""The only list of rooms: whose routes are served, who judges callers, what runs in the background."""

from fastapi import APIRouter

from hansa.foundation.plumbing import idempotency, limits
from hansa.foundation.plumbing.caller import Gate
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.sweeps import Sweep
from hansa.rooms import agents, auditor, catalogue, journal, ledger, people, transfers

API_ROUTERS: tuple[APIRouter, ...] = (
    # Matched in this order: the hot routes first.
    transfers.router,
    agents.router,
    people.router,
    catalogue.router,
    ledger.router,
    journal.router,
    auditor.router,
)

GATE = Gate(developer=people.check_developer, agent=agents.check_agent)

SWEEPS: tuple[Sweep, ...] = (
    Sweep("idempotency: forget expired answers", 60, idempotency.forget_expired),
    Sweep("limits: forget idle buckets", 600, limits.forget_idle_buckets),
)


def group_commit(runtime: Runtime) -> ledger.GroupCommit:
    """The desk where the transfers of this process gather."""
    return ledger.GroupCommit(runtime.database, ledger.Book.of(runtime.settings), ledger.FeePolicy())
