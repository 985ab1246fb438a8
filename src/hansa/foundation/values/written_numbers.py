"""Numbers of JSON texts of which it counts how they are written."""


class ExponentNumber(float):
    """A number that its text writes with an exponent."""

    __slots__ = ()
