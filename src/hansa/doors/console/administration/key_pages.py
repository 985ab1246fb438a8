"""Keys of the registry for administrators of the platform: those that are rotated here, and those that the operator rotates."""

from typing import Literal

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import FormRefused, SentForm, SignedIn
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.jwk import thumbprint
from hansa.rooms import auditor, federation

from .pages import (
    REASON_MAX_CHARACTERS,
    FormsPage,
    PlatformAct,
    PlatformAdministrator,
    administration_page,
    administration_router,
)

router = administration_router()

KEYS = "/administration/keys"


@router.get(KEYS)
async def list_keys(
    person: PlatformAdministrator, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The public halves of the keys of the registry, newest first."""
    return await _page(request, person, db, SentForm(), settings=settings)


@router.post(KEYS + "/{kind}/rotate")
async def rotate_key(
    kind: Literal["registry", "auditor"],
    sender: PlatformAct,
    request: Request,
    db: Db,
    settings: Config,
    *,
    seal: Sealing,
) -> Response:
    """Sign with a new key from now on."""

    async def rotated(tx: Tx) -> None:
        administrator, field = sender.person.developer, f"{kind}_reason"
        reason = sender.form.value(field).strip()
        if len(reason) > REASON_MAX_CHARACTERS:
            raise FormRefused({field: f"A reason has at most {REASON_MAX_CHARACTERS} characters."})
        if kind == "registry":
            await federation.rotate_key_by_administrator(
                tx, administrator, settings, seal, reason=reason or None
            )
        else:
            await auditor.rotate_auditor_key_by_administrator(
                tx, administrator, settings.ledger_id, seal, reason=reason or None
            )

    return await FORMS.carry_out(request, sender, db, settings, rotated, done=kind)


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> tuple[list[federation.RegistryKey], list[auditor.AuditorKey], bytes]:
        keys = await federation.all_keys(tx)
        return keys, await auditor.list_keys(tx), await federation.licensing_public_key(tx)

    keys, auditor_keys, licensing = await db.read(reading)
    return administration_page(
        request,
        "keys.html",
        person,
        form,
        status=status,
        section=KEYS,
        keys=keys,
        auditor_keys=auditor_keys,
        licensing=thumbprint(licensing),
        issues_identities=settings.issues_identities and not settings.uses_workload_api,
    )


FORMS = FormsPage(KEYS, _page)
