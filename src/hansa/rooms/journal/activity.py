"""Activity of the registry for anybody: six kinds of facts, newest first, each as a title, a sentence and the members that are public.

- An event is shown as the public sees it. Of a private one the feed states its kind and its moment: a dispute names no party.
- The total is that of the counters: exact, and as cheap as the few events that are not settled yet.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.events import (
    AgentOnboarded,
    ContractCompleted,
    DisputeFiled,
    Event,
    ProposalCreated,
    RegistryFederated,
    RewardsDistributed,
)
from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together

from . import counting_store, reading_store
from .audience import seen_by


class ActivityKind(StrEnum):
    """Kinds of activity, by their names in the API (Specification 8, public pages and feeds)."""

    AGENT_ONBOARDED = "AGENT_ONBOARDED"
    FEDERATION_APPROVED = "FEDERATION_APPROVED"
    DISPUTE_FILED = "DISPUTE_FILED"
    GOVERNANCE_PROPOSAL = "GOVERNANCE_PROPOSAL"
    REWARD_CYCLE = "REWARD_CYCLE"
    CONTRACT_COMPLETED = "CONTRACT_COMPLETED"


class Reported(msgspec.Struct, frozen=True):
    """Event that a kind reports, and its words; `members` are those of the event that the feed repeats."""

    event: type[Event]
    title: str
    description: str
    members: tuple[str, ...] = ()


REPORTED: Mapping[ActivityKind, Reported] = {
    ActivityKind.AGENT_ONBOARDED: Reported(
        AgentOnboarded, "Agent registered", "{did} was registered.", ("did", "card_id")
    ),
    ActivityKind.FEDERATION_APPROVED: Reported(
        RegistryFederated,
        "Registry federated",
        "{registry_name} became a peer.",
        ("registry_name", "trust_domain", "ledger_id"),
    ),
    ActivityKind.DISPUTE_FILED: Reported(DisputeFiled, "Dispute filed", "A dispute was filed."),
    ActivityKind.GOVERNANCE_PROPOSAL: Reported(
        ProposalCreated,
        "Proposal made",
        "{proposer_did} proposed: {title}",
        ("proposal_id", "proposer_did", "title", "kind", "end_timestamp"),
    ),
    ActivityKind.REWARD_CYCLE: Reported(
        RewardsDistributed,
        "Rewards paid",
        "{to} received {amount} {currency} for its stakes.",
        ("to", "amount", "currency", "tx_id"),
    ),
    ActivityKind.CONTRACT_COMPLETED: Reported(
        ContractCompleted,
        "Contract completed",
        "{contractor_did} paid {provider_did} {amount} {currency} for contract {contract_id}.",
        ("contract_id", "contractor_did", "provider_did", "amount", "currency", "tx_id"),
    ),
}

_BY_EVENT = {reported.event.__name__: kind for kind, reported in REPORTED.items()}
_MEMBER = re.compile(r"\{(\w+)\}")


class Activity(msgspec.Struct, frozen=True):
    """One fact of the feed."""

    id: UUID
    kind: ActivityKind
    title: str
    description: str
    metadata: Mapping[str, Any]
    created_at: datetime


async def read_activity(
    tx: Tx, kinds: Sequence[ActivityKind], *, limit: int, offset: int
) -> tuple[list[Activity], int]:
    """A page of these kinds, newest first, and how many facts of them were recorded; `tx` must be one snapshot."""
    names = [REPORTED[kind].event.__name__ for kind in kinds]
    events, counts = await read_together(
        tx,
        lambda tx: reading_store.newest_of_types(tx, names, limit=limit, offset=offset),
        counting_store.counts,
    )
    return [_of(event) for event in events], sum(counts.get(name, 0) for name in names)


def _of(event: StoredEvent) -> Activity:
    kind = _BY_EVENT[event.event_type]
    reported, shown = REPORTED[kind], seen_by(event, ())
    public = {} if shown is None else shown.data
    return Activity(
        id=event.id,
        kind=kind,
        title=reported.title,
        description=_MEMBER.sub(lambda found: str(public.get(found[1], "?")), reported.description),
        metadata={name: public[name] for name in reported.members if name in public},
        created_at=event.timestamp,
    )
