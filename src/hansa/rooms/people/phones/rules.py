"""Rules of logins by phone.

- A login waits for a phone for two minutes. One waits at a time, and five are sent to the phones of an account in an hour.
- The login page shows a number of two digits, which the person types on the phone. It is never a choice among several.
- The first answer decides. After two wrong numbers or denials as "not me" without an approval between, phones are asked nothing for an hour.
- An account has at most five phones. The cookie of a phone ends 180 days after the enrolment or the last approval.
"""

import secrets

DEVICES_MAX = 5
NAME_MAX_CHARACTERS = 64
COOKIE_DAYS = 180
WAITING_SECONDS = 120
LOGINS_PER_HOUR = 5
REFUSALS_MAX = 2
PAUSE_MINUTES = 60
CHALLENGE_BYTES = 32
CHALLENGE_SECONDS = 300
NUMBERS = 100


def new_number() -> str:
    """A random number of two digits."""
    return f"{secrets.randbelow(NUMBERS):02d}"


def new_challenge() -> bytes:
    """A random challenge for a passkey."""
    return secrets.token_bytes(CHALLENGE_BYTES)
