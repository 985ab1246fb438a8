"""Why the feed refuses. On an open socket a refusal is a message, and the socket stays."""

from hansa.foundation.values.errors import Forbidden, Invalid, PayloadTooLarge, Unauthorized


class OriginRefused(Forbidden):
    """A browser page of another origin tried to open the feed; only pages of the registry's own origin may."""

    code = "ORIGIN_REFUSED"
    sentence = "A page of another origin cannot open the feed of this registry."


class TicketInvalid(Unauthorized):
    """The ticket was already used, has expired, or does not exist."""

    code = "TICKET_INVALID"
    sentence = "This ticket is used, expired or unknown; request a new one."


class ActionUnknown(Invalid):
    """The action of the message is not subscribe, unsubscribe or ping."""

    code = "ACTION_UNKNOWN"
    sentence = "A message must be an object whose `action` is subscribe, unsubscribe or ping."


class ChannelUnknown(Invalid):
    """The feed has no channel with this name."""

    code = "CHANNEL_UNKNOWN"
    sentence = (
        "Unknown channel; expected events:all, events:<type>, listing:<ref>, agent:<did> or balance:updates."
    )


class ChannelNeedsCredential(Unauthorized):
    """The channel requires a socket that was opened with a ticket or a token."""

    code = "CHANNEL_NEEDS_CREDENTIAL"
    sentence = "This channel requires a socket that was opened with a ticket or a token."


class ChannelRefused(Forbidden):
    """The channel belongs neither to the calling agent nor to an agent of the calling developer."""

    code = "CHANNEL_REFUSED"
    sentence = "Only an agent and its owner may subscribe to the agent's channel, and only the agent to balance updates."


class TooManyChannels(Invalid):
    """The socket has the maximum number of subscriptions."""

    code = "TOO_MANY_CHANNELS"
    sentence = "This socket has the maximum number of subscriptions; unsubscribe from one first."


class MessageTooLarge(PayloadTooLarge):
    """A message to the feed exceeds the size limit."""

    code = "MESSAGE_TOO_LARGE"
    sentence = "A message to the feed must have at most 4096 bytes."
