"""Administrators record and withdraw authorizations; the registry card states them at once."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.rooms.federation import jurisdiction
from hansa.rooms.federation.jurisdiction import (
    ReadAttestedContract,
    RegulatoryAuthorizationIn,
    RegulatoryAuthorizationOut,
)

from . import card_store
from .card_publication import publish_card
from .errors import KeyDoesNotOpen

authorizations_admin_router = APIRouter(
    prefix="/admin/jurisdiction/authorizations", tags=["administrators"], route_class=GuardedRoute
)

PlatformAdministrator = Annotated[Developer, admin_holding("admin_platform")]
ReadContract = Annotated[ReadAttestedContract, Depends(jurisdiction.ATTESTED_CONTRACT.given)]


@authorizations_admin_router.post(
    "",
    status_code=201,
    response_model_exclude_none=True,
    responses=problems(
        Unauthorized,
        BodyInvalid,
        Invalid,
        jurisdiction.EvidenceRefused,
        jurisdiction.TooManyAuthorizations,
        KeyDoesNotOpen,
    ),
)
async def record_authorization(
    body: RegulatoryAuthorizationIn,
    administrator: PlatformAdministrator,
    db: Db,
    *,
    settings: Config,
    seal: Sealing,
    read_contract: ReadContract,
) -> RegulatoryAuthorizationOut:
    """Record that an authority permits an act. A contract that is named as evidence becomes public with its terms."""

    async def record(tx: Tx) -> RegulatoryAuthorizationOut:
        await card_store.lock_card(tx)
        recorded = await jurisdiction.record_authorization(tx, administrator, body.new(), read_contract)
        await publish_card(tx, settings, seal)
        return RegulatoryAuthorizationOut.of(recorded)

    return await db.transaction(record)


@authorizations_admin_router.delete(
    "/{authorization_id:uuid}",
    response_model_exclude_none=True,
    responses=problems(Unauthorized, Invalid, jurisdiction.AuthorizationUnknown, KeyDoesNotOpen),
)
async def withdraw_authorization(
    authorization_id: UUID, administrator: PlatformAdministrator, db: Db, settings: Config, seal: Sealing
) -> RegulatoryAuthorizationOut:
    """Withdraw an authorization: the acts that it covered are parked again."""

    async def withdraw(tx: Tx) -> RegulatoryAuthorizationOut:
        await card_store.lock_card(tx)
        withdrawn = await jurisdiction.withdraw_authorization(tx, administrator, authorization_id)
        await publish_card(tx, settings, seal)
        return RegulatoryAuthorizationOut.of(withdrawn)

    return await db.transaction(withdraw)
