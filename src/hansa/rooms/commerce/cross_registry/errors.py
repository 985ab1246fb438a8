"""Refusals of acts that another registry relays."""

from hansa.foundation.values.errors import Forbidden, Invalid


class ActorOfAnother(Forbidden):
    """The acting agent does not belong to the calling registry."""

    code = "FOREIGN_NAMESPACE"
    sentence = "actor_did is not in the namespace of the calling registry."
    remedy = "Relay acts of your own agents only."


class PeerActInvalid(Invalid):
    """The body of a relayed act does not have its format."""

    code = "PEER_ACT_INVALID"
