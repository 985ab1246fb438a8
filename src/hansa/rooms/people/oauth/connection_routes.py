"""HTTP doors of the connections of a person."""

from typing import Annotated
from uuid import UUID

import msgspec
from fastapi import APIRouter, Depends, Query

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    API_KEY_SESSION,
    SPENT_UNDER_GRANTS,
    Developer,
    SpentUnderGrants,
    developer_acting,
    developer_holding,
)
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import DeveloperSuspended, Invalid, TooManyRequests, Unauthorized
from hansa.foundation.values.money import ZERO
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms.people.errors import TooManyPasswords, WrongPassword
from hansa.rooms.people.passwords import prove_password

from .connections import (
    Changes,
    change_connection,
    end_connection,
    living_connections,
    own_connection,
)
from .errors import ConnectionUnknown, RaiseNeedsPassword
from .records import ConnectionRow
from .rules import GRANTS_MAX
from .schemas import ConnectionChangesIn, ConnectionEndedOut, ConnectionOut

OFFSET_MAX = 2**31 - 1

connections_router = APIRouter(
    prefix="/auth/connections", tags=["connected clients"], route_class=GuardedRoute
)

ReadingDeveloper = Annotated[Developer, developer_holding("profile:read")]
LimitingDeveloper = Annotated[Developer, developer_acting("profile:write")]
EndingDeveloper = Annotated[Developer, developer_holding("profile:write")]
Spent = Annotated[SpentUnderGrants, Depends(SPENT_UNDER_GRANTS.given)]


@connections_router.get("", responses=problems(Unauthorized, Invalid))
async def list_connections(
    developer: ReadingDeveloper,
    db: Db,
    spent: Spent,
    limit: Annotated[int, Query(ge=1, le=GRANTS_MAX)] = GRANTS_MAX,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX)] = 0,
) -> Page[ConnectionOut]:
    """The clients that may act for the account, newest first."""

    async def read(tx: Tx) -> Page[ConnectionOut]:
        found, total = await living_connections(tx, developer.id, limit=limit, offset=offset)
        return Page(
            items=await shown(tx, found, spent),
            pagination=Pagination.of(total=total, limit=limit, offset=offset),
        )

    return await db.read(read)


@connections_router.patch(
    "/{connection_id}",
    operation_id="change_connection",
    responses=problems(
        Unauthorized,
        DeveloperSuspended,
        ConnectionUnknown,
        RaiseNeedsPassword,
        WrongPassword,
        Invalid,
        BodyInvalid,
        TooManyRequests,
        TooManyPasswords,
    ),
)
async def patch_connection(
    connection_id: UUID, body: ConnectionChangesIn, developer: LimitingDeveloper, db: Db, spent: Spent
) -> ConnectionOut:
    """Change the limits of a connection, or take scopes away."""
    is_proved = False
    if body.password is not None and not developer.session.startswith(API_KEY_SESSION):
        await prove_password(db, developer, body.password)
        is_proved = True

    async def change(tx: Tx) -> ConnectionOut:
        own = await own_connection(tx, developer.id, connection_id)
        changes = Changes(
            msgspec.UNSET if body.scopes is None else tuple(body.scopes),
            msgspec.UNSET if body.limits is None else body.limits.over(own.limits),
        )
        changed = await change_connection(tx, developer.id, connection_id, changes, is_proved=is_proved)
        (one,) = await shown(tx, [changed], spent)
        return one

    return await db.transaction(change)


@connections_router.delete("/{connection_id}", responses=problems(Unauthorized, ConnectionUnknown, Invalid))
async def delete_connection(connection_id: UUID, developer: EndingDeveloper, db: Db) -> ConnectionEndedOut:
    """End a connection with its tokens, from the next call on."""
    await db.transaction(lambda tx: end_connection(tx, developer.id, connection_id))
    return ConnectionEndedOut(id=connection_id)


async def shown(tx: Tx, connections: list[ConnectionRow], spent: SpentUnderGrants) -> list[ConnectionOut]:
    """Connections with the amounts paid today."""
    amounts = await spent(tx, [one.id for one in connections])
    return [ConnectionOut.of(one, amounts.get(one.id, ZERO)) for one in connections]
