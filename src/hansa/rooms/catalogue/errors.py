"""Why the catalogue refuses."""

from hansa.foundation.values.errors import Conflict, Forbidden, Invalid, NotFound, Unauthorized


class CardUnknown(NotFound):
    """No card has that UUID, DID, number or humanReadableId."""

    code = "CARD_UNKNOWN"
    sentence = "No card has that identifier."


class CardVersionUnknown(NotFound):
    """The card has no such version, or none that is still kept."""

    code = "CARD_VERSION_UNKNOWN"
    sentence = "The card has no such version, or it is no longer kept."


class CardInvalid(Invalid):
    """The card is not an A2A card, or breaks a limit; the first trouble is named."""

    code = "CARD_INVALID"


class HumanReadableIdTaken(Conflict):
    """Another card of this registry has that humanReadableId."""

    code = "HUMAN_READABLE_ID_TAKEN"
    sentence = "Another card has that humanReadableId."


class CardNotYours(Forbidden):
    """The card belongs to another developer, or is mirrored from another registry."""

    code = "CARD_NOT_YOURS"
    sentence = "Only the developer who owns this card may change it."


class CardExists(Conflict):
    """The agent has a card already; an inactive one is made active again by its owner."""

    code = "CARD_EXISTS"
    sentence = "The agent has a card already."


class AgentNotHere(NotFound):
    """No agent of this registry has the DID for which a card is to be created."""

    code = "AGENT_NOT_HERE"
    sentence = "No agent of this registry has that DID."


class AgentNotYours(Forbidden):
    """The agent for which a card is to be created belongs to another developer."""

    code = "AGENT_NOT_YOURS"
    sentence = "Only the developer who owns this agent may create its card."


class AgentNotActive(Conflict):
    """The agent for which a card is to be created is suspended or revoked."""

    code = "AGENT_NOT_ACTIVE"
    sentence = "The agent is suspended or revoked; it gets no card."


class ListingCardsTooMany(Conflict):
    """A developer has as many cards without an agent as one may have."""

    code = "LISTING_CARDS_TOO_MANY"


class CardRevoked(Conflict):
    """The card's agent is revoked: nothing of the card changes any more."""

    code = "CARD_REVOKED"
    sentence = "The card is revoked; nothing of it changes any more."


class CursorInvalid(Invalid):
    """The `next` value was not given out by this listing."""

    code = "CURSOR_INVALID"
    sentence = "The next value was not given out by this listing."


class OwnerUnknown(Unauthorized):
    """Own cards can be listed only with a developer credential."""

    sentence = "Listing own cards needs a developer credential."


class UnlistedRefused(Forbidden):
    """Only administrators list unlisted cards."""

    sentence = "Only administrators may list unlisted cards."
