"""Kinds of requests. Rooms above register theirs in the slot `REQUEST_KINDS`; what they have in common is in `acts.py`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.organizations.approvals import rules as approvals
from hansa.rooms.organizations.approvals import store as approval_store
from hansa.rooms.organizations.approvals.rules import Demand
from hansa.rooms.organizations.records import Acting, Organization, Outcome, Request
from hansa.rooms.organizations.rules import Role


class RequestKind(msgspec.Struct, frozen=True, eq=False):
    """A kind of requests.

    `demands(tx, organization, requests)` returns the approvals that each request needs now; nothing for one that is carried out at once.
    `execute(tx, acting, organization, request)` carries a request out; the organization is locked. A refusal leaves an approved request
    pending, and of one that needs no approval nothing is stored.

    `follows_tiers`: the demands of the creation bind too, a delay replaces approvers who are missing, and the initiator must still have the
    `role` when others approve. `is_unique`: the same request is not pending twice.
    """

    name: str
    demands: Callable[[Tx, Organization, Sequence[Request]], Awaitable[Sequence[tuple[Demand, ...]]]]
    execute: Callable[[Tx, Acting, Organization, Request], Awaitable[Outcome]]
    role: Role = Role.ADMIN
    follows_tiers: bool = True
    is_unique: bool = False


async def demands_of_control(
    tx: Tx, organization: Organization, requests: Sequence[Request]
) -> list[tuple[Demand, ...]]:
    """The approvals of the highest tier for each request: those of every control request."""
    demand = approvals.highest(await approval_store.tiers_of(tx, organization.id))
    return [demand for _ in requests]


OWN_KINDS: Slot[tuple[RequestKind, ...]] = Slot("organizations: kinds of requests")
REQUEST_KINDS: Slot[tuple[RequestKind, ...]] = Slot(
    "organizations: kinds of requests of rooms above", joined=lambda kinds: tuple(chain(*kinds))
)


def kinds_of(runtime: Runtime) -> Mapping[str, RequestKind]:
    """The kinds that this process knows, by name."""
    return {kind.name: kind for kind in (*OWN_KINDS.of(runtime), *REQUEST_KINDS.of(runtime))}
