"""API keys: made with scopes and shown once, listed, revoked."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    AccountAct,
    Act,
    FormRefused,
    ProvedAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    account_page,
    act_once,
    see_other,
)
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import NotFound, Refused
from hansa.foundation.values.scopes import EVERY_SCOPE, SCOPES
from hansa.rooms import people

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

KEYS_SHOWN = 200
BIGINT_MAX = 2**63 - 1
DAYS_MAX_DIGITS = 5


@router.get("/account/api-keys")
async def show_keys(person: SignedInPerson, request: Request, db: Db, settings: Config) -> HTMLResponse:
    """The API keys of the account, and the form of a new one."""
    return await _keys_page(request, person, db, settings)


@router.post("/account/api-keys")
async def make_key(sender: ProvedAct, request: Request, db: Db, settings: Config) -> Response:
    """Make an API key and show it."""
    person = sender.person
    try:
        body = _requested(sender.form)
        days = settings.api_key_default_ttl_days if body.expires_in_days is None else body.expires_in_days

        async def made(tx: Tx) -> people.MadeKeyOut:
            key = await people.make_key(
                tx, person.developer, name=body.key_name, scopes=body.scopes, ttl_days=days
            )
            return people.MadeKeyOut.of(key)

        key = await act_once(request, sender, people.MadeKeyOut, made)
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _keys_page(request, person, db, settings, refused, status=refusal.status)
    return account_page(request, "account/api-key-shown.html", person, made=key)


@router.post("/account/api-keys/{key_id:int}/revoke")
async def revoke_key(
    key_id: Annotated[int, Path(ge=1, le=BIGINT_MAX)], sender: AccountAct, db: Db
) -> Response:
    """Revoke an API key; one that is revoked already is no trouble."""
    try:
        await db.transaction(lambda tx: people.revoke_key(tx, sender.person.developer, key_id))
    except NotFound:
        return see_other("/account/api-keys?done=gone")
    return see_other("/account/api-keys?done=revoked")


@router.post("/account/api-keys/{key_id:int}/restore")
async def restore_key(
    key_id: Annotated[int, Path(ge=1, le=BIGINT_MAX)],
    sender: Act,
    request: Request,
    db: Db,
    settings: Config,
) -> Response:
    """Undo the revocation of an API key, in the seconds after it."""
    try:
        is_restored = await db.transaction(lambda tx: people.restore_key(tx, sender.person.developer, key_id))
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _keys_page(request, sender.person, db, settings, refused, status=refusal.status)
    return see_other(f"/account/api-keys?done={'restored' if is_restored else 'late'}")


def _requested(form: SentForm) -> people.ApiKeyIn:
    """Raises: FormRefused."""
    days = form.value("expires_in_days")
    if days and not (days.isascii() and days.isdigit() and len(days) <= DAYS_MAX_DIGITS):
        raise FormRefused(
            {"expires_in_days": "Enter a number of days; 0 means that the key does not expire."}
        )
    scopes = form.values("scopes")
    requested = form.read_as(
        people.ApiKeyIn, scopes=scopes or [EVERY_SCOPE], expires_in_days=int(days) if days else None
    )
    if not scopes:
        raise FormRefused({"scopes": "Choose the scopes that the program needs, or every scope."})
    return requested


async def _keys_page(
    request: Request,
    person: SignedIn,
    db: Db,
    settings: Config,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    keys, total = await db.read(lambda tx: people.list_keys(tx, person.developer, limit=KEYS_SHOWN, offset=0))
    in_reach = [
        scope
        for scope in SCOPES
        if not scope.startswith("admin:") or scope.removeprefix("admin:") in person.areas
    ]
    return account_page(
        request,
        "account/api-keys.html",
        person,
        form,
        status=status,
        keys=keys,
        total=total,
        scopes=in_reach,
        days=settings.api_key_default_ttl_days,
        done=request.query_params.get("done", ""),
    )
