"""Refusals of making, revoking and using an invitation."""

from hansa.foundation.values.errors import BadRequest, Forbidden, NotFound


class AreaOverreach(Forbidden):
    """The invitation would grant an area that its creator does not administer."""

    code = "AREA_OVERREACH"
    sentence = "An invitation can grant only areas that its creator administers."


class InviteCodeUnknown(BadRequest):
    """The invitation code is unknown, used up, revoked or expired."""

    code = "INVITE_CODE_UNKNOWN"
    sentence = "This invite_code is unknown, used up or expired."


class InviteGone(NotFound):
    """No invitation has this code, or it is used up or already revoked."""

    code = "INVITE_UNKNOWN"
    sentence = "No active invitation has this code."
