"""Refusals of this room, beyond malformed requests."""

from hansa.foundation.values.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Unauthorized,
    Unavailable,
)


class TermsNotAccepted(Invalid):
    """The registry requires acceptance of its terms."""

    code = "TOS_NOT_ACCEPTED"
    sentence = "tos_accepted must be true: this registry requires acceptance of its terms."


class TermsNotPresent(Conflict):
    """The accepted version of the terms is not the present one."""

    code = "TOS_VERSION_NOT_PRESENT"
    sentence = "tos_version is not the version of the present terms."
    remedy = "Read the present terms, then accept the tos_version of GET /auth/registration-config."


class AgeNotConfirmed(Invalid):
    """The registry requires confirmation that the person is old enough for an account."""

    code = "AGE_CONFIRMATION_REQUIRED"
    sentence = "age_confirmed must be true: this registry requires confirmation of age."


class InviteCodeMissing(Invalid):
    """Registration is by invitation only, and no invitation code was sent."""

    code = "INVITE_CODE_MISSING"
    sentence = "Registration at this registry requires an invite_code."


class PasswordRefused(BadRequest):
    """The password contains a character that is not allowed, or a common word."""

    code = "PASSWORD_REFUSED"
    sentence = "The password is not acceptable."


class EmailRegistered(BadRequest):
    """An account with this e-mail address exists already."""

    code = "EMAIL_REGISTERED"
    sentence = "This e-mail address is already registered."
    remedy = "Log in, or set a new password with POST /auth/forgot-password."


class OwnAreas(Forbidden):
    """An administrator changes no areas of its own account."""

    code = "OWN_AREAS"
    sentence = "These are the areas of your own account: another administrator changes them."


class AreaNotAdministered(Forbidden):
    """An administrator gives and withdraws only areas that it administers itself."""

    code = "AREA_NOT_ADMINISTERED"
    sentence = "An administrator gives and withdraws only areas that it administers itself."


class AdministratorUnknown(NotFound):
    """No open account with this number administers anything."""

    code = "ADMINISTRATOR_UNKNOWN"
    sentence = "No open account with this number administers anything; the operator and invitations make administrators."


class AreasChanged(Conflict):
    """Another administrator changed the areas after the page was opened."""

    code = "AREAS_CHANGED"
    sentence = "The areas were changed after this page was opened; nothing was changed now."
    remedy = "Open the page again."


class AreasUnchanged(Conflict):
    """The areas are already those that are asked for."""

    code = "AREAS_UNCHANGED"
    sentence = "These are the present areas; nothing was changed."


class DisplayNameTaken(Conflict):
    """Another developer has this display name or a confusable one."""

    code = "DISPLAY_NAME_TAKEN"
    sentence = "This display name, or a confusable one, is already in use."


class WrongCredentials(Unauthorized):
    """The e-mail address is unknown or the password is wrong."""

    sentence = "The e-mail address or the password is wrong."


class TooManyPasswords(Unavailable):
    """The queue of password checks of this process is full."""

    sentence = "Too many logins at the moment; retry shortly."


class PartialTokenRefused(Unauthorized):
    """The partial token is unknown, expired or used, or the code is wrong."""

    sentence = "The code is wrong, or this login has expired; log in again."


class WrongPassword(Unauthorized):
    """The password is wrong."""

    sentence = "The password is wrong."


class RecoveryRefused(Unauthorized):
    """The recovery key is wrong or already used, or the account is unknown."""

    sentence = "The recovery key is wrong or already used."


class EmailUnverified(Forbidden):
    """The password is correct, but the e-mail address is not verified."""

    code = "EMAIL_UNVERIFIED"
    sentence = "This e-mail address is not verified; follow the link in the verification e-mail."
    remedy = "Follow the link in the verification e-mail."


class RefreshTokenRefused(Unauthorized):
    """The refresh token is unknown, expired, already used, or of an ended session."""

    sentence = "This refresh token is not valid; log in again."


class SessionUnknown(NotFound):
    """The account has no open session with this id."""

    sentence = "You have no open session with this id."


class LastAdministrator(Conflict):
    """Nobody else administers an area."""

    sentence = "Nobody else administers the area."


class VerificationLinkInvalid(BadRequest):
    """The verification link is unknown or older than a day."""

    code = "VERIFICATION_LINK_INVALID"
    sentence = "This verification link is unknown or has expired; log in to receive a new one by e-mail."
