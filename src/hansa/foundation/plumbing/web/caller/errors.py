"""Refusals of a caller whose credential is good and whose right is missing."""

from hansa.foundation.values.errors import DeveloperSuspended, Forbidden


class PermissionMissing(Forbidden):
    """The agent has no role with the permission that this route requires."""

    code = "PERMISSION_MISSING"
    sentence = "The agent's roles do not include the permission that this route requires."


class AreaMissing(Forbidden):
    """The developer is not an administrator of the area of this route."""

    code = "AREA_MISSING"
    sentence = "This route requires an administrator of another area."


class AreasWithheld(DeveloperSuspended):
    """The administrator is suspended."""

    sentence = "Your account is suspended: it administers nothing until another administrator reinstates it."


class AdminNeeds2fa(Forbidden):
    """The registry requires two-factor login (2FA) for administrators, and this credential comes from a login without a code or a phone."""

    code = "ADMIN_2FA_REQUIRED"
    sentence = "This registry requires two-factor login (2FA) for administrators: log in with a code."
    remedy = "Turn on two-factor login at POST /auth/2fa/setup or add a phone at /account/phones, then log in and make API keys anew."


class ScopeMissing(Forbidden):
    """The API key lacks the scope that this route requires."""

    code = "SCOPE_MISSING"
    sentence = "The API key does not have the scope that this route requires."


class LicenceSuspended(Forbidden):
    """The federation licence key is suspended."""

    code = "FEDERATION_LICENCE_SUSPENDED"
    sentence = "This federation licence is suspended."
    remedy = "Contact the administrators of the registry that issued the licence."
