"""Peers for administrators of the federation."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from msgspec.structs import asdict

import hansa.foundation.plumbing.web.peer_caller  # noqa: F401  # the type of names in paths
from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import HostRefused, Invalid, Unauthorized
from hansa.rooms.federation.identity import FederationOff

from .acts import pause_peer, quarantine_peer, release_peer, remove_peer, resume_peer, set_net_in_limit
from .adding import add_by_hand, new_peer
from .errors import (
    BundleRefused,
    PeerAmbiguous,
    PeerExists,
    PeerNameRefused,
    PeerRemoving,
    PeerStateRefused,
    PeerUnknown,
    PeerUnreachable,
    RootCollision,
)
from .meeting import PEER_CALLS
from .reading import list_peers, view_by_name, view_of
from .schemas import (
    NAME_MAX_CHARACTERS,
    NetInLimitIn,
    PeerActIn,
    PeerIn,
    PeerOut,
    PeerReasonIn,
    PeersPage,
    PeersQuery,
    RemovedOut,
    SyncOut,
)
from .synchronizing import sync_by_name

peers_admin_router = APIRouter(
    prefix="/admin/federation/peers", tags=["administrators"], route_class=GuardedRoute
)

Administrator = Annotated[Developer, admin_holding("admin_federation")]
Name = Annotated[
    str,
    Path(
        min_length=1,
        max_length=NAME_MAX_CHARACTERS,
        description="Registry name, trust domain or ledger id (percent-encoded) of the peer.",
    ),
]

ADMINISTERED = (Unauthorized, Invalid)
NAMED = (*ADMINISTERED, PeerUnknown, PeerAmbiguous)
CHANGES = problems(*NAMED, BodyInvalid, PeerRemoving, PeerStateRefused)


@peers_admin_router.get("", responses=problems(*ADMINISTERED))
async def list_all_peers(_: Administrator, query: Annotated[PeersQuery, Query()], db: Db) -> PeersPage:
    """Every peer, by name."""
    found, total = await db.read(lambda tx: list_peers(tx, query.limit, query.offset))
    return PeersPage.of(found, total, query)


@peers_admin_router.post(
    "",
    status_code=201,
    responses=problems(
        *ADMINISTERED, BodyInvalid, BundleRefused, HostRefused, PeerExists, PeerNameRefused, RootCollision
    ),
)
async def add_peer_by_hand(body: PeerIn, administrator: Administrator, db: Db, settings: Config) -> PeerOut:
    """Add a peer by its address and trust bundle. It is pending until the other side has added this registry too."""
    new = new_peer(
        settings,
        registry_url=body.registry_url,
        bundle=body.bundle,
        peer_type=body.peer_type,
        name=body.name,
        net_in_limit=body.limit(),
    )
    added = await db.transaction(lambda tx: add_by_hand(tx, administrator, new))
    return PeerOut.of(await db.read(lambda tx: view_of(tx, added)))


@peers_admin_router.get("/{name:peer}", responses=problems(*NAMED))
async def read_peer(_: Administrator, name: Name, db: Db) -> PeerOut:
    """One peer, with the steps in which its registry card was judged."""
    return PeerOut.of(await db.read(lambda tx: view_by_name(tx, name)))


@peers_admin_router.delete("/{name:peer}", responses=problems(*NAMED))
async def remove_one_peer(
    administrator: Administrator,
    name: Name,
    request: Request,
    *,
    abandon: Annotated[
        bool, Query(description="Delete the peer although something with it is under way.")
    ] = False,
) -> RemovedOut:
    """Trust a peer no longer and delete what was taken in from it. What is under way with it is still decided."""
    runtime = runtime_of(request)
    peer, is_gone = await runtime.database.transaction(
        lambda tx: remove_peer(tx, administrator, runtime, name, abandon=abandon)
    )
    if is_gone:
        await PEER_CALLS.of(runtime).forget(peer.id)
    return RemovedOut(name=peer.name, status="removed" if is_gone else "removing")


@peers_admin_router.post(
    "/{name:peer}/sync",
    responses=problems(*NAMED, BodyInvalid, FederationOff, PeerStateRefused, PeerUnreachable),
)
async def sync_one_peer(_: PeerActIn, administrator: Administrator, name: Name, request: Request) -> SyncOut:
    """Read the documents and cards of a peer now. A refused document is counted in the answer."""
    report = await sync_by_name(runtime_of(request), administrator, name)
    return SyncOut.model_validate(asdict(report))


@peers_admin_router.put("/{name:peer}/net-in-limit", responses=CHANGES)
async def change_net_in_limit(
    body: NetInLimitIn, administrator: Administrator, name: Name, db: Db
) -> PeerOut:
    """Set how much a peer may bring in more than it takes out. What it has reserved already may still come in."""
    changed = await db.transaction(lambda tx: set_net_in_limit(tx, administrator, name, body.limit()))
    return PeerOut.of(await db.read(lambda tx: view_of(tx, changed)))


@peers_admin_router.post("/{name:peer}/pause", responses=CHANGES)
async def pause_one_peer(_: PeerActIn, administrator: Administrator, name: Name, db: Db) -> PeerOut:
    """Exchange nothing new with a peer until it is resumed; idempotent."""
    paused = await db.transaction(lambda tx: pause_peer(tx, administrator, name))
    return PeerOut.of(await db.read(lambda tx: view_of(tx, paused)))


@peers_admin_router.post("/{name:peer}/resume", responses=CHANGES)
async def resume_one_peer(_: PeerActIn, administrator: Administrator, name: Name, db: Db) -> PeerOut:
    """End a pause, or approve a pending peer; idempotent."""
    resumed = await db.transaction(lambda tx: resume_peer(tx, administrator, name))
    return PeerOut.of(await db.read(lambda tx: view_of(tx, resumed)))


@peers_admin_router.post("/{name:peer}/quarantine", responses=CHANGES)
async def quarantine_one_peer(
    body: PeerReasonIn, administrator: Administrator, name: Name, db: Db
) -> PeerOut:
    """Take nothing in from a peer and cross nothing with it; what is under way is decided."""
    quarantined = await db.transaction(lambda tx: quarantine_peer(tx, administrator, name, body.reason))
    return PeerOut.of(await db.read(lambda tx: view_of(tx, quarantined)))


@peers_admin_router.post("/{name:peer}/release", responses=CHANGES)
async def release_one_peer(body: PeerReasonIn, administrator: Administrator, name: Name, db: Db) -> PeerOut:
    """End the quarantine of a peer."""
    released = await db.transaction(lambda tx: release_peer(tx, administrator, name, body.reason))
    return PeerOut.of(await db.read(lambda tx: view_of(tx, released)))
