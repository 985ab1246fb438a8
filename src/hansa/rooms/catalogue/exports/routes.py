"""Routes that peers read over mutual TLS: changed cards, acts of enforcement, and digests to compare their mirrors by."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer, PeerClosed
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Invalid
from hansa.rooms.catalogue.errors import CursorInvalid
from hansa.rooms.federation import KeyDoesNotOpen

from . import serving
from .schemas import PeerPageOut, RangesOut

LIMIT_MAX = 10_000
CURSOR_MAX = 512
NAMED_MAX = 50
REFUSALS = (CertificateMissing, NotAPeer, PeerClosed, Invalid)

Since = Annotated[
    str | None,
    Query(
        max_length=CURSOR_MAX, description="The `next` of an earlier page, or an ISO 8601 time (cards only)."
    ),
]
Limit = Annotated[int, Query(ge=1, le=LIMIT_MAX)]
Prefix = Annotated[
    str,
    Query(
        pattern="^[0-9a-f]{0,8}$", description="Hexadecimal digits with which the SHA-256 of the DID begins."
    ),
]
Named = Annotated[
    str,
    Query(
        max_length=NAMED_MAX * (DID_MAX_CHARACTERS + 1),
        description="DIDs of agents of this registry, at most 50 with commas between them. The other parameters then count for"
        " nothing.",
    ),
]

router = APIRouter(prefix="/federation", tags=["federation"], route_class=DirectRoute)


@router.get(
    "/agent-cards",
    response_model=PeerPageOut,
    responses=problems(*REFUSALS, CursorInvalid, KeyDoesNotOpen),
)
async def read_cards_for_peer(
    peer: CurrentPeer,
    request: Request,
    *,
    since: Since = None,
    limit: Limit = LIMIT_MAX,
    prefix: Prefix = "",
    did: Named = "",
) -> Response:
    """Read this registry's own cards, the least recently changed first; each item is signed.

    With `did` the cards that are named alone, whole although unlisted: a peer that has no mirror of an unlisted agent asks so.
    """
    peer.require_open()
    runtime = runtime_of(request)
    if did:
        body = await serving.named_page(runtime, did.split(",")[:NAMED_MAX])
    else:
        body = await serving.cards_page(runtime, since, limit, prefix)
    return Response(body, media_type="application/json")


@router.get(
    "/enforcement",
    response_model=PeerPageOut,
    responses=problems(*REFUSALS, CursorInvalid, KeyDoesNotOpen),
)
async def read_enforcement_for_peer(
    peer: CurrentPeer, request: Request, since: Since = None, limit: Limit = LIMIT_MAX
) -> Response:
    """Read which agents were suspended, reinstated or revoked, in the order of these acts; without cards."""
    peer.require_open()
    body = await serving.acts_page(runtime_of(request), since, limit)
    return Response(body, media_type="application/json")


@router.get("/agent-cards/digest", responses=problems(*REFUSALS))
async def read_card_digest_for_peer(peer: CurrentPeer, db: Db, prefix: Prefix = "") -> RangesOut:
    """Compare mirrors: the digests of the sixteen ranges of cards below a prefix."""
    peer.require_open()
    return RangesOut.of(prefix, *await db.read(lambda tx: serving.card_ranges(tx, prefix)))
