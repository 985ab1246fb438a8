"""People: developers, their accounts and sessions."""

from .administrators import admit_administrator, create_administrator, has_administrator
from .api_keys import ApiKeyIn, MadeKeyOut, list_keys, make_key, revoke_key
from .attempts import prove_password
from .audit_log import read_audit_log
from .browser_sessions import (
    BrowserSession,
    OpenBrowserSession,
    check_browser_session,
    confirm_password,
    finish_browser_login,
    log_in_browser,
)
from .calls import CALLS, Call, calls_of, write_calls
from .deletion import DeletionOut, cancel_deletion, deletion_status_of, is_account_closed, request_deletion
from .descriptor import ROOM
from .directory import FoundDeveloper, find_developers, read_developer
from .errors import EmailUnverified, PartialTokenRefused, RecoveryRefused, VerificationLinkInvalid
from .invites import InviteInfo, InvitesIn, MadeInviteOut, list_invites, make_invites, revoke_invite
from .login import PartialLogin
from .mails import NOTICE_DAYS, notify
from .profile import accept_terms, own_profile
from .recovery import (
    FORGOTTEN_PER_ADDRESS,
    RECOVERIES_PER_ADDRESS,
    ChangePasswordIn,
    ForgottenIn,
    RecoveryIn,
    RenewKeysIn,
    SetPasswordIn,
    admit_recovery,
    change_own_password,
    check_password_setter,
    drop_password_requests,
    forget_password,
    recover_account,
    renew_keys,
    set_forgotten_password,
)
from .recovery.store import lock_developer
from .recovery_keys import present_version as recovery_keys_version
from .register import admit as admit_registration
from .register import register
from .routes import CODES_PER_ADDRESS, LOGINS_PER_ADDRESS, REGISTRATIONS
from .schemas import AcceptTermsIn, RegistrationIn
from .sessions import Client, end_all, end_one_if_open, open_ones
from .store import names_of
from .two_factor import (
    CodeWrong,
    DisableIn,
    RecoverIn,
    SetupOut,
    VerifyIn,
    begin_setup,
    turn_off,
    turn_on,
)
from .two_factor import recover as recover_second_factor
from .verify_email import verify_email as verify_address

__all__ = [
    "CALLS",
    "CODES_PER_ADDRESS",
    "FORGOTTEN_PER_ADDRESS",
    "LOGINS_PER_ADDRESS",
    "NOTICE_DAYS",
    "RECOVERIES_PER_ADDRESS",
    "REGISTRATIONS",
    "ROOM",
    "AcceptTermsIn",
    "ApiKeyIn",
    "BrowserSession",
    "Call",
    "ChangePasswordIn",
    "Client",
    "CodeWrong",
    "DeletionOut",
    "DisableIn",
    "EmailUnverified",
    "ForgottenIn",
    "FoundDeveloper",
    "InviteInfo",
    "InvitesIn",
    "MadeInviteOut",
    "MadeKeyOut",
    "OpenBrowserSession",
    "PartialLogin",
    "PartialTokenRefused",
    "RecoverIn",
    "RecoveryIn",
    "RecoveryRefused",
    "RegistrationIn",
    "RenewKeysIn",
    "SetPasswordIn",
    "SetupOut",
    "VerificationLinkInvalid",
    "VerifyIn",
    "accept_terms",
    "admit_administrator",
    "admit_recovery",
    "admit_registration",
    "begin_setup",
    "calls_of",
    "cancel_deletion",
    "change_own_password",
    "check_browser_session",
    "check_password_setter",
    "confirm_password",
    "create_administrator",
    "deletion_status_of",
    "drop_password_requests",
    "end_all",
    "end_one_if_open",
    "find_developers",
    "finish_browser_login",
    "forget_password",
    "has_administrator",
    "is_account_closed",
    "list_invites",
    "list_keys",
    "lock_developer",
    "log_in_browser",
    "make_invites",
    "make_key",
    "names_of",
    "notify",
    "open_ones",
    "own_profile",
    "prove_password",
    "read_audit_log",
    "read_developer",
    "recover_account",
    "recover_second_factor",
    "recovery_keys_version",
    "register",
    "renew_keys",
    "request_deletion",
    "revoke_invite",
    "revoke_key",
    "set_forgotten_password",
    "turn_off",
    "turn_on",
    "verify_address",
    "write_calls",
]
