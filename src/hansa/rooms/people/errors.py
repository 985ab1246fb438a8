"""What this room refuses, beyond malformed requests."""

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
    """The registry requires consent to its terms, and it was not given."""

    code = "TOS_NOT_ACCEPTED"
    sentence = "tos_accepted must be true: this registry requires consent to its terms."


class InviteCodeMissing(Invalid):
    """The registry takes registrations by invitation only, and no code was sent."""

    code = "INVITE_CODE_MISSING"
    sentence = "Registration here needs an invite_code."


class PasswordRefused(BadRequest):
    """The password holds a character outside the permitted ones, or a common word."""

    code = "PASSWORD_REFUSED"
    sentence = "The password is not acceptable."


class EmailRegistered(BadRequest):
    """An account with this e-mail address exists already."""

    code = "EMAIL_REGISTERED"
    sentence = "This e-mail address is already registered."


class DisplayNameTaken(Conflict):
    """Another developer has this display name, or one that reads like it."""

    code = "DISPLAY_NAME_TAKEN"
    sentence = "This display name, or one that reads like it, is taken."


class WrongCredentials(Unauthorized):
    """The e-mail address is unknown or the password wrong; which of them is not said."""

    sentence = "The e-mail address or the password is wrong."


class TooManyPasswords(Unavailable):
    """More passwords wait to be checked than this process takes on."""

    sentence = "Too many passwords are waiting to be checked; try again shortly."


class PartialTokenRefused(Unauthorized):
    """The partial token is unknown, expired, used up, or the code is wrong."""

    sentence = "The code is wrong, or this login has ended; log in again for another try."


class WrongPassword(Unauthorized):
    """The password that was to prove who asks is wrong."""

    sentence = "The password is wrong."


class RecoveryRefused(Unauthorized):
    """The recovery key is wrong or was used, or the account unknown; which of them is not said."""

    sentence = "The recovery key is wrong, or was used before."


class EmailUnverified(Forbidden):
    """The password is right, and the e-mail address must be verified before login."""

    code = "EMAIL_UNVERIFIED"
    sentence = "This e-mail address is not verified yet; follow the link that was mailed to it."


class RefreshTokenRefused(Unauthorized):
    """The refresh token is unknown, expired, already used, or of an ended session."""

    sentence = "This refresh token is not valid; log in again."


class SessionUnknown(NotFound):
    """There is no such session among the open ones of this account."""

    sentence = "There is no such open session of yours."


class VerificationLinkInvalid(BadRequest):
    """The verification link is unknown or older than a day."""

    code = "VERIFICATION_LINK_INVALID"
    sentence = "This verification link is unknown or has expired; log in to have a new one mailed."
