"""HTTP doors of two-factor management."""

from fastapi import APIRouter

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentDeveloper
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.rooms.people.errors import TooManyPasswords, WrongPassword
from hansa.rooms.people.passwords import prove_password
from hansa.rooms.people.schemas import MessageOut

from .errors import CodesPaused, CodeWrong, TwoFactorNotSetUp, TwoFactorOff, TwoFactorOn
from .schemas import BackupCodesOut, DisableIn, SetupOut, VerifyIn
from .setup import begin_setup, turn_off, turn_on

router = APIRouter(prefix="/2fa", route_class=GuardedRoute)


@router.post("/setup", operation_id="set_up_two_factor", responses=problems(Unauthorized, TwoFactorOn))
async def set_up(developer: CurrentDeveloper, db: Db, config: Config, seal: Sealing) -> SetupOut:
    """Set up two-factor login: a seed for the authenticator app. It is on after the app's first code was verified."""
    app = await db.transaction(lambda tx: begin_setup(tx, seal, developer, config.registry_name))
    return SetupOut(secret=app.seed, otpauth_uri=app.otpauth_uri, qr_svg=app.qr_svg())


@router.post(
    "/verify",
    operation_id="verify_two_factor",
    responses=problems(CodeWrong, TwoFactorNotSetUp, TwoFactorOn, Invalid, BodyInvalid, CodesPaused),
)
async def verify(body: VerifyIn, developer: CurrentDeveloper, db: Db, seal: Sealing) -> BackupCodesOut:
    """Turn two-factor login on with the app's first code. The backup codes are shown only once."""
    backup_codes = await db.transaction(lambda tx: turn_on(tx, seal, developer, body.code))
    if backup_codes is None:
        raise CodeWrong
    return BackupCodesOut(backup_codes=backup_codes)


@router.post(
    "/disable",
    operation_id="disable_two_factor",
    responses=problems(
        CodeWrong, WrongPassword, TwoFactorOff, Invalid, BodyInvalid, CodesPaused, TooManyPasswords
    ),
)
async def disable(body: DisableIn, developer: CurrentDeveloper, db: Db, seal: Sealing) -> MessageOut:
    """Turn two-factor login off, with the password and a code."""
    await prove_password(db, developer, body.password)
    if not await db.transaction(lambda tx: turn_off(tx, seal, developer, body.code)):
        raise CodeWrong
    return MessageOut(message="Two-factor login is off.")
