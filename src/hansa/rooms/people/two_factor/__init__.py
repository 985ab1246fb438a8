"""Two-factor login: an authenticator app, and backup codes for when it is not at hand."""

from .errors import CodesPaused, CodeWrong, TwoFactorOff
from .routes import router
from .schemas import DisableIn, RecoverIn, SetupOut, VerifyIn
from .setup import (
    SEALED_SEEDS,
    begin_setup,
    forget_app,
    is_on,
    qr_svg,
    take_code,
    turn_off,
    turn_on,
)

__all__ = [
    "SEALED_SEEDS",
    "CodeWrong",
    "CodesPaused",
    "DisableIn",
    "RecoverIn",
    "SetupOut",
    "TwoFactorOff",
    "VerifyIn",
    "begin_setup",
    "forget_app",
    "is_on",
    "qr_svg",
    "router",
    "take_code",
    "turn_off",
    "turn_on",
]
