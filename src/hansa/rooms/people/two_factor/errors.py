"""Why two-factor management refuses."""

from hansa.foundation.values.errors import Conflict, TooManyRequests, Unauthorized


class CodeWrong(Unauthorized):
    """The code is wrong, expired or already used."""

    sentence = "The code is wrong, expired or already used."


class CodesPaused(TooManyRequests):
    """Too many wrong codes in a row: codes of this account are refused for some time."""

    sentence = "Too many wrong codes; retry after the time in the Retry-After header."


class TwoFactorOn(Conflict):
    """Two-factor login is already on."""

    code = "TWO_FACTOR_ON"
    sentence = "Two-factor login is already on; turn it off before a new setup."


class TwoFactorOff(Conflict):
    """Two-factor login is not on."""

    code = "TWO_FACTOR_OFF"
    sentence = "Two-factor login is not on."


class TwoFactorNotSetUp(Conflict):
    """No two-factor setup was begun."""

    code = "TWO_FACTOR_NOT_SET_UP"
    sentence = "No two-factor setup was begun; begin with POST /auth/2fa/setup."
