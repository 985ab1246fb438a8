"""What is refused to whoever makes, revokes or shows an invitation."""

from hansa.foundation.values.errors import BadRequest, Forbidden, NotFound


class AreaOverreach(Forbidden):
    """The invitation would give an area that its author does not administer."""

    code = "AREA_OVERREACH"
    sentence = "An invitation can give only areas that its author administers."


class InviteCodeUnknown(BadRequest):
    """The invitation code is not one that this registry has issued, or it is used up, revoked or expired."""

    code = "INVITE_CODE_UNKNOWN"
    sentence = "This invite_code is unknown, used up or expired."


class InviteGone(NotFound):
    """There is no such invitation, or it is used up or was revoked before."""

    code = "INVITE_UNKNOWN"
    sentence = "There is no invitation with this code that could be revoked."
