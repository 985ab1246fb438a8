"""Shapes of requests and answers of two-factor management."""

from typing import Annotated

from pydantic import BaseModel, Field

from hansa.rooms.people.schemas import Code, Secret


class SetupOut(BaseModel):
    """What the authenticator app needs; shown this once."""

    secret: str = Field(description="The seed in base32, to be typed where the picture cannot be read.")
    otpauth_uri: str
    qr_svg: str = Field(description="The otpauth_uri as a picture: an SVG element.")


class VerifyIn(BaseModel):
    """The app's first code."""

    code: Code


class BackupCodesOut(BaseModel):
    """Ten codes that each work once in place of the app's; shown this once."""

    backup_codes: list[str]


class DisableIn(BaseModel):
    """Both factors, to do without the second."""

    password: Annotated[str, Field(min_length=1, max_length=1024, repr=False)]
    code: Code


class RecoverIn(BaseModel):
    """A recovery key; with it a partial token, from whoever is not logged in."""

    recovery_key: Secret
    partial_token: Annotated[str, Field(min_length=1)] | None = Field(default=None, repr=False)
