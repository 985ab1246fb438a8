"""People: developers, their accounts and sessions."""

from .administrators import admit_administrator, create_administrator, has_administrator
from .deletion import is_account_closed
from .descriptor import ROOM
from .errors import VerificationLinkInvalid
from .mails import NOTICE_DAYS, notify
from .recovery import drop_password_requests
from .recovery.store import lock_developer
from .store import names_of
from .verify_email import verify_email as verify_address

__all__ = [
    "NOTICE_DAYS",
    "ROOM",
    "VerificationLinkInvalid",
    "admit_administrator",
    "create_administrator",
    "drop_password_requests",
    "has_administrator",
    "is_account_closed",
    "lock_developer",
    "names_of",
    "notify",
    "verify_address",
]
