"""Disputes as their parties and administrators of enforcement read them."""

from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.errors import Forbidden

from . import rules, store
from .dispute import Dispute, DisputeFilter
from .errors import DisputeUnknown

AREA = "admin_enforcement"


def reader_of(caller: Agent | Developer) -> str | None:
    """The agent that reads; None: an administrator of enforcement, who reads everything. Raises: Forbidden."""
    if isinstance(caller, Agent):
        return caller.did
    if AREA not in caller.areas_in_reach:
        raise Forbidden("Disputes are read by their parties and by administrators of enforcement.")
    return None


async def read_dispute(tx: Tx, caller: Agent | Developer, dispute_id: int) -> Dispute:
    """One dispute. Raises: DisputeUnknown, Forbidden."""
    reader = reader_of(caller)
    dispute, evidence = await read_together(
        tx, lambda tx: store.find(tx, dispute_id), lambda tx: store.evidence(tx, [dispute_id])
    )
    if dispute is None:
        raise DisputeUnknown
    if reader is not None:
        rules.require_seen(dispute, reader)
    return replace(dispute, evidence=tuple(evidence[dispute_id]))


async def parties_of_dispute(tx: Tx, dispute_id: int) -> tuple[str, ...]:
    """The DIDs of complainant and defendant; empty where there is no such dispute."""
    dispute = await store.find(tx, dispute_id)
    return () if dispute is None else dispute.parties


async def list_disputes(tx: Tx, filters: DisputeFilter) -> tuple[list[Dispute], int]:
    """A page of disputes, newest first, and how many there are in all."""
    disputes, total = await store.page(tx, filters)
    evidence = await store.evidence(tx, [dispute.id for dispute in disputes])
    return [replace(dispute, evidence=tuple(evidence[dispute.id])) for dispute in disputes], total


async def with_evidence(tx: Tx, dispute: Dispute) -> Dispute:
    """The dispute with its evidence."""
    return replace(dispute, evidence=tuple((await store.evidence(tx, [dispute.id]))[dispute.id]))
