"""HTTP doors of passwords."""

from fastapi import APIRouter, Depends

from hansa.foundation.plumbing.process.runtime import Db, Sealing, Tokens
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentDeveloper, CurrentPasswordSetter, Public
from hansa.foundation.plumbing.web.entity_tags import IfVersion, PreconditionFailed
from hansa.foundation.plumbing.web.limits import Limit, limited
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, ReplacedMeanwhile, TooManyRequests, Unauthorized
from hansa.rooms.people import two_factor
from hansa.rooms.people.errors import PasswordRefused, RecoveryRefused, TooManyPasswords, WrongPassword
from hansa.rooms.people.passwords import prove_password
from hansa.rooms.people.schemas import MessageOut

from . import acts
from .acts import admit_recovery, change_own_password, forget_password, renew_keys, set_forgotten_password
from .schemas import (
    ChangePasswordIn,
    ForgottenIn,
    PasswordTokenOut,
    RecoveryIn,
    RecoveryKeysOut,
    RenewKeysIn,
    SetPasswordIn,
)

FORGOTTEN_PER_ADDRESS = Limit("forgotten", 10)
RECOVERIES_PER_ADDRESS = Limit("recovery", 10)

router = APIRouter(route_class=GuardedRoute)


@router.post(
    "/change-password",
    responses=problems(
        Unauthorized, WrongPassword, PasswordRefused, Invalid, BodyInvalid, TooManyRequests, TooManyPasswords
    ),
)
async def change_password(
    body: ChangePasswordIn, developer: CurrentDeveloper, db: Db, seal: Sealing
) -> MessageOut:
    """Change the password. All developer and refresh tokens of the account end; API keys stay valid."""
    await change_own_password(db, seal, developer, body)
    return MessageOut(message="The password is changed; log in with it.")


@router.post(
    "/forgot-password",
    dependencies=[Depends(limited(FORGOTTEN_PER_ADDRESS))],
    responses=problems(Invalid, BodyInvalid, TooManyRequests),
)
async def forgot_password(body: ForgottenIn, db: Db, _: Public) -> MessageOut:
    """Send a link for a new password by e-mail; the response does not depend on whether the account exists."""
    await forget_password(db, body.email)
    return MessageOut(message="If there is an account with this address, a link is on its way to it.")


@router.post(
    "/recover-account",
    dependencies=[Depends(limited(RECOVERIES_PER_ADDRESS))],
    responses=problems(RecoveryRefused, Invalid, BodyInvalid, TooManyRequests),
)
async def recover_account(
    body: RecoveryIn, db: Db, tokens: Tokens, seal: Sealing, _: Public
) -> PasswordTokenOut:
    """Exchange a recovery key, which works once, for a token that sets a new password within five minutes."""
    await admit_recovery(db, body.email)
    token = await db.transaction(
        lambda tx: acts.recover_account(tx, seal, tokens, body.email, body.recovery_key)
    )
    return PasswordTokenOut(
        access_token=token,
        expires_in=acts.RECOVERY_SECONDS,
        message="Set a new password at POST /auth/set-new-password.",
    )


@router.post(
    "/recovery-keys",
    responses=problems(
        Unauthorized,
        WrongPassword,
        two_factor.CodeWrong,
        ReplacedMeanwhile,
        PreconditionFailed,
        Invalid,
        BodyInvalid,
        TooManyRequests,
        two_factor.CodesPaused,
        TooManyPasswords,
    ),
)
async def renew_recovery_keys(
    body: RenewKeysIn, developer: CurrentDeveloper, db: Db, seal: Sealing, if_match: IfVersion
) -> RecoveryKeysOut:
    """Replace the recovery keys. The new ones are shown only once; the former ones are invalid.

    If-Match with the `recovery_keys_version` of the profile refuses a request that was sent before another one replaced the keys.
    """
    await prove_password(db, developer, body.password)
    keys = await db.transaction(lambda tx: renew_keys(tx, seal, developer, body.code, if_match))
    if keys is None:
        raise two_factor.CodeWrong
    return RecoveryKeysOut(recovery_keys=keys)


@router.post(
    "/set-new-password",
    responses=problems(Unauthorized, PasswordRefused, Invalid, BodyInvalid, TooManyPasswords),
)
async def set_new_password(
    body: SetPasswordIn, setter: CurrentPasswordSetter, db: Db, seal: Sealing
) -> MessageOut:
    """Set a new password with the token of a recovery or of a link sent by e-mail. All sessions end."""
    await set_forgotten_password(db, seal, setter, body)
    return MessageOut(message="The password is set; log in with it.")
