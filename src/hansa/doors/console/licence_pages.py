"""The pages of licences: the one that this registry holds, those that it issued, and each with its chain and every check."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from hansa.doors.console.proofs_page import CertificateShown, CheckShown, certificate_shown
from hansa.doors.console.rendering import both_forms, page_or_json
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import federation

PAGE = 50
OFFSET_MAX = 2**31 - 1

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)


class VerifiedShown(LazyModel):
    """A licence as it was verified when the page was made."""

    code: str = Field(description="`verified`, or what does not hold.")
    reason: str
    verified_at: datetime
    as_of: datetime | None = Field(description="The time of the oldest list on which the verdict rests.")
    expires_at: datetime | None
    checks: list[CheckShown]
    chain: list[CertificateShown] = Field(description="The certificate first, the genesis last.")

    @classmethod
    def of(cls, found: federation.VerifiedLicence) -> "VerifiedShown":
        """The verdict with its steps."""
        verdict = found.verdict
        texts = (found.certificate, *found.chain)
        return cls(
            code=verdict.code,
            reason=verdict.reason,
            verified_at=found.verified_at,
            as_of=verdict.as_of,
            expires_at=verdict.expires_at,
            checks=[CheckShown(name=step.name, holds=step.holds, said=step.said) for step in verdict.steps],
            chain=[shown for text in texts if (shown := certificate_shown(text))],
        )


class IssuedLine(LazyModel):
    """A certificate in the list of those that were issued here."""

    lid: str
    hash: str
    type: str
    subject: str
    plan: str
    state: str
    issued_at: datetime
    expires_at: datetime | None

    @classmethod
    def of(cls, issued: federation.IssuedCertificate) -> "IssuedLine":
        """The certificate as the list shows it."""
        return cls(
            lid=issued.lid,
            hash=issued.hash,
            type=issued.type,
            subject=f"{issued.sub_name} ({issued.sub_trust_domain})",
            plan=issued.plan,
            state=issued.state,
            issued_at=issued.issued_at,
            expires_at=issued.expires_at,
        )


class LicencesShown(LazyModel):
    """The licence that this registry holds, and those that it issued, newest first."""

    own: VerifiedShown | None
    issued: list[IssuedLine]
    total: int
    offset: int
    limit: int = PAGE


class LicenceShown(LazyModel):
    """A licence that this registry issued: its present state, and the parts that anyone can verify."""

    issued: IssuedLine
    certificate: str
    verified: VerifiedShown


@both_forms(router, "/licences")
async def show_licences(
    _: Public,
    request: Request,
    db: Db,
    settings: Config,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX)] = 0,
) -> Response:
    """The licence that this registry holds, and a page of those that it issued."""

    async def read(tx: Tx) -> LicencesShown:
        own = await federation.verify_own_licence(tx, settings)
        criteria = federation.CertificateFilter(limit=PAGE, offset=offset)
        issued, total = await federation.list_licence_certificates(tx, criteria)
        return LicencesShown(
            own=None if own is None else VerifiedShown.of(own),
            issued=[IssuedLine.of(one) for one in issued],
            total=total,
            offset=offset,
        )

    return page_or_json(request, "licences.html", await db.read(read))


@both_forms(router, "/licences/{lid:uuid}")
async def show_licence(_: Public, request: Request, db: Db, settings: Config, lid: UUID) -> Response:
    """One licence that this registry issued, with its chain and every check."""

    async def read(tx: Tx) -> LicenceShown:
        issued, verified = await federation.verify_issued_licence(tx, settings, str(lid))
        return LicenceShown(
            issued=IssuedLine.of(issued),
            certificate=issued.certificate,
            verified=VerifiedShown.of(verified),
        )

    return page_or_json(request, "licence.html", await db.read(read))
