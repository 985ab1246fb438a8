"""Why two-factor management refuses."""

from hansa.foundation.values.errors import Conflict, TooManyRequests, Unauthorized


class CodeWrong(Unauthorized):
    """The code is wrong, too old, or was used before."""

    sentence = "The code is wrong, too old, or was used before."


class CodesPaused(TooManyRequests):
    """Too many wrong codes in a row: no code of the account is looked at for a while."""

    sentence = "Too many wrong codes; come back later."


class TwoFactorOn(Conflict):
    """Two-factor login is on already."""

    code = "TWO_FACTOR_ON"
    sentence = "Two-factor login is on already; turn it off before setting it up anew."


class TwoFactorOff(Conflict):
    """Two-factor login is not on."""

    code = "TWO_FACTOR_OFF"
    sentence = "Two-factor login is not on."


class TwoFactorNotSetUp(Conflict):
    """No setup is waiting for its first code."""

    code = "TWO_FACTOR_NOT_SET_UP"
    sentence = "No setup is waiting for its first code; begin with POST /auth/2fa/setup."
