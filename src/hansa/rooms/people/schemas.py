"""Shapes of requests and answers."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, Field, StrictBool

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody

from . import rules

PASSWORD_MIN_CHARACTERS = 12
PASSWORD_MAX_CHARACTERS = 128
SECRET_MAX_CHARACTERS = 256
CODE_MAX_CHARACTERS = 64


def _email(text: str) -> str:
    if not rules.is_email(text):
        raise ValueError("must be an e-mail address, such as name@example.org")
    return text


def _password(text: str) -> str:
    if missing := rules.missing_class(text):
        raise ValueError(f"must contain {missing}")
    return text


DisplayName = Annotated[
    str, Field(min_length=1, max_length=rules.NAME_MAX_CHARACTERS), AfterValidator(rules.display_name)
]
Email = Annotated[str, Field(max_length=rules.EMAIL_MAX_CHARACTERS), AfterValidator(_email)]
NewPassword = Annotated[
    str,
    Field(min_length=PASSWORD_MIN_CHARACTERS, max_length=PASSWORD_MAX_CHARACTERS, repr=False),
    AfterValidator(_password),
]
Code = Annotated[
    str,
    Field(
        min_length=1,
        max_length=CODE_MAX_CHARACTERS,
        repr=False,
        description="A code of the app, or a backup code.",
    ),
]
Secret = Annotated[str, Field(min_length=1, max_length=SECRET_MAX_CHARACTERS, repr=False)]
# A token of another kind, however long, is an invalid credential and no malformed request.
AnyToken = Annotated[str, Field(min_length=1, repr=False)]


class RegistrationIn(RequestBody):
    """A new developer account."""

    name: DisplayName = Field(description="Display name; unique, and not confusable with another one.")
    email: Email
    password: NewPassword = Field(
        description=f"All four classes: upper case, lower case, digit, and one of {rules.SPECIAL_CHARACTERS}"
    )
    tos_accepted: StrictBool = Field(
        default=False, description="Must be true if acceptance of the terms is required."
    )
    age_confirmed: StrictBool
    invite_code: Annotated[str, Field(max_length=64)] | None = Field(
        default=None, description="Required if registration is by invitation."
    )


class RegistrationOut(LazyModel):
    """A new account. The recovery keys are shown only once."""

    message: str
    recovery_keys: list[str]


class RegistrationConfigOut(LazyModel):
    """Settings for a registration form."""

    beta_invite_required: bool
    email_verification_required: bool
    tos_version: str
    documents_version: str
    tos_url: str
    privacy_url: str


class AcceptTermsIn(RequestBody):
    """Acceptance of the present terms."""

    tos_version: Annotated[str, Field(min_length=1)] = Field(
        description="The version that was read; must be the present one."
    )


class LoginForm(LazyModel):
    """A login."""

    username: Annotated[str, Field(min_length=1, max_length=rules.EMAIL_MAX_CHARACTERS)] = Field(
        description="The e-mail address."
    )
    password: Annotated[str, Field(min_length=1, max_length=1024, repr=False)]
    grant_type: Literal["password"] | None = None
    totp_code: Annotated[str, Field(max_length=CODE_MAX_CHARACTERS)] | None = Field(
        default=None,
        repr=False,
        description="A code of the app, or a backup code; ignored for an account without two-factor login.",
    )


class TokenPairOut(LazyModel):
    """A developer token (`expires_in` in seconds), and the refresh token that works once."""

    access_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105
    expires_in: int
    refresh_token: str


class LoginOut(TokenPairOut):
    """An open session; or a partial login with empty tokens, where `expires_in` is the lifetime of `partial_token`."""

    requires_2fa: bool
    message: str
    partial_token: str | None


class SecondFactorIn(LazyModel):
    """The second step of a login."""

    partial_token: AnyToken
    code: Code


class RefreshIn(LazyModel):
    """A refresh token."""

    refresh_token: AnyToken


class SessionOut(LazyModel):
    """An open session. `last_used_at` is the time of the last token refresh."""

    id: UUID
    opened_at: datetime
    last_used_at: datetime
    client: str = Field(description="The User-Agent of the client that logged in.")
    address: str = Field(description="The network address of the login; IPv6 by its /64.")
    is_current: bool


class MessageOut(LazyModel):
    """The result as a sentence."""

    message: str


class VerificationOut(LazyModel):
    """The status of the e-mail address."""

    message: str
    status: Literal["verified", "already_verified"]


class ProfileOut(LazyModel):
    """A developer's own account."""

    id: int
    name: str
    email: str
    role: Literal["developer", "admin"] = Field(description="`admin`: administers at least one area.")
    is_verified: bool
    is_admin: bool = Field(description="Made an administrator by the operator, never by an invitation.")
    created_at: datetime
    tos_reconsent_required: bool
    tos_accepted_at: datetime | None = Field(
        description="When the accepted version of the terms was accepted; null without consent, or if it is not known."
    )
    recovery_keys_version: str = Field(
        description="For If-Match of POST /auth/recovery-keys; changes when a key is used, and with new keys."
    )
