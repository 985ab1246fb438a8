"""Why the feed refuses. On an open socket a refusal is a message, and the socket stays."""

from hansa.foundation.values.errors import Forbidden, Invalid, PayloadTooLarge, Unauthorized


class OriginRefused(Forbidden):
    """A browser page of another origin opens the feed; pages of the registry's own origin may."""

    code = "ORIGIN_REFUSED"
    sentence = "A page of another origin cannot open the feed of this registry."


class TicketInvalid(Unauthorized):
    """The ticket was used already, has expired, or never existed."""

    code = "TICKET_INVALID"
    sentence = "This ticket is used up, expired or unknown; ask for another one."


class ActionUnknown(Invalid):
    """A message of the feed asks for something other than subscribe, unsubscribe or ping."""

    code = "ACTION_UNKNOWN"
    sentence = "A message is an object whose action is subscribe, unsubscribe or ping."


class ChannelUnknown(Invalid):
    """The feed has no channel of this name."""

    code = "CHANNEL_UNKNOWN"
    sentence = "Channels are events:all, events:<type>, agent:<did> and balance:updates."


class ChannelNeedsCredential(Unauthorized):
    """The channel is for those who came with a ticket or a token."""

    code = "CHANNEL_NEEDS_CREDENTIAL"
    sentence = "This channel needs a socket that was opened with a ticket or a token."


class ChannelRefused(Forbidden):
    """The channel is neither that of the agent that asks nor that of an agent of the developer who asks."""

    code = "CHANNEL_REFUSED"
    sentence = "An agent's channel is for the agent and its owner, that of a balance for the agent alone."


class TooManyChannels(Invalid):
    """The socket has subscribed to as many channels as one socket may."""

    code = "TOO_MANY_CHANNELS"
    sentence = "This socket has as many subscriptions as one socket may have."


class MessageTooLarge(PayloadTooLarge):
    """A message to the feed is larger than any that it understands."""

    code = "MESSAGE_TOO_LARGE"
    sentence = "A message to the feed has at most 4096 bytes."
