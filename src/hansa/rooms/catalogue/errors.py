"""Why the catalogue refuses."""

from hansa.foundation.values.errors import Conflict, Forbidden, Invalid, NotFound, Unauthorized


class CardUnknown(NotFound):
    """No card has this UUID, DID, number or humanReadableId."""

    code = "CARD_UNKNOWN"
    sentence = "No card has this identifier."


class CardVersionUnknown(NotFound):
    """The card has no such version, or it is no longer stored."""

    code = "CARD_VERSION_UNKNOWN"
    sentence = "The card has no such version, or it is no longer stored."


class CardInvalid(Invalid):
    """The card is not a valid A2A card or exceeds a limit; the first error is named."""

    code = "CARD_INVALID"


class HumanReadableIdTaken(Conflict):
    """Another card of this registry has this humanReadableId."""

    code = "HUMAN_READABLE_ID_TAKEN"
    sentence = "Another card has this humanReadableId; choose another one."


class CardNotYours(Forbidden):
    """The card belongs to another developer, or is mirrored from another registry."""

    code = "CARD_NOT_YOURS"
    sentence = "Only the developer who owns this card may change it."


class CardExists(Conflict):
    """The agent has a card already; its owner can activate an inactive card again."""

    code = "CARD_EXISTS"
    sentence = "The agent has a card already; edit that card."


class AgentNotHere(NotFound):
    """No agent of this registry has the DID of the new card."""

    code = "AGENT_NOT_HERE"
    sentence = "No agent of this registry has this DID."


class AgentNotYours(Forbidden):
    """The agent of the new card belongs to another developer."""

    code = "NOT_THE_OWNER"
    sentence = "Only the developer who owns this agent may create its card."


class AgentNotActive(Conflict):
    """The agent of the new card is suspended or revoked."""

    code = "AGENT_NOT_ACTIVE"
    sentence = "The agent is suspended or revoked; a card cannot be created for it."


class ListingCardsTooMany(Conflict):
    """The developer has the maximum number of cards without an agent."""

    code = "LISTING_CARDS_TOO_MANY"


class CardRevoked(Conflict):
    """The card's agent is revoked, so the card cannot be changed."""

    code = "CARD_REVOKED"
    sentence = "The card is revoked and cannot be changed."


class CursorInvalid(Invalid):
    """The cursor was not issued by this listing."""

    code = "CURSOR_INVALID"
    sentence = "Invalid cursor: use the `next` value of a response of this listing."
    remedy = "Start again without `next`, or send the `next` of a former response unchanged."


class OwnerUnknown(Unauthorized):
    """Listing own cards requires a developer credential."""

    sentence = "Listing own cards requires a developer credential."


class UnlistedRefused(Forbidden):
    """Only administrators may list unlisted cards."""

    sentence = "Only administrators may list unlisted cards."
