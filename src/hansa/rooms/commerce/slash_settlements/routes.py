"""HTTP routes of settlements: for administrators, and for the registries between which slashes are settled."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized, Unavailable
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms import agents, federation

from .administering import (
    SettlementFilter,
    approve,
    list_settlements,
    read_evidence,
    read_settlement,
    reject,
    write_off,
)
from .channel import REQUESTS, STATEMENTS
from .errors import EvidenceMissing, SettlementDecided, SettlementNotUncollected, SettlementUnknown
from .schemas import (
    SettlementDirection,
    SettlementEvidence,
    SettlementOut,
    SettlementReasonIn,
    SettlementStatus,
    SlashConfigIn,
    SlashConfigOut,
    SlashConfigs,
    SlashMessagesIn,
    SlashMessagesOut,
    WriteOffIn,
)

PAGE_DEFAULT, PAGE_MAX = 50, 200
BIGINT_MAX = 2**63 - 1

PREFIX = "/federation/disputes"
admin_router = APIRouter(prefix=PREFIX, tags=["administrators"], route_class=GuardedRoute)
peer_router = APIRouter(prefix=PREFIX, tags=["federation"], route_class=GuardedRoute)

Administrator = Annotated[Developer, admin_holding("admin_enforcement")]
SettlementId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
PeerId = Annotated[
    str, Path(min_length=1, max_length=512, description="The number of the peer, or its name.")
]
ADMIN_REFUSALS = (Unauthorized, Invalid)


@admin_router.get("/settlements", responses=problems(*ADMIN_REFUSALS))
async def list_slash_settlements(
    _: Administrator,
    db: Db,
    *,
    direction: Annotated[SettlementDirection | None, Query()] = None,
    status: Annotated[SettlementStatus | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=PAGE_MAX)] = PAGE_DEFAULT,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> Page[SettlementOut]:
    """Slashes that are settled with other registries, newest first."""
    filters = SettlementFilter(direction, status, limit, offset)
    found, total = await db.read(lambda tx: list_settlements(tx, filters))
    return Page[SettlementOut](
        items=[SettlementOut.of(one) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@admin_router.get("/settlements/{settlement_id}", responses=problems(*ADMIN_REFUSALS, SettlementUnknown))
async def read_slash_settlement(settlement_id: SettlementId, _: Administrator, db: Db) -> SettlementOut:
    """One settlement."""
    return SettlementOut.of(await db.read(lambda tx: read_settlement(tx, settlement_id)))


@admin_router.get(
    "/settlements/{settlement_id}/evidence",
    responses=problems(*ADMIN_REFUSALS, SettlementUnknown, EvidenceMissing),
)
async def read_settlement_evidence(
    settlement_id: SettlementId, _: Administrator, db: Db
) -> SettlementEvidence:
    """What the other registry signed about one settlement, to be verified offline by the keys of that registry."""
    return SettlementEvidence(messages=await db.read(lambda tx: read_evidence(tx, settlement_id)))


@admin_router.post(
    "/settlements/{settlement_id}/approve",
    responses=problems(*ADMIN_REFUSALS, agents.AgentOfCaller, SettlementUnknown, SettlementDecided),
)
async def approve_slash_settlement(
    settlement_id: SettlementId, administrator: Administrator, db: Db
) -> SettlementOut:
    """Let the units of the defendant be destroyed: its bond first, then liquid units as far as they reach."""
    return SettlementOut.of(await db.transaction(lambda tx: approve(tx, administrator, settlement_id)))


@admin_router.post(
    "/settlements/{settlement_id}/reject",
    responses=problems(
        *ADMIN_REFUSALS, BodyInvalid, agents.AgentOfCaller, SettlementUnknown, SettlementDecided
    ),
)
async def reject_slash_settlement(
    settlement_id: SettlementId, body: SettlementReasonIn, administrator: Administrator, db: Db
) -> SettlementOut:
    """Refuse the slash; the other registry gets the reason, signed."""
    return SettlementOut.of(
        await db.transaction(lambda tx: reject(tx, administrator, settlement_id, body.reason))
    )


@admin_router.post(
    "/settlements/{settlement_id}/write-off",
    responses=problems(
        *ADMIN_REFUSALS, BodyInvalid, agents.AgentOfCaller, SettlementUnknown, SettlementNotUncollected
    ),
)
async def write_off_slash_settlement(
    settlement_id: SettlementId, body: WriteOffIn, administrator: Administrator, db: Db
) -> SettlementOut:
    """Ask no more for units that the other registry could not destroy again after a restore: the defendant has none left."""
    return SettlementOut.of(
        await db.transaction(lambda tx: write_off(tx, administrator, settlement_id, body.reason))
    )


@admin_router.get("/peer-slash-config", responses=problems(*ADMIN_REFUSALS))
async def read_slash_config(_: Administrator, db: Db) -> SlashConfigs:
    """Which slashes of each peer are approved without an administrator."""
    return SlashConfigs(items=[SlashConfigOut.of(peer) for peer in await db.read(federation.peers)])


@admin_router.put(
    "/peer-slash-config/{peer_id}",
    responses=problems(*ADMIN_REFUSALS, BodyInvalid, federation.PeerUnknown, federation.PeerAmbiguous),
)
async def change_slash_config(
    peer_id: PeerId, body: SlashConfigIn, administrator: Administrator, db: Db
) -> SlashConfigOut:
    """Set which slashes of a peer are approved without an administrator."""
    bounds = federation.AutoSlash(body.auto_slash_enabled, body.auto_slash_max_avt)
    changed = await db.transaction(lambda tx: federation.set_auto_slash(tx, administrator, peer_id, bounds))
    return SlashConfigOut.of(changed)


PEER_REFUSALS = (CertificateMissing, NotAPeer, BodyInvalid, Invalid, Unavailable)


@peer_router.post("/slash-request", responses=problems(*PEER_REFUSALS))
async def request_slashes(body: SlashMessagesIn, caller: CurrentPeer, request: Request) -> SlashMessagesOut:
    """Take the slashes in that a peer asks for; a repeated request gets the present state of its settlement."""
    runtime = runtime_of(request)
    peer = await runtime.database.query(lambda tx: federation.peer_by_id(tx, caller.id))
    return SlashMessagesOut(messages=await REQUESTS.receive(runtime, peer, body.messages))


@peer_router.post("/slash-confirmation", responses=problems(*PEER_REFUSALS))
async def confirm_slashes(body: SlashMessagesIn, caller: CurrentPeer, request: Request) -> SlashMessagesOut:
    """Take in the outcomes of slashes that this registry asked for, and the awards to its agents; a signed receipt for each."""
    runtime = runtime_of(request)
    peer = await runtime.database.query(lambda tx: federation.peer_by_id(tx, caller.id))
    return SlashMessagesOut(messages=await STATEMENTS.receive(runtime, peer, body.messages))
