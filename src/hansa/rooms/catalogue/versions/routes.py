"""HTTP doors of the versions of a card. They are public, as the card is to whoever has its key."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from hansa.foundation.plumbing.bodies import GuardedRoute
from hansa.foundation.plumbing.caller import Public
from hansa.foundation.plumbing.limits import within_read_limit
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import Db
from hansa.rooms.catalogue.errors import CardUnknown, CardVersionUnknown

from .reading import history_of, version_of
from .schemas import CardVersionOut, CardVersionsOut, CardVersionWithDataOut

VERSION_MAX = 2**31 - 1

router = APIRouter(tags=["agent cards"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])


@router.get("/agent-cards/{card_id}/versions", responses=problems(CardUnknown))
async def read_versions(_: Public, db: Db, card_id: str) -> CardVersionsOut:
    """Which documents a card had, and since when."""
    found = await db.read(lambda tx: history_of(tx, card_id))
    return CardVersionsOut(versions=[CardVersionOut.of(version) for version in found])


@router.get("/agents/{did}/versions", responses=problems(CardUnknown))
async def read_versions_of_agent(_: Public, db: Db, did: str) -> CardVersionsOut:
    """Which documents the card of an agent had, and since when."""
    found = await db.read(lambda tx: history_of(tx, did))
    return CardVersionsOut(versions=[CardVersionOut.of(version) for version in found])


@router.get("/agent-cards/{card_id}/versions/{version}", responses=problems(CardUnknown, CardVersionUnknown))
async def read_version(
    _: Public, db: Db, card_id: str, version: Annotated[int, Path(ge=1, le=VERSION_MAX)]
) -> CardVersionWithDataOut:
    """What a card said in one of its versions."""
    found = await db.read(lambda tx: version_of(tx, card_id, version))
    return CardVersionWithDataOut.of(found)
