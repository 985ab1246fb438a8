"""Jurisdiction for administrators of the platform: the declared profile, and authorizations recorded and withdrawn."""

from collections.abc import Mapping
from typing import Annotated, get_args
from uuid import UUID

from fastapi import Depends, Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import FormRefused, SentForm, SignedIn, whole_number
from hansa.doors.console.access.forms import moment_in_utc
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.settings import RegulatedAction, Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms import federation

from .pages import FormsPage, PlatformAct, PlatformAdministrator, administration_page, administration_router

router = administration_router()

JURISDICTION = "/administration/jurisdiction"
ACTIONS_IN_WORDS: Mapping[RegulatedAction, str] = {
    "exchange.listing": "Listing on an exchange",
    "exchange.ipo": "First offer on an exchange",
    "fiat.lane": "Exchange for legal tender",
    "registry.operation": "Operation of the registry itself",
}
TIERS_IN_WORDS = {
    "reference": "A reference, such as the number in a public register",
    "hash": "A document, by its SHA-256",
    "contract": "A countersigned contract of this registry",
}
FIELD_OF_TIER = {"reference": "reference", "hash": "sha256", "contract": "contract_id"}
ReadContract = Annotated[federation.ReadAttestedContract, Depends(federation.ATTESTED_CONTRACT.given)]

assert set(ACTIONS_IN_WORDS) == set(get_args(RegulatedAction))


@router.get(JURISDICTION)
async def show_jurisdiction(
    person: PlatformAdministrator, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The declared profile, the live authorizations, and the form of a new one."""
    return await _page(request, person, db, SentForm(), settings=settings)


@router.post(JURISDICTION)
async def record_authorization(
    sender: PlatformAct,
    request: Request,
    db: Db,
    settings: Config,
    seal: Sealing,
    *,
    read_contract: ReadContract,
) -> Response:
    """Record an authorization; the registry card states it at once."""

    async def recorded(tx: Tx) -> None:
        body = _requested(sender.form)
        administrator = sender.person.developer
        try:
            await federation.record_authorization(
                tx, administrator, body, settings=settings, seal=seal, read_contract=read_contract
            )
        except federation.EvidenceRefused as refusal:
            field = (refusal.field or "").rpartition(".")[2]
            raise FormRefused({field: refusal.detail}) from None

    return await FORMS.carry_out(request, sender, db, settings, recorded, done="recorded")


@router.post(JURISDICTION + "/{authorization_id:uuid}/withdraw")
async def withdraw_authorization(
    authorization_id: Annotated[UUID, Path()],
    sender: PlatformAct,
    request: Request,
    db: Db,
    settings: Config,
    *,
    seal: Sealing,
) -> Response:
    """Withdraw an authorization; the acts that it covered are parked again."""

    async def withdrawn(tx: Tx) -> None:
        administrator = sender.person.developer
        await federation.withdraw_authorization(tx, administrator, authorization_id, settings, seal)

    return await FORMS.carry_out(request, sender, db, settings, withdrawn, done="withdrawn")


def _requested(form: SentForm) -> federation.RegulatoryAuthorizationIn:
    """The authorization that the form describes. Raises: FormRefused."""
    tier = form.value("tier")
    needed = FIELD_OF_TIER.get(tier)
    if needed is None:
        raise FormRefused({"tier": "This is no kind of evidence."})
    if not form.value(needed).strip():
        raise FormRefused({needed: "This kind of evidence requires this field."})
    for other in {"sha256", "contract_id"} - {needed}:
        if form.value(other).strip():
            raise FormRefused({other: "The chosen kind of evidence has no such field; leave it empty."})
    contract = form.value("contract_id").strip()
    evidence = form.read_as(
        federation.AuthorizationEvidenceIn,
        tier=tier,
        contract_id=whole_number(contract) if contract else None,
    )
    until = form.value("valid_until").strip()
    return form.read_as(
        federation.RegulatoryAuthorizationIn,
        evidence=evidence,
        valid_until=moment_in_utc(until) if until else None,
    )


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    return administration_page(
        request,
        "jurisdiction.html",
        person,
        form,
        status=status,
        section=JURISDICTION,
        profile=federation.declared_profile(settings),
        authorizations=await db.read(federation.live_authorizations),
        actions=list(ACTIONS_IN_WORDS.items()),
        actions_in_words=ACTIONS_IN_WORDS,
        tiers=list(TIERS_IN_WORDS.items()),
        own_domain=settings.trust_domain,
    )


FORMS = FormsPage(JURISDICTION, _page)
