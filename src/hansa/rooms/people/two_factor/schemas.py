"""Shapes of requests and answers of two-factor management."""

from typing import Annotated

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms.people.schemas import Code, Secret


class SetupOut(LazyModel):
    """The setup of the authenticator app; shown only once."""

    secret: str = Field(description="The seed in base32, for manual entry.")
    otpauth_uri: str
    qr_svg: str = Field(description="The otpauth_uri as a QR code: an SVG element.")


class VerifyIn(LazyModel):
    """The app's first code."""

    code: Code


class BackupCodesOut(LazyModel):
    """Ten single-use codes that replace a code of the app; shown only once."""

    backup_codes: list[str]


class DisableIn(LazyModel):
    """Both factors, to turn the second one off."""

    password: Annotated[str, Field(min_length=1, max_length=1024, repr=False)]
    code: Code


class RecoverIn(LazyModel):
    """A recovery key, and a partial token if the caller is not logged in."""

    recovery_key: Secret
    partial_token: Annotated[str, Field(min_length=1)] | None = Field(default=None, repr=False)
