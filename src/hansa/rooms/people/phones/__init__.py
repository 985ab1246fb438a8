"""Phones that approve logins with a passkey, and passkeys of the browser that logs in.

After the password the phones of the account are asked. The login page shows a number, which the person types on the phone; the
passkey of the phone signs the challenge of the login. Codes of an authenticator app stay good beside it.
"""

from .devices import (
    PROOF_MINUTES,
    EnrolledPhone,
    begin_enrolment,
    enrol,
    forget_devices,
    list_devices,
    remove_device,
    require_presence,
)
from .errors import (
    LoginSessionRequired,
    NumberWrong,
    PasskeyRefused,
    PasskeysUnavailable,
    PhoneLoginEnded,
    PhoneLoginUnknown,
    PhoneUnknown,
    PushApprovalRequired,
    RecentPasswordRequired,
)
from .logins import (
    Answer,
    approve,
    ask,
    cancel_login,
    cancel_logins,
    deny,
    device_of,
    has_devices,
    offers,
    passkey_id_of,
    state_of,
    take_passkey,
    use_approval,
    waiting,
)
from .passkeys import has_passkeys
from .records import Device, PhoneLogin
from .rules import COOKIE_DAYS, NAME_MAX_CHARACTERS
from .store import forget_ended

__all__ = [
    "COOKIE_DAYS",
    "NAME_MAX_CHARACTERS",
    "PROOF_MINUTES",
    "Answer",
    "Device",
    "EnrolledPhone",
    "LoginSessionRequired",
    "NumberWrong",
    "PasskeyRefused",
    "PasskeysUnavailable",
    "PhoneLogin",
    "PhoneLoginEnded",
    "PhoneLoginUnknown",
    "PhoneUnknown",
    "PushApprovalRequired",
    "RecentPasswordRequired",
    "approve",
    "ask",
    "begin_enrolment",
    "cancel_login",
    "cancel_logins",
    "deny",
    "device_of",
    "enrol",
    "forget_devices",
    "forget_ended",
    "has_devices",
    "has_passkeys",
    "list_devices",
    "offers",
    "passkey_id_of",
    "remove_device",
    "require_presence",
    "state_of",
    "take_passkey",
    "use_approval",
    "waiting",
]
