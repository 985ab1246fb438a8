"""Administrators record and withdraw authorizations; the registry card states them at once."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.rooms.federation import jurisdiction
from hansa.rooms.federation.jurisdiction import (
    Authorization,
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
    recorded = await db.transaction(
        lambda tx: record_in_card(
            tx, administrator, body, settings=settings, seal=seal, read_contract=read_contract
        )
    )
    return RegulatoryAuthorizationOut.of(recorded)


@authorizations_admin_router.delete(
    "/{authorization_id:uuid}",
    response_model_exclude_none=True,
    responses=problems(Unauthorized, Invalid, jurisdiction.AuthorizationUnknown, KeyDoesNotOpen),
)
async def withdraw_authorization(
    authorization_id: UUID, administrator: PlatformAdministrator, db: Db, settings: Config, seal: Sealing
) -> RegulatoryAuthorizationOut:
    """Withdraw an authorization: the acts that it covered are parked again."""
    withdrawn = await db.transaction(
        lambda tx: withdraw_from_card(tx, administrator, authorization_id, settings, seal)
    )
    return RegulatoryAuthorizationOut.of(withdrawn)


async def record_in_card(
    tx: Tx,
    administrator: Developer,
    body: RegulatoryAuthorizationIn,
    *,
    settings: Settings,
    seal: Seal,
    read_contract: ReadAttestedContract,
) -> Authorization:
    """Record an authorization and publish the card that states it. Raises: EvidenceRefused, TooManyAuthorizations, KeyDoesNotOpen."""
    await card_store.lock_card(tx)
    recorded = await jurisdiction.record_authorization(tx, administrator, body.new(), read_contract)
    await publish_card(tx, settings, seal)
    return recorded


async def withdraw_from_card(
    tx: Tx, administrator: Developer, authorization_id: UUID, settings: Settings, seal: Seal
) -> Authorization:
    """Withdraw an authorization and publish the card without it. Raises: AuthorizationUnknown, KeyDoesNotOpen."""
    await card_store.lock_card(tx)
    withdrawn = await jurisdiction.withdraw_authorization(tx, administrator, authorization_id)
    await publish_card(tx, settings, seal)
    return withdrawn
