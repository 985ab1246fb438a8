"""Why the catalogue refuses."""

from hansa.foundation.words.errors import Conflict, Forbidden, Invalid, NotFound, Unauthorized


class CardUnknown(NotFound):
    """No card has that UUID, DID, number or humanReadableId."""

    code = "CARD_UNKNOWN"
    sentence = "No card has that identifier."


class CardInvalid(Invalid):
    """The card is not an A2A card, or breaks a limit; the first trouble is named."""

    code = "CARD_INVALID"


class HumanReadableIdTaken(Conflict):
    """Another card of this registry has that humanReadableId."""

    code = "HUMAN_READABLE_ID_TAKEN"
    sentence = "Another card has that humanReadableId."


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
