"""Why an invitation or its acceptance is refused."""

from collections.abc import Mapping, Sequence
from typing import Any

from hansa.foundation.values.errors import Conflict, Invalid, NotFound


class InvitationUnknown(NotFound):
    """No invitation of this registry has this id, or it has expired without being redeemed."""

    code = "INVITATION_UNKNOWN"
    sentence = "No open invitation of this registry has this id; it may have expired."
    remedy = "Ask the administrators of the registry for a new invitation."


class InvitationUsed(Conflict):
    """The invitation was redeemed by another registry, key or address, or the peer was removed since."""

    code = "INVITATION_USED"
    sentence = "The invitation was redeemed already."
    remedy = "Ask the administrators of the registry for a new invitation."


class InvitationRefused(Invalid):
    """The invitation or acceptance cannot be read, is not signed by the registry at its address, or contradicts it."""

    code = "INVITATION_REFUSED"
    sentence = "The invitation cannot be used."
    verdicts: Sequence[Mapping[str, Any]] = ()
    """Steps in which the registry card of its author was judged, where it came to that: {step, ok, reason} each."""


class OperatorNotInvited(Invalid):
    """No operator registry of that name is invited here."""

    code = "OPERATOR_NOT_INVITED"
    sentence = "This registry invites no operator registry of this name."


class AcceptanceRefused(Conflict):
    """The registry that invited refused the acceptance."""

    code = "ACCEPTANCE_REFUSED"
    sentence = "The registry that invited refused the acceptance."
    remedy = "Read `detail`; ask the administrators of that registry for a new invitation."
