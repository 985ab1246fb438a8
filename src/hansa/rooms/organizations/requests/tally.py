"""Requests with the approvals that they have and need now."""

from collections.abc import Mapping, Sequence
from itertools import chain
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.organizations.approvals import rules
from hansa.rooms.organizations.approvals import store as approvals
from hansa.rooms.organizations.approvals.rules import Demand, Tally
from hansa.rooms.organizations.records import Organization, Request

from .kinds import RequestKind

PENDING = "PENDING"


class Reading(msgspec.Struct, frozen=True):
    """A request, the number of approvals beside the initiator's that it needs, and the members whose approval counts."""

    request: Request
    approvals_needed: int
    eligible: frozenset[int] = frozenset()


async def demands_now(
    tx: Tx, kind: RequestKind, organization: Organization, requests: Sequence[Request]
) -> list[tuple[Demand, ...]]:
    """The demands of each request: those of now and, of a kind that follows tiers, those of its creation."""
    present = await kind.demands(tx, organization, requests)
    if not kind.follows_tiers:
        return list(present)
    return [
        tuple(dict.fromkeys((*request.demands, *now))) for request, now in zip(requests, present, strict=True)
    ]


async def tallies(
    tx: Tx, organization: Organization, kind: RequestKind, requests: Sequence[Request]
) -> list[Tally]:
    """Judge pending requests of one kind by the members of now."""
    demands = await demands_now(tx, kind, organization, requests)
    return await tallies_by(tx, organization, kind, requests, demands)


async def tallies_by(
    tx: Tx,
    organization: Organization,
    kind: RequestKind,
    requests: Sequence[Request],
    demands: Sequence[tuple[Demand, ...]],
) -> list[Tally]:
    """Judge requests of one kind by their demands and the members of now."""
    if not any(demands):
        return [Tally() for _ in requests]
    teams = {demand.team_id for demand in chain(*demands) if demand.team_id is not None}
    approvers = await approvals.approvers_of(tx, organization.id, teams)
    return [
        rules.tally(
            demanded,
            approvers,
            [one.developer_id for one in request.approvals],
            [request.initiator_id, request.concerned_id],
            may_delay=kind.follows_tiers,
        )
        for request, demanded in zip(requests, demands, strict=True)
    ]


async def read(
    tx: Tx, organization: Organization, kinds: Mapping[str, RequestKind], found: Sequence[Request]
) -> list[Reading]:
    """The requests as they stand; of one that has ended, with the approvals that it needed."""
    judged: dict[str, list[Request]] = {}
    for request in found:
        # A kind that only a newer process knows is shown as it was made.
        if request.status == PENDING and request.kind in kinds:
            judged.setdefault(request.kind, []).append(request)
    by_id: dict[UUID, Tally] = {}
    for name, requests in judged.items():
        tallies_found = await tallies(tx, organization, kinds[name], requests)
        by_id |= {request.id: one for request, one in zip(requests, tallies_found, strict=True)}
    return [
        Reading(request, by_id[request.id].needed, by_id[request.id].eligible)
        if request.id in by_id
        else Reading(request, request.approvals_needed)
        for request in found
    ]
