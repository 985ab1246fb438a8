"""The versions of a card over HTTP: public while the card stands, readable by the owner only once it is withdrawn."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import CREDENTIAL_OPTIONAL, Developer, maybe_developer_holding
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid
from hansa.rooms.catalogue.card_rights import AGENT_RIGHT, CardReader, RightAt
from hansa.rooms.catalogue.errors import CardUnknown, CardVersionUnknown

from .reading import history_of, readable_card, version_of
from .releases import RELEASES_OF_AGENT, Release, ReleasesOf
from .schemas import (
    CardVersionOut,
    CardVersionsOut,
    CardVersionWithDataOut,
    CodeVersionsOut,
    VersionsQuery,
)

VERSION_MAX = 2**31 - 1

MaybeDeveloper = Annotated[Developer | None, maybe_developer_holding("cards:read")]


async def _reader(
    developer: MaybeDeveloper, right_at: Annotated[RightAt, Depends(AGENT_RIGHT.given)]
) -> CardReader | None:
    return CardReader(developer.id, right_at) if developer else None


Reader = Annotated[CardReader | None, Depends(_reader)]
Releases = Annotated[ReleasesOf, Depends(RELEASES_OF_AGENT.given)]

router = APIRouter(tags=["agent cards"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])


@router.get(
    "/agent-cards/{card_id}/versions", openapi_extra=CREDENTIAL_OPTIONAL, responses=problems(CardUnknown)
)
async def read_versions(reader: Reader, db: Db, card_id: str) -> CardVersionsOut:
    """The versions of a card. Only its owner can read those of a withdrawn card, others receive 404."""
    found = await db.read(lambda tx: history_of(tx, card_id, reader))
    return CardVersionsOut(versions=[CardVersionOut.of(version) for version in found])


@router.get(
    "/agents/{did}/versions", openapi_extra=CREDENTIAL_OPTIONAL, responses=problems(CardUnknown, Invalid)
)
async def read_versions_of_agent(
    reader: Reader, db: Db, did: str, query: Annotated[VersionsQuery, Query()], releases_of: Releases
) -> CardVersionsOut | CodeVersionsOut:
    """The versions of an agent's card, or with `kind=release` those of its code, drafts included."""
    if query.kind == "release":

        async def page(tx: Tx) -> Sequence[Release]:
            await readable_card(tx, did, reader)
            return await releases_of(tx, did, query.before, query.limit + 1)

        return CodeVersionsOut.of(await db.read(page), query.limit)
    found = await db.read(lambda tx: history_of(tx, did, reader))
    return CardVersionsOut(versions=[CardVersionOut.of(version) for version in found])


@router.get(
    "/agent-cards/{card_id}/versions/{version}",
    openapi_extra=CREDENTIAL_OPTIONAL,
    responses=problems(CardUnknown, CardVersionUnknown),
)
async def read_version(
    reader: Reader, db: Db, card_id: str, version: Annotated[int, Path(ge=1, le=VERSION_MAX)]
) -> CardVersionWithDataOut:
    """One version of a card's document; that of a withdrawn card only for its owner."""
    found = await db.read(lambda tx: version_of(tx, card_id, version, reader))
    return CardVersionWithDataOut.of(found)
