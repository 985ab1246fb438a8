"""Callers of pages and senders of forms: dependencies that name them in the signature of the page.

A form changes something only when a page of this registry sent it.

Two headers that pages cannot write are checked, each where it is present, and one must be: `Sec-Fetch-Site` says
`same-origin`; `Origin` is the address of the registry, or the address that the request itself was sent to.

The key of a form: random, sealed for the account that opened the page, good for less than a day.

It stands in a hidden field. No other page can know it, so it proves that the registry made the form; and it is the
idempotency key of the form's act. It is bound to the account and not to the session, so that a form survives a login.
"""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from fastapi import Depends, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal
from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.web.caller import AdminNeeds2fa, AreaMissing, AreasWithheld, Developer
from hansa.foundation.plumbing.web.cookies import cookie_of
from hansa.foundation.plumbing.web.uploads import read_upload
from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.rooms import organizations, people

from .cookies import SESSION
from .errors import CrossSiteForm, FormExpired
from .forms import KEY_FIELD, SentForm, read_form
from .pages import account_page, form_page, see_other
from .resume import SealedForm, keep_form

FILE_FIELD = "file"
# Facts of the person that every page shows, read with the session.
OF_SESSION = {"organizations": organizations.OWN_ORGANIZATIONS}

# Answers are remembered for 24 hours: an older form could be carried out twice.
LIFETIME = timedelta(hours=23)
KEY_MAX_CHARACTERS = 200


class Diverted(Exception):
    """The answer to a request that must log in, or give the password, first."""

    def __init__(self, answer: Response) -> None:
        super().__init__()
        self.answer = answer


@dataclass(frozen=True)
class SignedIn:
    """A person who is logged in in this browser."""

    session: people.BrowserSession
    seal: Seal = field(repr=False)

    @property
    def developer(self) -> Developer:
        """The person, as every route of the API knows one."""
        return self.session.developer

    @property
    def areas(self) -> frozenset[str]:
        """The areas that the person administers now."""
        return self.session.developer.areas

    @property
    def organizations(self) -> list[organizations.OwnOrganization]:
        """The first organizations of the person, by name."""
        return organizations.own_organizations_in(self.session.facts["organizations"])

    @property
    def now(self) -> datetime:
        """The database's time at the beginning of the request."""
        return self.session.now

    def form_key(self) -> str:
        """A new key for one form of this person."""
        return new_form_key(self.seal, self.developer.id, self.now)


@dataclass(frozen=True)
class Visiting:
    """A visitor with a form that needs no login and is carried out once."""

    seal: Seal = field(repr=False)
    now: datetime
    form: SentForm = field(default_factory=SentForm)

    def form_key(self) -> str:
        """A new key for one form that is bound to no account."""
        return new_form_key(self.seal, None, self.now)

    @property
    def key(self) -> str:
        """The idempotency key of the form's act."""
        return self.form.value(KEY_FIELD)


@dataclass(frozen=True)
class Acting:
    """A person who sent a form that the registry made for this person."""

    person: SignedIn
    form: SentForm

    @property
    def key(self) -> str:
        """The idempotency key of the form's act."""
        return self.form.value(KEY_FIELD)


@dataclass(frozen=True)
class Uploading(Acting):
    """A person who sent a form with a file; a field of the form has the digest of the file."""

    file: bytes = field(repr=False, default=b"")


async def signed_in(request: Request) -> SignedIn:
    """The person who is logged in. Raises: Diverted to the login, which leads back."""
    person = await person_of(request)
    if person is None:
        address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        raise Diverted(see_other(f"/login?next={quote(address, safe='/')}"))
    return person


async def acting(request: Request) -> Acting:
    """Return the sender of this form. Raises: CrossSiteForm, FormExpired, Diverted to the login, after which the form can be sent."""
    runtime = runtime_of(request)
    require_same_origin(request, runtime.settings)
    form = await read_form(request)
    person = await person_of(request)
    if person is None:
        stored = keep_form(runtime.seal, SealedForm(request.url.path, form.kept))
        raise Diverted(form_page(request, "login.html", status=401, resume=stored, next="", notice="ended"))
    require_form_key(runtime.seal, person.developer.id, person.now, form.value(KEY_FIELD))
    return Acting(person, form)


async def proved_acting(request: Request, sender: Annotated[Acting, Depends(acting)]) -> Acting:
    """Return the sender of this form, who gave the password in the last ten minutes. Raises: Diverted to the page that asks for it."""
    require_proof(request, sender)
    return sender


def require_proof(request: Request, sender: Acting) -> None:
    """The sender gave the password in the last ten minutes. Raises: Diverted to the page that asks for it."""
    if not sender.person.session.is_proved_recently:
        stored = keep_form(sender.person.seal, SealedForm(request.url.path, sender.form.kept))
        raise Diverted(account_page(request, "confirm.html", sender.person, status=403, resume=stored))


async def unsuspended_acting(sender: Annotated[Acting, Depends(acting)]) -> Acting:
    """Return the sender of this form, who is not suspended. Raises: DeveloperSuspended."""
    sender.person.developer.require_not_suspended()
    return sender


async def unsuspended_proved_acting(sender: Annotated[Acting, Depends(proved_acting)]) -> Acting:
    """Return the sender, who gave the password in the last ten minutes and is not suspended. Raises: DeveloperSuspended."""
    sender.person.developer.require_not_suspended()
    return sender


async def proved_uploading(request: Request, page: str, size_max: int) -> Uploading:
    """Return the sender of this form and its file. A file is not kept: after the login or the password the browser is led to `page`.

    Raises: CrossSiteForm, FormExpired, UnsupportedMediaType, PayloadTooLarge, BodyInvalid, Diverted.
    """
    runtime = runtime_of(request)
    require_same_origin(request, runtime.settings)
    person = await person_of(request)
    if person is None:
        answer = form_page(request, "login.html", status=401, resume="", next=page, notice="file")
        raise Diverted(answer)
    fields, file = await read_upload(request, FILE_FIELD, size_max)
    form = SentForm([*fields, ("file_sha256", sha256(file).hexdigest())])
    require_form_key(runtime.seal, person.developer.id, person.now, form.value(KEY_FIELD))
    if not person.session.is_proved_recently:
        raise Diverted(account_page(request, "confirm.html", person, status=403, resume="", next=page))
    return Uploading(person, form, file)


async def open_form(request: Request) -> SentForm:
    """A form that needs no login. Raises: CrossSiteForm."""
    require_same_origin(request, runtime_of(request).settings)
    return await read_form(request)


async def visiting(request: Request) -> Visiting:
    """The visitor who opens a form that needs no login."""
    runtime = runtime_of(request)
    return Visiting(runtime.seal, await runtime.database.query(clock.now))


async def visitor_acting(request: Request) -> Visiting:
    """The visitor who sent such a form. Raises: CrossSiteForm, FormExpired."""
    form = await open_form(request)
    visitor = replace(await visiting(request), form=form)
    require_form_key(visitor.seal, None, visitor.now, visitor.key)
    return visitor


def person_holding(area: str) -> Any:
    """A dependency: the person who is logged in, who administers `area`."""

    async def administrator(request: Request, person: Annotated[SignedIn, Depends(signed_in)]) -> SignedIn:
        _require_area(request, person, area)
        return person

    return _in_area(administrator, area)


async def administering(request: Request, person: Annotated[SignedIn, Depends(signed_in)]) -> SignedIn:
    """The person who is logged in, who administers any area. Raises: AreasWithheld, AreaMissing, AdminNeeds2fa."""
    if person.developer.are_areas_withheld:
        raise AreasWithheld
    if not person.areas:
        raise AreaMissing
    _require_second_factor(request, person)
    return person


def act_in(area: str) -> Any:
    """A dependency: a form of a person who administers `area`."""

    async def administrator_acting(request: Request, sender: Annotated[Acting, Depends(acting)]) -> Acting:
        _require_area(request, sender.person, area)
        return sender

    return _in_area(administrator_acting, area)


def proved_act_in(area: str) -> Any:
    """Require a sender who administers `area` and gave the password in the last ten minutes."""

    async def administrator_acting(
        request: Request, sender: Annotated[Acting, Depends(proved_acting)]
    ) -> Acting:
        _require_area(request, sender.person, area)
        return sender

    return _in_area(administrator_acting, area)


def proved_upload_in(area: str, page: str, size_max: int) -> Any:
    """Require a sender like that of `proved_act_in`, with a file of at most `size_max` bytes in the field `file`; `page` has the form."""

    async def administrator_uploading(request: Request) -> Uploading:
        sender = await proved_uploading(request, page, size_max)
        _require_area(request, sender.person, area)
        return sender

    return _in_area(administrator_uploading, area)


def _in_area(dependency: Callable[..., Any], area: str) -> Any:
    assert area in ADMIN_AREAS, area
    dependency.page_area = area  # type: ignore[attr-defined]
    return Depends(dependency)


def _require_area(request: Request, person: SignedIn, area: str) -> None:
    """Raises: AreasWithheld, AreaMissing, AdminNeeds2fa."""
    person.developer.require_area(area, f"This page requires an administrator of the area {area}.")
    _require_second_factor(request, person)


def _require_second_factor(request: Request, person: SignedIn) -> None:
    """Raises: AdminNeeds2fa."""
    if runtime_of(request).settings.require_admin_2fa and person.developer.second_factor_at is None:
        raise AdminNeeds2fa


async def person_of(request: Request) -> SignedIn | None:
    """The person who is logged in in this browser; None without a session."""
    runtime = runtime_of(request)
    token = cookie_of(request, runtime.settings, SESSION)
    session = await people.check_browser_session(runtime.database, token, OF_SESSION) if token else None
    return SignedIn(session, runtime.seal) if session else None


def new_form_key(seal: Seal, developer_id: int | None, now: datetime) -> str:
    """A key for one form of this account, or of a visitor without an account."""
    sealed = seal.close(str(int(now.timestamp())).encode(), _purpose(developer_id))
    return base64.urlsafe_b64encode(sealed).decode()


def _purpose(developer_id: int | None) -> str:
    return f"console form of {'anonymous' if developer_id is None else f'developer {developer_id}'}"


SignedInPerson = Annotated[SignedIn, Depends(signed_in)]


def require_same_origin(request: Request, settings: Settings) -> None:
    """Raises: CrossSiteForm."""
    sites = request.headers.getlist("sec-fetch-site")
    origins = request.headers.getlist("origin")
    if not sites and not origins:
        raise CrossSiteForm
    if any(site != "same-origin" for site in sites):
        raise CrossSiteForm
    if any(origin not in _own_origins(request, settings) for origin in origins):
        raise CrossSiteForm


def _own_origins(request: Request, settings: Settings) -> set[str]:
    configured = urlsplit(settings.base_url)
    # A registry on a loopback address has several names. The host of a request is never a name that another page has:
    # the cookie is not sent to that name.
    host = request.headers.get("host", "")
    return {f"{configured.scheme}://{name}".lower() for name in (configured.netloc, host) if name}


def require_form_key(seal: Seal, developer_id: int | None, now: datetime, key: str) -> None:
    """Raises: FormExpired."""
    if not key.isascii() or len(key) > KEY_MAX_CHARACTERS:
        raise FormExpired
    try:
        opened = seal.open(base64.b64decode(key, altchars=b"-_", validate=True), _purpose(developer_id))
    except (BadSeal, binascii.Error):
        raise FormExpired from None
    if now - datetime.fromtimestamp(int(opened), now.tzinfo) > LIFETIME:
        raise FormExpired


Act = Annotated[Acting, Depends(unsuspended_acting)]
ProvedAct = Annotated[Acting, Depends(unsuspended_proved_acting)]
AccountAct = Annotated[Acting, Depends(acting)]
"""A form about the person's own access and account, which a suspended person may send too."""
ProvedAccountAct = Annotated[Acting, Depends(proved_acting)]
AnyAdministrator = Annotated[SignedIn, Depends(administering)]
OpenForm = Annotated[SentForm, Depends(open_form)]
Visitor = Annotated[Visiting, Depends(visiting)]
VisitorAct = Annotated[Visiting, Depends(visitor_acting)]
