"""Refusals of logins by phone and of passkeys."""

from hansa.foundation.values.errors import Conflict, Forbidden, NotFound, Unauthorized


class PushApprovalRequired(Unauthorized):
    """The password is right, and a phone approves the logins of this account: in the browser alone."""

    code = "PUSH_APPROVAL_REQUIRED"
    sentence = "Logins of this account are approved on a phone, in the browser; programs use an API key."
    remedy = "Use an API key for programs; a person logs in at /login."


class LoginSessionRequired(Forbidden):
    """Phones are managed in a login session, not with an API key."""

    code = "LOGIN_SESSION_REQUIRED"
    sentence = "Phones are managed in a login session, not with an API key."
    remedy = "Log in, or open /account/phones."


class RecentPasswordRequired(Forbidden):
    """The password was given more than ten minutes ago."""

    code = "RECENT_PASSWORD_REQUIRED"
    sentence = "Phones are managed with the password of the last ten minutes."
    remedy = "Log in again, or send the member `password`."


class PasskeysUnavailable(Conflict):
    """Browsers make no passkeys for this address of the registry."""

    code = "PASSKEYS_UNAVAILABLE"
    sentence = (
        "Browsers make passkeys for a host name over https or for localhost, not for this PUBLIC_BASE_URL."
    )
    remedy = "The operator sets PUBLIC_BASE_URL to an https address with a host name."


class PasskeyRefused(Forbidden):
    """The answer of the passkey is not valid for this challenge, account and registry."""

    code = "PASSKEY_REFUSED"
    sentence = "The answer of the passkey is not valid; begin again."


class PhoneUnknown(NotFound):
    """The account has no phone with this id."""

    sentence = "You have no phone with this id."


class PhoneLoginUnknown(NotFound):
    """The account of this phone has no login with this id."""

    sentence = "No login of your account has this id."


class PhoneLoginEnded(Conflict):
    """The login was decided, or has expired."""

    code = "PHONE_LOGIN_ENDED"
    sentence = "This login was decided already, or has expired."
    remedy = "Log in again."


class NumberWrong(Forbidden):
    """The number is not the one that the login page shows."""

    code = "NUMBER_WRONG"
    sentence = "This is not the number on the login page; the login was refused."
    remedy = "Log in again, and type the number that the login page shows."
