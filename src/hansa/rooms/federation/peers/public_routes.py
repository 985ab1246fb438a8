"""Public routes of the federation: the own trust bundle, the peers, their verified cards."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.client_certificate import presented_certificate
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms.federation.charter import LAST_AUDIT, CardUnsigned, ReadLastAudit, read_card
from hansa.rooms.federation.identity import FederationOff

from .check import approval_of
from .errors import PeerAmbiguous, PeerUnknown
from .local_bundle import local_bundle
from .meeting import APPROVAL_HEADER
from .reading import every_peer, peer_by_name
from .schemas import NAME_MAX_CHARACTERS, CardVerdictOut, PublicCardOut, RosterOut, RosterPeer, TopologyOut
from .slots import DISCOVERED, ReadDiscovered
from .topology import read_topology

BUNDLE_AT = "/.well-known/spiffe-bundle.json"
CACHED = "public, max-age=300, stale-while-revalidate=600"
SHORTLY_CACHED = "public, max-age=5"
ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}
LOCAL = "local"

public_router = APIRouter(
    tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)]
)
bundle_router = APIRouter(
    tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)]
)

LastAuditOf = Annotated[ReadLastAudit, Depends(LAST_AUDIT.given)]
PeerName = Annotated[str | None, Query(min_length=1, max_length=NAME_MAX_CHARACTERS)]


class SpiffeBundle(LazyModel):
    """A trust bundle in the SPIFFE form: a JWK set of root certificates."""

    keys: list[dict[str, Any]] = Field(description="One key for each root; x5c has its certificate.")
    spiffe_sequence: int = Field(description="Grows with each change of the roots.")
    spiffe_refresh_hint: int = Field(description="Seconds after which to read it again.")


@bundle_router.get(BUNDLE_AT, responses=problems(FederationOff, TooManyRequests, Unauthorized))
async def read_trust_bundle(_: Public, request: Request, response: Response) -> SpiffeBundle:
    """The trust bundle of this registry: the roots of the certificates that it and its agents show.

    A registry that asks with its certificate finds in `Peer-Approval` whether it was added here: `pending` or `approved`.
    """
    runtime = runtime_of(request)
    bundle = await local_bundle(runtime)
    response.headers.update({"Cache-Control": CACHED, **ANY_ORIGIN})
    certificate = presented_certificate(request)
    approval = None if certificate is None else await approval_of(runtime, certificate)
    if approval is not None:
        response.headers.update({APPROVAL_HEADER: approval, "Cache-Control": "no-store"})
    return SpiffeBundle.model_validate(bundle.spiffe())


@public_router.get("/federation/peers", responses=problems(TooManyRequests))
async def list_federation_peers(_: Public, response: Response, db: Db) -> RosterOut:
    """The approved peers of this registry, by name."""
    found = await db.read(every_peer)
    response.headers.update({"Cache-Control": SHORTLY_CACHED, **ANY_ORIGIN})
    return RosterOut(peers=[RosterPeer.of(view.peer) for view in found], count=len(found))


@public_router.get("/public/topology", responses=problems(CardUnsigned, TooManyRequests))
async def read_federation_topology(
    _: Public,
    response: Response,
    db: Db,
    settings: Config,
    last_audit: LastAuditOf,
    discovered: Annotated[ReadDiscovered, Depends(DISCOVERED.given)],
) -> TopologyOut:
    """The federation as this registry sees it: registries, the connections to them, and how fresh each is.

    Registries that are known by a peer are connected to it, with the kind `discovered`; nothing crosses to them.
    """

    async def read(tx: Tx) -> TopologyOut:
        return TopologyOut.of(await read_topology(tx, settings, last_audit, discovered))

    response.headers.update({"Cache-Control": SHORTLY_CACHED, **ANY_ORIGIN})
    return await db.read(read)


@public_router.get(
    "/public/registry-card",
    response_model=PublicCardOut,
    responses=problems(CardUnsigned, Invalid, PeerUnknown, PeerAmbiguous, TooManyRequests),
)
async def read_public_registry_card(
    _: Public,
    db: Db,
    settings: Config,
    last_audit: LastAuditOf,
    peer: PeerName = None,
    registry: Annotated[
        str | None, Query(min_length=1, max_length=NAME_MAX_CHARACTERS, description="As `peer`, or `local`.")
    ] = None,
) -> Response:
    """The card of this registry, or that of a peer as it was verified last, with the verdicts.

    Not a substitute for verifying the card at its well-known address.
    """
    asked = peer or registry or LOCAL

    async def read(tx: Tx) -> PublicCardOut:
        if asked not in {LOCAL, settings.registry_name, settings.ledger_id}:
            return await _card_of_peer(tx, asked)
        own = await read_card(tx, settings.settlement_currency, last_audit)
        return PublicCardOut(card=own.card, source="local", fetched_at=None, verdicts=[])

    shown = await db.read(read)
    return JSONResponse(shown.model_dump(mode="json"), headers={"Cache-Control": CACHED, **ANY_ORIGIN})


async def _card_of_peer(tx: Tx, name: str) -> PublicCardOut:
    found = await peer_by_name(tx, name)
    if found.card is None or not found.is_member:
        raise PeerUnknown(f"This registry has no verified card of a peer {name!r}.")
    verdicts = [CardVerdictOut.model_validate(verdict) for verdict in found.card_verdicts]
    return PublicCardOut(card=found.card, source="peer", fetched_at=found.card_fetched_at, verdicts=verdicts)
