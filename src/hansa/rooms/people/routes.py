"""Accounts over HTTP."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Query, Request

from hansa.foundation.plumbing.keys.tokens import TokenIssuer
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing, Tokens
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    CREDENTIAL_OPTIONAL,
    CurrentDeveloper,
    Developer,
    MaybeDeveloper,
    Public,
    developer_holding,
)
from hansa.foundation.plumbing.web.lazy_routes import include
from hansa.foundation.plumbing.web.limits import Limit, limited, within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized
from hansa.foundation.values.paging import Page, Pagination

from . import (
    login,
    partial_login,
    profile,
    recovery,
    register,
    second_factors,
    sessions,
    two_factor,
    verify_email,
)
from .errors import (
    AgeNotConfirmed,
    DisplayNameTaken,
    EmailRegistered,
    EmailUnverified,
    InviteCodeMissing,
    PartialTokenRefused,
    PasswordRefused,
    RecoveryRefused,
    RefreshTokenRefused,
    SessionUnknown,
    TermsNotAccepted,
    TermsNotPresent,
    TooManyPasswords,
    VerificationLinkInvalid,
    WrongCredentials,
)
from .invites import InviteCodeUnknown
from .phones import PushApprovalRequired
from .schemas import (
    SECRET_MAX_CHARACTERS,
    AcceptTermsIn,
    LoginForm,
    LoginOut,
    MessageOut,
    ProfileOut,
    RefreshIn,
    RegistrationConfigOut,
    RegistrationIn,
    RegistrationOut,
    SecondFactorIn,
    SessionOut,
    TokenPairOut,
    VerificationOut,
)

router = APIRouter(prefix="/auth", tags=["accounts"], route_class=GuardedRoute)
include(router, two_factor.router, recovery.router)

REGISTRATIONS = Limit("register", 5)
LOGINS_PER_ADDRESS = Limit("login", 10)
SESSIONS_PAGE = 50
SESSIONS_PAGE_MAX = 200
OFFSET_MAX = 2**31 - 1
CODES_PER_ADDRESS = Limit("second-factor", 30)


@router.post(
    "/register",
    status_code=201,
    dependencies=[Depends(limited(REGISTRATIONS))],
    responses=problems(
        PasswordRefused,
        InviteCodeUnknown,
        EmailRegistered,
        DisplayNameTaken,
        Invalid,
        BodyInvalid,
        TermsNotAccepted,
        AgeNotConfirmed,
        InviteCodeMissing,
        TooManyRequests,
        TooManyPasswords,
    ),
)
async def register_developer(
    body: RegistrationIn, db: Db, config: Config, seal: Sealing, _: Public
) -> RegistrationOut:
    """Register a developer. The three recovery keys are shown only once."""
    developer = await register.admit(body, config)
    keys = await db.transaction(
        lambda tx: register.register(tx, seal, developer, config.base_url, invite_code=body.invite_code)
    )
    what_next = "Log in." if developer.is_verified else "Follow the link that is mailed to you, then log in."
    return RegistrationOut(message=f"Registered. {what_next}", recovery_keys=keys)


@router.get(
    "/registration-config",
    dependencies=[Depends(within_read_limit)],
    responses=problems(TooManyRequests),
)
async def registration_config(config: Config, _: Public) -> RegistrationConfigOut:
    """Settings for a registration form."""
    return RegistrationConfigOut(
        beta_invite_required=config.beta_invite_required,
        email_verification_required=config.email_verification_required,
        tos_version=config.tos_version,
        documents_version=config.documents_version,
        tos_url=f"{config.base_url}/terms",
        privacy_url=f"{config.base_url}/privacy",
    )


@router.post(
    "/login",
    dependencies=[Depends(limited(LOGINS_PER_ADDRESS))],
    responses=problems(
        WrongCredentials,
        PushApprovalRequired,
        EmailUnverified,
        Invalid,
        BodyInvalid,
        TooManyRequests,
        TooManyPasswords,
    ),
)
async def log_in(
    form: Annotated[LoginForm, Form()],
    *,
    request: Request,
    db: Db,
    config: Config,
    tokens: Tokens,
    seal: Sealing,
    _: Public,
) -> LoginOut:
    """Log in with e-mail address and password; two-factor login needs a code, here or in a second step.

    An account whose logins are approved on a phone needs a code here; without one its password is refused. Programs use an API key.
    """
    account = await login.admit(db, seal, config, username=form.username, password=form.password)
    opening = sessions.opening_for(sessions.Client.of(request))
    opened = await db.transaction(lambda tx: login.log_in(tx, seal, account, form.totp_code, opening))
    if opened is None:
        raise two_factor.CodeWrong
    if isinstance(opened, login.PartialLogin):
        return LoginOut(
            access_token="",
            expires_in=partial_login.LIFETIME_SECONDS,
            refresh_token="",
            requires_2fa=True,
            message="Finish with a code at POST /auth/2fa/validate.",
            partial_token=opened.partial_token,
        )
    return _logged_in(opened, tokens, config)


@router.post(
    "/2fa/validate",
    dependencies=[Depends(limited(CODES_PER_ADDRESS))],
    responses=problems(PartialTokenRefused, Invalid, BodyInvalid, TooManyRequests),
)
async def finish_login(
    body: SecondFactorIn,
    *,
    request: Request,
    db: Db,
    config: Config,
    tokens: Tokens,
    seal: Sealing,
    _: Public,
) -> LoginOut:
    """Finish a login with a code. The partial token ends after five wrong codes."""
    opening = sessions.opening_for(sessions.Client.of(request))
    opened = await db.transaction(lambda tx: login.complete(tx, seal, body.partial_token, body.code, opening))
    if opened is None:
        raise PartialTokenRefused
    return _logged_in(opened, tokens, config)


@router.post(
    "/2fa/recover",
    dependencies=[Depends(limited(recovery.RECOVERIES_PER_ADDRESS))],
    responses=problems(
        Unauthorized, RecoveryRefused, two_factor.TwoFactorOff, Invalid, BodyInvalid, TooManyRequests
    ),
    openapi_extra=CREDENTIAL_OPTIONAL,
)
async def recover_without_code(
    body: two_factor.RecoverIn, developer: MaybeDeveloper, db: Db, seal: Sealing
) -> MessageOut:
    """Turn two-factor login off and remove all phones with a recovery key, when logged in or with the partial token of a login."""
    if not await db.transaction(
        lambda tx: second_factors.recover(tx, seal, developer, body.partial_token, body.recovery_key)
    ):
        raise RecoveryRefused
    return MessageOut(message="Two-factor login is off; log in with your password.")


@router.post(
    "/refresh", operation_id="refresh_session", responses=problems(RefreshTokenRefused, Invalid, BodyInvalid)
)
async def refresh(body: RefreshIn, db: Db, config: Config, tokens: Tokens, _: Public) -> TokenPairOut:
    """Exchange a refresh token for a new pair of tokens. Using a token twice ends its session."""
    opened = await db.transaction(lambda tx: sessions.refresh(tx, body.refresh_token))
    if opened is None:
        raise RefreshTokenRefused
    return TokenPairOut(
        access_token=opened.access_token(tokens, config.access_token_expire_minutes),
        expires_in=config.access_token_expire_minutes * 60,
        refresh_token=opened.refresh_token,
    )


@router.post("/logout", responses=problems(Unauthorized))
async def log_out(developer: CurrentDeveloper, db: Db) -> MessageOut:
    """End all developer and refresh tokens of the account."""
    await db.transaction(lambda tx: sessions.end_all(tx, developer.id))
    return MessageOut(message="Logged out everywhere.")


@router.get("/sessions", responses=problems(Unauthorized, Invalid))
async def list_sessions(
    developer: Annotated[Developer, developer_holding("profile:read")],
    db: Db,
    limit: Annotated[int, Query(ge=1, le=SESSIONS_PAGE_MAX)] = SESSIONS_PAGE,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX)] = 0,
) -> Page[SessionOut]:
    """The open sessions of the account, most recently used first."""
    total, shown = await db.read(lambda tx: sessions.open_ones(tx, developer, limit=limit, offset=offset))
    return Page(items=shown, pagination=Pagination.of(total=total, limit=limit, offset=offset))


@router.delete("/sessions/{session_id}", responses=problems(Unauthorized, SessionUnknown, Invalid))
async def end_session(
    session_id: UUID, developer: Annotated[Developer, developer_holding("profile:write")], db: Db
) -> MessageOut:
    """End one session with its developer and refresh tokens; also the current one."""
    await db.transaction(lambda tx: sessions.end_one(tx, developer.id, session_id))
    return MessageOut(message="The session has ended.")


@router.get("/profile", responses=problems(Unauthorized))
async def own_profile(
    developer: Annotated[Developer, developer_holding("profile:read")], db: Db, config: Config
) -> ProfileOut:
    """The developer's own account."""
    return await db.read(lambda tx: profile.own_profile(tx, developer, config))


@router.post("/accept-terms", responses=problems(Unauthorized, TermsNotPresent, Invalid, BodyInvalid))
async def accept_terms(
    body: AcceptTermsIn, developer: CurrentDeveloper, db: Db, config: Config
) -> ProfileOut:
    """Accept the present terms. Required of an account whose profile says `tos_reconsent_required`."""
    return await db.transaction(lambda tx: profile.accept_terms(tx, developer, body.tos_version, config))


@router.get(
    "/verify-email",
    dependencies=[Depends(within_read_limit)],
    responses=problems(VerificationLinkInvalid, Invalid, TooManyRequests),
)
async def visit_verification_link(
    token: Annotated[str, Query(min_length=1, max_length=SECRET_MAX_CHARACTERS)], db: Db, _: Public
) -> VerificationOut:
    """The link in the verification e-mail. It does not log in."""
    if await db.transaction(lambda tx: verify_email.verify_email(tx, token)):
        return VerificationOut(message="The e-mail address is verified; you can log in.", status="verified")
    return VerificationOut(message="The e-mail address was already verified.", status="already_verified")


def _logged_in(opened: sessions.OpenSession, tokens: TokenIssuer, config: Settings) -> LoginOut:
    return LoginOut(
        access_token=opened.access_token(tokens, config.access_token_expire_minutes),
        expires_in=config.access_token_expire_minutes * 60,
        refresh_token=opened.refresh_token,
        requires_2fa=False,
        message="Logged in.",
        partial_token=None,
    )
