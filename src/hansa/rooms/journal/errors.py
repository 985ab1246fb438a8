"""Why the journal refuses."""

from hansa.foundation.values.errors import Invalid, Unavailable


class EmissionUndecided(Unavailable):
    """No emission policy speaks of an event of this act, and the registry does not act unrecorded."""

    code = "EMISSION_UNDECIDED"
    sentence = "No emission policy says whether the events of this act may be recorded."


class CursorInvalid(Invalid):
    """The cursor is none that this route handed out."""

    code = "CURSOR_INVALID"
    sentence = "`next` is none that this route handed out."
