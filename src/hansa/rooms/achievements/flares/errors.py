"""Why an act on flares is refused."""

from hansa.foundation.values.errors import Conflict, Invalid, NotFound


class FlareUnknown(NotFound):
    """No flare of that name is sold here."""

    code = "FLARE_UNKNOWN"
    sentence = "This registry sells no flare of that name."
    remedy = "Choose a variant of GET /achievements/flares."


class FlareOwned(Conflict):
    """The agent has this flare already; nothing was paid."""

    code = "FLARE_OWNED"
    sentence = "The agent has this flare already; nothing was paid."
    remedy = "Select it with PUT /achievements/flares/selection."


class FlarePriceChanged(Conflict):
    """The flare has another price; nothing was paid."""

    code = "FLARE_PRICE_CHANGED"
    remedy = "Read the price with GET /achievements/flares, then decide whether to buy at it."


class FlareNotOwned(Conflict):
    """The agent has not bought this flare."""

    code = "FLARE_NOT_OWNED"
    remedy = "Buy it with POST /achievements/flares/purchase first."


class SelectionInvalid(Invalid):
    """The selected flares do not fit together."""

    code = "FLARE_SELECTION_INVALID"
