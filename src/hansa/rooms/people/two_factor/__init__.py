"""Two-factor login: an authenticator app, and backup codes for when it is not at hand."""

from .errors import CodesPaused, CodeWrong
from .routes import router
from .schemas import DisableIn, RecoverIn, SetupOut, VerifyIn
from .setup import (
    SEALED_SEEDS,
    begin_setup,
    is_on,
    qr_svg,
    recover,
    take_code,
    turn_off,
    turn_off_without_code,
    turn_on,
)

__all__ = [
    "SEALED_SEEDS",
    "CodeWrong",
    "CodesPaused",
    "DisableIn",
    "RecoverIn",
    "SetupOut",
    "VerifyIn",
    "begin_setup",
    "is_on",
    "qr_svg",
    "recover",
    "router",
    "take_code",
    "turn_off",
    "turn_off_without_code",
    "turn_on",
]
