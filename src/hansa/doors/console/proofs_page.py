"""The page of proofs: the verified registry card, the licence with its chain, the head of the log and its witnesses."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from hansa.doors.console.rendering import both_forms, page_or_json
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import auditor, federation
from hansa_verify import BadLicence, RegistryKey, log, read_certificate, verify_registry_card

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

LastAuditOf = Annotated[federation.ReadLastAudit, Depends(federation.LAST_AUDIT.given)]


class CheckShown(LazyModel):
    """One step of a verification."""

    name: str
    holds: bool
    said: str


class CardShown(LazyModel):
    """The registry card, verified with the published keys when the page was made."""

    code: str = Field(description="`verified`, or what does not hold.")
    verified_at: datetime
    kid: str | None
    signed_at: datetime | None
    expires_at: datetime | None
    checks: list[CheckShown]
    compliance: "ComplianceShown | None" = Field(
        description="Null without a profile and without authorizations."
    )


class CertificateShown(LazyModel):
    """A licence certificate of the chain, this registry's own first."""

    hash: str
    type: str
    subject: str
    issuer: str
    issued_at: datetime
    expires_at: datetime | None


class LicenceShown(LazyModel):
    """The licence that this registry holds, with its chain."""

    state: str
    chain: list[CertificateShown]


class ComplianceShown(LazyModel):
    """Jurisdiction of the registry card."""

    profile: str | None
    version: str | None
    regulated_actions: list[str]
    authorizations: int = Field(description="How many live authorizations there are.")


class LogShown(LazyModel):
    """The newest checkpoint of the log."""

    origin: str
    size: int
    root: str = Field(description="Lowercase hex.")


class ProofsOut(LazyModel):
    """Documents that this registry publishes so that others can verify it."""

    card: CardShown
    licence: LicenceShown | None
    log: LogShown | None
    witnesses: auditor.LogWitnessesOut
    forks: auditor.LogForksOut = Field(description="Logs of others that have forked.")


@both_forms(router, "/proofs")
async def show_proofs(
    _: Public, request: Request, db: Db, settings: Config, last_audit: LastAuditOf
) -> Response:
    """The registry card and its verification, the licence and its chain, the log and its witnesses."""

    async def reading(tx: Tx) -> ProofsOut:
        card, licence, checkpoint, witnesses, forks = await read_together(
            tx,
            lambda tx: _card(tx, settings, last_audit),
            lambda tx: _licence(tx, settings),
            _log,
            lambda tx: auditor.list_log_witnesses(tx, settings),
            auditor.list_forks,
        )
        return ProofsOut(
            card=card,
            licence=licence,
            log=checkpoint,
            witnesses=auditor.LogWitnessesOut.of(witnesses),
            forks=auditor.LogForksOut.of(forks, settings.ledger_id),
        )

    return page_or_json(request, "proofs.html", await db.read(reading))


async def _card(tx: Tx, settings: Settings, last_audit: federation.ReadLastAudit) -> CardShown:
    served, published = await read_together(
        tx,
        lambda tx: federation.read_card(tx, settings.settlement_currency, last_audit),
        federation.published_keys,
    )
    keys = [RegistryKey(key.kid, key.public_key, key.valid_from, key.retired_at) for key in published]
    now = datetime.now(UTC)
    verdict = verify_registry_card(json.dumps(served.card), keys, at=now)
    return CardShown(
        code=verdict.code,
        verified_at=now,
        kid=verdict.kid,
        signed_at=verdict.signed_at,
        expires_at=verdict.expires_at,
        checks=[CheckShown(name=step.name, holds=step.holds, said=step.said) for step in verdict.steps],
        compliance=_compliance(served.card.get("compliance")),
    )


def _compliance(block: Mapping[str, Any] | None) -> ComplianceShown | None:
    if block is None:
        return None
    return ComplianceShown.model_validate({**block, "authorizations": len(block["authorizations"])})


async def _licence(tx: Tx, settings: Settings) -> LicenceShown | None:
    own = await federation.held_licence(tx, settings)
    if own is None:
        return None
    texts = [own.network.certificate, *own.network.chain]
    return LicenceShown(state=own.state, chain=[one for text in texts if (one := certificate_shown(text))])


def certificate_shown(text: str) -> CertificateShown | None:
    """The certificate in a table; None for a text that is none."""
    try:
        certificate = read_certificate(text)
    except BadLicence:
        return None
    payload = certificate.payload
    ends = payload["exp"]
    return CertificateShown(
        hash=certificate.hash,
        type=certificate.kind,
        subject=f"{payload['sub']['name']} ({payload['sub']['trust_domain']})",
        issuer=f"{payload['iss']['name']} ({payload['iss']['trust_domain']})",
        issued_at=datetime.fromtimestamp(payload["iat"], UTC),
        expires_at=None if ends is None else datetime.fromtimestamp(ends, UTC),
    )


async def _log(tx: Tx) -> LogShown | None:
    try:
        size, note = await auditor.read_checkpoint(tx)
    except auditor.LogEmpty:
        return None
    origin, _, root = note.split("\n")[:3]
    return LogShown(origin=origin, size=size, root=log.read_hash(root).hex())
