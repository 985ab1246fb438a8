"""The log over HTTP: checkpoint and tiles as C2SP tlog-tiles lays them out, and proofs ready made."""

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests

from . import proofs
from .errors import ANY_ORIGIN, LeafUnknown, LogEmpty, TileUnknown
from .proofs import TILES, CachedTiles
from .schemas import ConsistencyOut, LeafProofOut

Tiles = Annotated[CachedTiles, Depends(TILES.given)]

SIZE_MAX = 2**62
IMMUTABLE = {"Cache-Control": "public, max-age=31536000, immutable", **ANY_ORIGIN}
FRESH = {"Cache-Control": "no-cache", **ANY_ORIGIN}
LEVEL_MAX = 6

# Numbers in groups of three digits, all but the last with an x before it: 1234067 is x001/x234/067.
_TILE = re.compile(r"(entries|[0-9]{1,2})/((?:x[0-9]{3}/){0,5}[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")


async def _for_any_origin(response: Response) -> None:
    response.headers.update(FRESH)


log_router = APIRouter(
    prefix="/log",
    tags=["auditor"],
    route_class=GuardedRoute,
    dependencies=[Depends(within_read_limit), Depends(_for_any_origin)],
)


@log_router.get(
    "/checkpoint",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **problems(LogEmpty, TooManyRequests),
    },
)
async def read_log_checkpoint(_: Public, db: Db) -> Response:
    """The checkpoint of the log: a signed note with origin, size and root hash, and the cosignatures of its witnesses.

    The newest that a majority of them has cosigned is published until the next one is; without any of the last ten minutes
    the newest.
    """
    _size, note = await db.read_replicated(proofs.read_checkpoint)
    return Response(note, media_type="text/plain; charset=utf-8", headers=FRESH)


tile_router = APIRouter(
    prefix="/log", tags=["auditor"], route_class=DirectRoute, dependencies=[Depends(within_read_limit)]
)


@tile_router.get(
    "/tile/{tile:path}",
    response_class=Response,
    responses={
        200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
        **problems(TileUnknown, Invalid, TooManyRequests),
    },
)
async def read_log_tile(_: Public, tiles: Tiles, tile: Annotated[str, Path()]) -> Response:
    """A tile of hashes (`0/x001/234`) or of entries (`entries/000.p/5`); it never changes."""
    found = _TILE.fullmatch(tile)
    if found is None:
        raise TileUnknown
    level = None if found[1] == "entries" else int(found[1])
    if level is not None and (level > LEVEL_MAX or found[1] != str(level)):
        raise TileUnknown
    number = int(found[2].replace("x", "").replace("/", ""))
    width = int(found[3]) if found[3] else None
    if width is not None and width >= proofs.TILE_WIDTH:
        raise TileUnknown
    content = await tiles.read(level, number, width)
    return Response(content, media_type="application/octet-stream", headers=IMMUTABLE)


@log_router.get("/proof", responses=problems(LogEmpty, LeafUnknown, Invalid, TooManyRequests))
async def read_log_proof(
    _: Public,
    db: Db,
    index: Annotated[int | None, Query(ge=0, le=SIZE_MAX)] = None,
    kind: Annotated[str | None, Query(min_length=1, max_length=40)] = None,
    id: Annotated[str | None, Query(min_length=1, max_length=512)] = None,  # noqa: A002
) -> LeafProofOut:
    """The inclusion proof of a leaf by its `index`, or of the newest leaf of an object by `kind` and `id`."""
    return LeafProofOut.proved(await db.read_replicated(lambda tx: proofs.prove_leaf(tx, index, kind, id)))


@log_router.get("/consistency", responses=problems(LogEmpty, LeafUnknown, Invalid, TooManyRequests))
async def read_log_consistency(
    _: Public, db: Db, old_size: Annotated[int, Query(ge=0, le=SIZE_MAX)]
) -> ConsistencyOut:
    """The proof that the log of `old_size` leaves is the beginning of the present one."""
    size, hashes, note = await db.read_replicated(lambda tx: proofs.prove_consistency(tx, old_size))
    return ConsistencyOut.of(old_size, size, hashes, note)
