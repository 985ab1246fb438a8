"""What is refused to whoever makes or revokes API keys."""

from hansa.foundation.values.errors import Conflict, Forbidden, NotFound


class ScopeBroader(Forbidden):
    """The key asked for could do more than its maker."""

    code = "SCOPE_BROADER"
    sentence = "A key can have only scopes that its maker has."


class TooManyKeys(Conflict):
    """The account has as many active API keys as it may have."""

    code = "API_KEY_LIMIT"
    sentence = "The account has as many active API keys as it may have; revoke one first."


class KeyUnknown(NotFound):
    """The account has no such API key, or it was revoked before."""

    code = "API_KEY_UNKNOWN"
    sentence = "You have no API key with this id that could be revoked."
