"""The registry card for administrators of the platform: the operator's members of it, block by block."""

import asyncio
import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    FormRefused,
    SentForm,
    SignedIn,
    Uploading,
    proved_upload_in,
)
from hansa.doors.console.navigation import PLATFORM
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, parse_json
from hansa.rooms import federation

from .pages import PlatformAct, PlatformAdministrator, administration_page, administration_router, carry_out

router = administration_router()

CARD = "/administration/registry-card"
IconUpload = Annotated[Uploading, proved_upload_in(PLATFORM, CARD, federation.ICON_MAX_BYTES)]

AS_JSON = ("operator", "visual", "links", "commitments")


@router.get("/administration/registry-card")
async def show_card(person: PlatformAdministrator, request: Request, db: Db) -> HTMLResponse:
    """The blocks that the operator writes, and the published version."""
    return await _page(request, person, db)


@router.post("/administration/registry-card")
async def edit_card(
    sender: PlatformAct, request: Request, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Replace every block of the form; an empty one is removed. The card is signed again."""

    async def edited(tx: Tx) -> None:
        editor = federation.CardEditor(sender.person.developer, settings, seal)
        await federation.edit_card(tx, editor, _blocks(sender.form))

    async def refused(form: SentForm, status: int) -> HTMLResponse:
        errors = {name.partition(".")[0].partition("[")[0]: text for name, text in form.errors.items()}
        shown = SentForm(form.fields, errors, form.message)
        return await _page(request, sender.person, db, shown, status=status)

    return await carry_out(request, sender, edited, done=f"{CARD}?done=signed", refused=refused)


@router.post("/administration/registry-card/icon")
async def replace_icon(
    sender: IconUpload, request: Request, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Replace the icon: a PNG or JPEG image of at most 500 KB, rewritten without metadata. The card is signed again."""

    async def replaced(tx: Tx) -> None:
        image, media_type = await asyncio.to_thread(federation.rewritten_icon, sender.file)
        editor = federation.CardEditor(sender.person.developer, settings, seal)
        await federation.set_icon(tx, editor, image, media_type)

    return await carry_out(
        request,
        sender,
        replaced,
        done=f"{CARD}?done=icon",
        refused=lambda form, status: _page(request, sender.person, db, icon=form, status=status),
    )


def _blocks(form: SentForm) -> dict[str, Any]:
    """Each block as the API takes it. Raises: FormRefused."""
    tags = [line.strip() for line in form.value("tags").splitlines() if line.strip()]
    given: dict[str, Any] = {"description": form.value("description") or None, "tags": tags or None}
    errors = {}
    for name in AS_JSON:
        text = form.value(name).strip()
        try:
            given[name] = parse_json(text.encode()) if text else None
        except BodyInvalid as refusal:
            errors[name] = refusal.detail.replace("The body", "The text")
    if errors:
        raise FormRefused(errors)
    return given


def _fields(editable: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("description", editable.get("description") or ""),
        ("tags", "\n".join(editable.get("tags") or [])),
        *(
            (name, json.dumps(editable[name], indent=2, ensure_ascii=False) if name in editable else "")
            for name in AS_JSON
        ),
    ]


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm | None = None,
    *,
    icon: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> federation.RegistryCardEdited:
        return federation.RegistryCardEdited.of(*await federation.read_editable_version(tx))

    shown = await db.read(reading)
    return administration_page(
        request,
        "registry-card.html",
        person,
        form or SentForm(_fields(shown.editable)),
        status=status,
        section=CARD,
        shown=shown,
        icon=icon or SentForm(),
        icon_bytes_max=federation.ICON_MAX_BYTES,
        blocks=AS_JSON,
    )
