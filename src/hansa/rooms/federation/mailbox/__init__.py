"""The mailbox: signed messages between this registry and its peers, sent, received and applied alike for every subject."""

from .channel import (
    Answers,
    ApplyAlone,
    Channel,
    Exchange,
    Outbox,
    PeerUnavailable,
    Sending,
    converse,
    post,
    post_messages,
)
from .envelope import Envelope, MalformedMessage, in_shape, own_keys, require_signed
from .positions import (
    ADDRESSEE_MAX_CHARACTERS,
    NO_HEAD,
    NOWHERE,
    NUMBER_MAX,
    Placed,
    Position,
    placed_members,
)

__all__ = [
    "ADDRESSEE_MAX_CHARACTERS",
    "NOWHERE",
    "NO_HEAD",
    "NUMBER_MAX",
    "Answers",
    "ApplyAlone",
    "Channel",
    "Envelope",
    "Exchange",
    "MalformedMessage",
    "Outbox",
    "PeerUnavailable",
    "Placed",
    "Position",
    "Sending",
    "converse",
    "in_shape",
    "own_keys",
    "placed_members",
    "post",
    "post_messages",
    "require_signed",
]
