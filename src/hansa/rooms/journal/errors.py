"""Why the journal refuses."""

from hansa.foundation.values.errors import Conflict, Invalid, NotFound, Unavailable


class EmissionUndecided(Unavailable):
    """No emission policy covers an event of this request, and the registry fails closed."""

    code = "EMISSION_UNDECIDED"
    sentence = "No emission policy covers the events of this request; an administrator must add one."


class CursorInvalid(Invalid):
    """The cursor was not issued by this route."""

    code = "CURSOR_INVALID"
    sentence = "Invalid cursor: use the `next` value of a response of this route."
    remedy = "Start again without `next`, or send the `next` of a former response unchanged."


class FollowerMoved(Conflict):
    """Another process follows the journal under the same name."""

    code = "FOLLOWER_MOVED"
    sentence = "Another process follows the journal under this name; give each follower a name of its own."


class FollowerUnknown(NotFound):
    """No follower of the journal has this name."""

    code = "FOLLOWER_UNKNOWN"
    sentence = "No follower of the journal has this name."


class SequenceUnknown(Invalid):
    """The journal has no event with this sequence number."""

    sentence = "The journal has no event with this sequence number."
