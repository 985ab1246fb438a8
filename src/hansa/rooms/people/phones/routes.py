"""HTTP doors of phones: enrolment in a login session, and answers by the cookie of a phone.

The cookie is sent by pages of this registry alone (SameSite=Strict), and opens nothing but the routes under /auth/phone/sessions.
"""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from fastapi.security import APIKeyCookie

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing, runtime_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentDeveloper
from hansa.foundation.plumbing.web.cookies import cookie_of, set_cookie
from hansa.foundation.plumbing.web.early_authentication import evaluated_once
from hansa.foundation.plumbing.web.limits import Limit, limited, within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems, refuses_with
from hansa.foundation.values.errors import Invalid, QuotaReached, TooManyRequests, Unauthorized
from hansa.rooms.people.errors import TooManyPasswords, WrongPassword
from hansa.rooms.people.two_factor import CodesPaused, CodeWrong

from . import devices, logins
from .errors import (
    LoginSessionRequired,
    NumberWrong,
    PasskeyRefused,
    PasskeysUnavailable,
    PhoneLoginEnded,
    PhoneLoginUnknown,
    PhoneUnknown,
    RecentPasswordRequired,
)
from .records import Device
from .rules import COOKIE_DAYS
from .schemas import (
    CreationOptionsOut,
    DecidedOut,
    PhoneApprovalIn,
    PhoneDenialIn,
    PhoneIn,
    PhoneOut,
    PhoneRemovedOut,
    PhoneSessionOut,
    PhonesOut,
    PresenceIn,
)

COOKIE = "hansa_phone"
COOKIE_SECONDS = COOKIE_DAYS * 24 * 3600
TOKEN_MAX_CHARACTERS = 128
ANSWERS_PER_ADDRESS = Limit("phone-answer", 30)
_COOKIE_SCHEME = APIKeyCookie(name=f"__Host-{COOKIE}", scheme_name="PhoneCookie", auto_error=False)
_PRESENCE = (
    LoginSessionRequired,
    RecentPasswordRequired,
    WrongPassword,
    CodeWrong,
    CodesPaused,
    TooManyRequests,
    TooManyPasswords,
)


@refuses_with(Unauthorized)
@evaluated_once
async def phone_caller(request: Request, _: Annotated[Any, Depends(_COOKIE_SCHEME)]) -> Device:
    """The phone whose cookie the request has. Raises: Unauthorized."""
    device = await phone_of(request)
    if device is None:
        raise Unauthorized(
            "The cookie of a phone is missing, has ended, or belongs to a phone that was removed."
        )
    return device


async def phone_of(request: Request) -> Device | None:
    """The phone whose cookie the request has; None without one that is good."""
    runtime = runtime_of(request)
    token = cookie_of(request, runtime.settings, COOKIE)
    if not token or len(token) > TOKEN_MAX_CHARACTERS:
        return None
    return await runtime.database.query(lambda tx: logins.device_of(tx, token))


def set_phone_cookie(answer: Response, settings: Settings, token: str) -> None:
    """Let the browser store the token of a phone, for requests of pages of this registry alone."""
    set_cookie(answer, settings, COOKIE, token, COOKIE_SECONDS, same_site="strict")


CurrentPhone = Annotated[Device, Depends(phone_caller)]

router = APIRouter(prefix="/auth/phone", tags=["accounts"], route_class=GuardedRoute)


@router.post(
    "/devices/options",
    operation_id="begin_phone_enrolment",
    responses=problems(*_PRESENCE, Unauthorized, PasskeysUnavailable, QuotaReached, Invalid, BodyInvalid),
)
async def begin_enrolment(
    developer: CurrentDeveloper, db: Db, config: Config, seal: Sealing, body: PresenceIn
) -> CreationOptionsOut:
    """Begin to enrol this browser as a phone that approves logins: options for its passkey."""
    await devices.require_presence(db, developer, body.password)
    options = await db.transaction(
        lambda tx: devices.begin_enrolment(tx, seal, config, developer, body.totp_code)
    )
    if options is None:
        raise CodeWrong(field="totp_code")
    return CreationOptionsOut(public_key=options)


@router.post(
    "/devices",
    status_code=201,
    operation_id="enrol_phone",
    responses=problems(
        LoginSessionRequired,
        RecentPasswordRequired,
        WrongPassword,
        Unauthorized,
        PasskeyRefused,
        PasskeysUnavailable,
        QuotaReached,
        Invalid,
        BodyInvalid,
        TooManyRequests,
        TooManyPasswords,
    ),
)
async def enrol_phone(
    body: PhoneIn, developer: CurrentDeveloper, response: Response, *, db: Db, config: Config, seal: Sealing
) -> PhoneOut:
    """Enrol this browser with the passkey that it made. From now on a phone approves the logins of the account."""
    await devices.require_presence(db, developer, body.password)
    enrolled = await db.transaction(
        lambda tx: devices.enrol(tx, seal, config, developer, name=body.name, credential=body.credential)
    )
    if enrolled is None:
        raise PasskeyRefused(field="credential")
    set_phone_cookie(response, config, enrolled.token)
    return PhoneOut.of(enrolled.device)


@router.get("/devices", operation_id="list_phones", responses=problems(Unauthorized, LoginSessionRequired))
async def list_phones(developer: CurrentDeveloper, db: Db) -> PhonesOut:
    """The phones that approve logins of the account."""
    devices.require_login_session(developer)
    found = await db.read(lambda tx: devices.list_devices(tx, developer))
    return PhonesOut(items=[PhoneOut.of(device) for device in found])


@router.delete(
    "/devices/{device_id}",
    operation_id="remove_phone",
    responses=problems(*_PRESENCE, Unauthorized, PhoneUnknown, Invalid, BodyInvalid),
)
async def remove_phone(
    device_id: UUID, developer: CurrentDeveloper, *, db: Db, seal: Sealing, body: PresenceIn | None = None
) -> PhoneRemovedOut:
    """Remove a phone. After the last one, logins are approved on no phone any more."""
    given = body or PresenceIn()
    await devices.require_presence(db, developer, given.password)
    if not await db.transaction(
        lambda tx: devices.remove_device(tx, seal, developer, device_id, given.totp_code)
    ):
        raise CodeWrong(field="totp_code")
    return PhoneRemovedOut(id=device_id)


@router.get(
    "/sessions",
    operation_id="list_phone_sessions",
    dependencies=[Depends(within_read_limit)],
    responses=problems(Unauthorized, TooManyRequests),
)
async def list_waiting(device: CurrentPhone, db: Db) -> list[PhoneSessionOut]:
    """The logins that wait for this phone: one at most."""
    return [PhoneSessionOut.of(login) for login in await db.query(lambda tx: logins.waiting(tx, device))]


@router.post(
    "/sessions/{session_id}/approve",
    operation_id="approve_phone_session",
    dependencies=[Depends(limited(ANSWERS_PER_ADDRESS))],
    responses=problems(
        Unauthorized,
        NumberWrong,
        PasskeyRefused,
        PhoneLoginUnknown,
        PhoneLoginEnded,
        PasskeysUnavailable,
        Invalid,
        BodyInvalid,
        TooManyRequests,
    ),
)
async def approve(
    session_id: UUID,
    body: PhoneApprovalIn,
    device: CurrentPhone,
    request: Request,
    response: Response,
    *,
    db: Db,
    config: Config,
    seal: Sealing,
) -> DecidedOut:
    """Approve a login with the number of its page and the passkey of this phone. A wrong one refuses the login for good."""
    answer = await db.transaction(
        lambda tx: logins.approve(
            tx, seal, config, device, session_id, number=body.number, assertion=body.assertion
        )
    )
    answer.require_approval()
    if token := cookie_of(request, config, COOKIE):
        set_phone_cookie(response, config, token)
    return DecidedOut(id=session_id, status="approved")


@router.post(
    "/sessions/{session_id}/deny",
    operation_id="deny_phone_session",
    dependencies=[Depends(limited(ANSWERS_PER_ADDRESS))],
    responses=problems(
        Unauthorized, PhoneLoginUnknown, PhoneLoginEnded, Invalid, BodyInvalid, TooManyRequests
    ),
)
async def deny(
    session_id: UUID, body: PhoneDenialIn, device: CurrentPhone, db: Db, seal: Sealing
) -> DecidedOut:
    """Deny a login. Two that are denied as "not me" pause logins by phone for an hour."""
    await db.transaction(lambda tx: logins.deny(tx, seal, device, session_id, not_me=body.not_me))
    return DecidedOut(id=session_id, status="denied")
