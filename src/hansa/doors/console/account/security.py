"""Protection of the account: the password, recovery keys, and links to the rest."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    AccountAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    account_page,
    see_other,
    try_once,
)
from hansa.doors.console.access.cookies import drop_session
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.entity_tags import PreconditionFailed, tag_of
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import people

from .text_file import text_file

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)


class RecoveryKeys(LazyModel):
    """New recovery keys, shown once."""

    keys: list[str]


@router.get("/account/security")
async def show_security(person: SignedInPerson, request: Request, db: Db, settings: Config) -> HTMLResponse:
    """Show the person and the protection of the account, with a link to the page that changes each part."""
    profile = await db.read(lambda tx: people.own_profile(tx, person.developer, settings))
    return account_page(request, "account/security.html", person, profile=profile)


@router.get("/.well-known/change-password")
async def find_password_form(_: Public) -> Response:
    """Redirect a password manager to the form of a new password (W3C, "A Well-Known URL for Changing Passwords")."""
    return see_other("/account/change-password")


@router.get("/account/change-password")
async def show_password(person: SignedInPerson, request: Request) -> HTMLResponse:
    """The form of a new password."""
    return account_page(request, "account/change-password.html", person)


@router.post("/account/change-password")
async def change_password(
    sender: AccountAct, request: Request, *, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Change the password; every session ends, this one as well."""
    try:
        asked = sender.form.read_as(people.ChangePasswordIn)
        await people.change_own_password(db, seal, sender.person.developer, asked)
    except Refused as refusal:
        return account_page(
            request,
            "account/change-password.html",
            sender.person,
            sender.form.refused(refusal),
            status=refusal.status,
        )
    answer = see_other("/login?notice=password")
    drop_session(answer, settings)
    return answer


@router.get("/account/recovery-keys")
async def show_recovery_keys(person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The form that replaces the recovery keys."""
    return await _recovery_keys(request, person, db)


@router.post("/account/recovery-keys")
async def renew_recovery_keys(sender: AccountAct, request: Request, db: Db, seal: Sealing) -> Response:
    """Replace the recovery keys and show the new ones."""
    person, seen = sender.person, sender.form.value("version")
    try:
        asked = sender.form.read_as(people.RenewKeysIn)
        await people.prove_password(db, person.developer, asked.password)

        async def renewed(tx: Tx) -> RecoveryKeys | None:
            keys = await people.renew_keys(tx, seal, person.developer, asked.code, tag_of(seen))
            return None if keys is None else RecoveryKeys(keys=keys)

        new = await try_once(request, sender, RecoveryKeys, renewed)
        if new is None:
            raise people.CodeWrong(field="code")
    except Refused as refusal:
        # Only a person to whom the replacement was reported may replace keys that it does not know.
        version = None if isinstance(refusal, PreconditionFailed) else seen
        refused = sender.form.refused(refusal)
        return await _recovery_keys(request, person, db, refused, status=refusal.status, version=version)
    return account_page(
        request,
        "account/recovery-keys-shown.html",
        person,
        keys=new.keys,
        keys_file=text_file("\n".join(new.keys)),
    )


async def _recovery_keys(
    request: Request,
    person: SignedIn,
    db: Db,
    form: SentForm | None = None,
    *,
    status: int = 200,
    version: str | None = None,
) -> HTMLResponse:
    present = version or await db.read(lambda tx: people.recovery_keys_version(tx, person.developer.id))
    return account_page(
        request, "account/recovery-keys.html", person, form, status=status, keys_version=present
    )
