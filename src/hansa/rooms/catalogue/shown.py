"""Card as it is shown: with the registry's statements beside the owner's words."""

from msgspec.structs import replace

from .bonds import with_bond
from .card_formats import readable_by_both
from .enforcement import with_enforcement
from .flares import with_flare
from .payment import with_payment
from .records import Card
from .track_record import with_track_record


def shown(card: Card, extension_base: str) -> Card:
    """Return the card with the enforcement of the platform and, on an own card, its track record, bond, flares and payment terms.

    A mirrored card is never modified: only its own registry's statements are in it.
    """
    if card.card_data is None or card.source_registry is not None:
        return with_enforcement(card, extension_base)
    document = with_payment(
        readable_by_both(card.card_data), currency=card.settlement_currency, extension_base=extension_base
    )
    recorded = with_track_record(replace(card, card_data=document), extension_base)
    return with_enforcement(with_flare(with_bond(recorded, extension_base)), extension_base)
