"""Licence certificates over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, Public, admin_holding
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized
from hansa.foundation.values.jwk import thumbprint

from .errors import (
    CertificateRefused,
    CertificateState,
    CertificateUnknown,
    GenesisHeld,
    GenesisMissing,
    InstallRefused,
    LicensingKeySealed,
    NotAMainframe,
)
from .held import own_licence
from .issued_list import issued_list
from .issuing import issue_certificate
from .keys import licensing_public_key
from .on_card import found_network, join_network
from .operator_caller import CurrentOperator, NotAnOperator
from .operator_licence import LicensingOff, operator_licence
from .reading import licence_by_hash, list_licence_certificates
from .records import CertificateAct, Delivered
from .schemas import (
    CertificateChange,
    CertificateIn,
    CertificateOut,
    CertificatesPage,
    CertificatesQuery,
    ChangedOut,
    FoundLicenceOut,
    GenesisIn,
    InstallIn,
    IssuedListOut,
    LicensingJwk,
    OperatorLicenceOut,
    OwnLicenceOut,
)
from .states import change_certificate

CACHED = "public, max-age=300, stale-while-revalidate=600"
UNCACHED = "no-cache"

router = APIRouter(tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])
root_router = APIRouter(tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])
peer_router = APIRouter(tags=["federation"], route_class=GuardedRoute)
admin_router = APIRouter(
    prefix="/admin/federation/licences", tags=["administrators"], route_class=GuardedRoute
)

Administrator = Annotated[Developer, admin_holding("admin_federation")]
Lid = Annotated[str, Path(min_length=1, max_length=128, pattern=r"^[0-9A-Za-z-]+$")]

ADMINISTERED = (Unauthorized, Invalid)
CHANGES = problems(*ADMINISTERED, BodyInvalid, CertificateUnknown, CertificateState, NotAMainframe)


@root_router.get(
    "/.well-known/federation-licence.json", responses=problems(TooManyRequests, CertificateUnknown)
)
async def read_own_licence(_: Public, response: Response, db: Db, settings: Config) -> OwnLicenceOut:
    """The certificate by which this registry belongs to a network, with its chain; 404 where it holds none."""
    own = await db.query(lambda tx: own_licence(tx, settings))
    response.headers["Cache-Control"] = CACHED
    return OwnLicenceOut.of(own)


@root_router.get(
    "/.well-known/federation-licences.json",
    responses=problems(TooManyRequests, CertificateUnknown, LicensingKeySealed),
)
async def read_issued_list(
    _: Public, response: Response, db: Db, settings: Config, seal: Sealing
) -> IssuedListOut:
    """The signed list of all certificates that this registry issued, with their states; 404 before the first."""
    text = await issued_list(db, settings, seal)
    response.headers["Cache-Control"] = UNCACHED
    return IssuedListOut(list=text)


@router.get(
    "/public/federation/licences/{cert_hash}",
    responses=problems(TooManyRequests, Invalid, CertificateUnknown),
)
async def read_licence(
    _: Public,
    cert_hash: Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")],
    response: Response,
    db: Db,
    settings: Config,
) -> FoundLicenceOut:
    """One certificate that this registry issued or holds, by its hash, with its issuer and its present state."""
    found = await db.query(lambda tx: licence_by_hash(tx, settings, cert_hash))
    response.headers["Cache-Control"] = UNCACHED
    return FoundLicenceOut.of(found)


@peer_router.get(
    "/federation/licence/mine",
    responses=problems(CertificateMissing, NotAnOperator, NotAMainframe, LicensingOff, LicensingKeySealed),
)
async def read_operator_licence(
    caller: CurrentOperator, db: Db, settings: Config, seal: Sealing
) -> OperatorLicenceOut:
    """The licence of the operator that asks, with the frame's own chain; issued now where policy issues automatically."""
    found = await db.transaction(lambda tx: operator_licence(tx, settings, seal, caller))
    return OperatorLicenceOut.of(found, settings)


@admin_router.post(
    "/genesis",
    status_code=201,
    responses=problems(*ADMINISTERED, BodyInvalid, GenesisHeld, NotAMainframe),
)
async def issue_genesis_certificate(
    _: GenesisIn, administrator: Administrator, db: Db, settings: Config, seal: Sealing
) -> CertificateOut:
    """Issue the genesis certificate to this registry; possible once, on an allow-listed sovereign mainframe."""
    issued = await db.transaction(lambda tx: found_network(tx, administrator, settings, seal))
    return CertificateOut.of(issued)


@admin_router.post(
    "",
    status_code=201,
    responses=problems(
        *ADMINISTERED, BodyInvalid, CertificateRefused, CertificateState, GenesisMissing, NotAMainframe
    ),
)
async def issue_licence_certificate(
    body: CertificateIn, administrator: Administrator, db: Db, settings: Config, seal: Sealing
) -> CertificateOut:
    """Issue a certificate. The genesis issues frame certificates, a frame operator certificates of its trust domain.

    Older active or suspended certificates of the same subject become `superseded`.
    """
    request = body.request()
    issued = await db.transaction(lambda tx: issue_certificate(tx, administrator, settings, seal, request))
    return CertificateOut.of(issued)


@admin_router.get("", responses=problems(*ADMINISTERED))
async def list_issued_certificates(
    _: Administrator, query: Annotated[CertificatesQuery, Query()], db: Db
) -> CertificatesPage:
    """The certificates that this registry issued, newest first."""
    found, total = await db.read(lambda tx: list_licence_certificates(tx, query.criteria()))
    return CertificatesPage.of(found, total, query)


@admin_router.post("/install", responses=problems(*ADMINISTERED, BodyInvalid, InstallRefused, GenesisHeld))
async def install_licence_certificate(
    body: InstallIn, administrator: Administrator, db: Db, settings: Config, seal: Sealing
) -> OwnLicenceOut:
    """Install the frame certificate that the genesis issued to this registry.

    Its state is `active` when the chain ends in FEDERATION_ROOT_HASH, and `unverified` where no root is trusted.
    """
    own = await db.transaction(
        lambda tx: join_network(tx, administrator, settings, seal, Delivered(body.certificate, body.chain))
    )
    return OwnLicenceOut.of(own)


@admin_router.get("/key", responses=problems(Unauthorized, LicensingKeySealed))
async def read_licensing_key(_: Administrator, db: Db) -> LicensingJwk:
    """The public licence-signing key of this registry; a genesis needs it to issue a frame certificate."""
    key = await db.query(licensing_public_key)
    return LicensingJwk.of(thumbprint(key), key)


@admin_router.post("/{lid}/suspend", responses=CHANGES)
async def suspend_licence_certificate(
    lid: Lid, body: CertificateChange, administrator: Administrator, db: Db, settings: Config
) -> ChangedOut:
    """Suspend every active certificate of the subject, until it is reinstated."""
    return await _changed(db, administrator, settings, CertificateAct(lid, "suspend", body.reason))


@admin_router.post("/{lid}/reinstate", responses=CHANGES)
async def reinstate_licence_certificate(
    lid: Lid, body: CertificateChange, administrator: Administrator, db: Db, settings: Config
) -> ChangedOut:
    """Reinstate what the same act suspended and is not past its end."""
    return await _changed(db, administrator, settings, CertificateAct(lid, "reinstate", body.reason))


@admin_router.post("/{lid}/revoke", responses=CHANGES)
async def revoke_licence_certificate(
    lid: Lid, body: CertificateChange, administrator: Administrator, db: Db, settings: Config
) -> ChangedOut:
    """Revoke every certificate of the subject for good."""
    return await _changed(db, administrator, settings, CertificateAct(lid, "revoke", body.reason))


async def _changed(db: Db, administrator: Developer, settings: Config, change: CertificateAct) -> ChangedOut:
    one, changed = await db.transaction(lambda tx: change_certificate(tx, administrator, settings, change))
    return ChangedOut.changed_to(one, changed)
