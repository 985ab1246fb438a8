"""Shapes of requests and answers about passwords."""

from typing import Annotated, Literal

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms.people.schemas import CODE_MAX_CHARACTERS, Email, NewPassword, Secret


class ChangePasswordIn(LazyModel):
    """A new password and the current one."""

    current_password: Annotated[str, Field(min_length=1, max_length=1024, repr=False)]
    new_password: NewPassword


class SetPasswordIn(LazyModel):
    """A new password and the token that authorizes it."""

    new_password: NewPassword


class ForgottenIn(LazyModel):
    """The address of an account."""

    email: Email


class RecoveryIn(LazyModel):
    """The address of an account and one of its recovery keys."""

    email: Email
    recovery_key: Secret


class RenewKeysIn(LazyModel):
    """The password, and a code if two-factor login is on."""

    password: Annotated[str, Field(min_length=1, max_length=1024, repr=False)]
    code: Annotated[str, Field(max_length=CODE_MAX_CHARACTERS)] | None = Field(default=None, repr=False)


class RecoveryKeysOut(LazyModel):
    """Three new recovery keys, shown only once."""

    recovery_keys: list[str]


class PasswordTokenOut(LazyModel):
    """A bearer token for POST /auth/set-new-password and nothing else; `expires_in` in seconds."""

    access_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105
    expires_in: int
    message: str
