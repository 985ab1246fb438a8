"""Refusals of making and revoking API keys."""

from hansa.foundation.values.errors import Conflict, Forbidden, NotFound


class ScopeBroader(Forbidden):
    """The requested key would have more scopes than the credential that creates it."""

    code = "SCOPE_BROADER"
    sentence = "A key can have only scopes of the credential that creates it."


class TooManyKeys(Conflict):
    """The account has the maximum number of active API keys."""

    code = "API_KEY_LIMIT"
    sentence = "The account has the maximum number of active API keys; revoke one first."


class KeyUnknown(NotFound):
    """The account has no API key with this id, or it was already revoked."""

    code = "API_KEY_UNKNOWN"
    sentence = "You have no active API key with this id."
