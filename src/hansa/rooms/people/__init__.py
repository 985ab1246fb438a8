"""People: developers, their accounts and sessions."""

from .administrators import admit_administrator, create_administrator, has_administrator
from .audit_log import read_audit_log
from .browser_sessions import (
    BrowserSession,
    OpenBrowserSession,
    check_browser_session,
    confirm_password,
    finish_browser_login,
    log_in_browser,
)
from .deletion import is_account_closed
from .descriptor import ROOM
from .directory import FoundDeveloper, find_developers, read_developer
from .errors import EmailUnverified, PartialTokenRefused, VerificationLinkInvalid
from .invites import InviteInfo, InvitesIn, MadeInviteOut, list_invites, make_invites, revoke_invite
from .login import PartialLogin
from .mails import NOTICE_DAYS, notify
from .profile import own_profile
from .recovery import drop_password_requests
from .recovery.store import lock_developer
from .routes import CODES_PER_ADDRESS, LOGINS_PER_ADDRESS
from .sessions import Client, end_all, end_one_if_open, open_ones
from .store import names_of
from .verify_email import verify_email as verify_address

__all__ = [
    "CODES_PER_ADDRESS",
    "LOGINS_PER_ADDRESS",
    "NOTICE_DAYS",
    "ROOM",
    "BrowserSession",
    "Client",
    "EmailUnverified",
    "FoundDeveloper",
    "InviteInfo",
    "InvitesIn",
    "MadeInviteOut",
    "OpenBrowserSession",
    "PartialLogin",
    "PartialTokenRefused",
    "VerificationLinkInvalid",
    "admit_administrator",
    "check_browser_session",
    "confirm_password",
    "create_administrator",
    "drop_password_requests",
    "end_all",
    "end_one_if_open",
    "find_developers",
    "finish_browser_login",
    "has_administrator",
    "is_account_closed",
    "list_invites",
    "lock_developer",
    "log_in_browser",
    "make_invites",
    "names_of",
    "notify",
    "open_ones",
    "own_profile",
    "read_audit_log",
    "read_developer",
    "revoke_invite",
    "verify_address",
]
