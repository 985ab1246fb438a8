"""Rules for the codes of two-factor login.

- A code of an authenticator app (RFC 6238: SHA-1, 6 digits, 30 seconds) is good for its own time step and the ones beside
  it, because clocks differ; never for a step whose code, or a later one's, was taken before.
- A backup code is 20 hex digits in five groups; blanks, hyphens and case do not matter.
- After ten wrong codes in a row every further one pauses the account's codes.
"""

import re
from hmac import compare_digest

import pyotp

STEP_SECONDS = 30
STEPS_OF_DRIFT = 1
DIGITS = 6
BACKUP_CODES = 10
BACKUP_CODE_GROUPS = 5
BACKUP_CODE_GROUP_DIGITS = 4
WRONG_CODES_MAX = 10
PAUSE_MINUTES = 15

_BLANKS = re.compile(r"[\s-]+")
_APP_CODE = re.compile(rf"[0-9]{{{DIGITS}}}", re.ASCII)


def plain(code: str) -> str:
    """The code as it is compared."""
    return _BLANKS.sub("", code).lower()


def is_app_code(code: str) -> bool:
    """Return whether a plain code is one that an authenticator app shows."""
    return _APP_CODE.fullmatch(code) is not None


def matching_step(seed: str, code: str, *, now: int, last_step: int) -> int | None:
    """The time step whose code this is, of those that may still be taken; `now` in epoch seconds."""
    app = pyotp.TOTP(seed, digits=DIGITS, interval=STEP_SECONDS)
    present = now // STEP_SECONDS
    for step in range(present - STEPS_OF_DRIFT, present + STEPS_OF_DRIFT + 1):
        if step > last_step and compare_digest(app.generate_otp(step), code):
            return step
    return None


def otpauth_uri(seed: str, *, account: str, registry: str) -> str:
    """Return the address that an authenticator app reads from the picture."""
    return pyotp.TOTP(seed, digits=DIGITS, interval=STEP_SECONDS).provisioning_uri(
        name=account, issuer_name=registry
    )
