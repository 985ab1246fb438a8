"""Refusals of the cards of the exchange."""

from hansa.foundation.values.errors import NotFound, Refused


class StockCardMissing(NotFound):
    """No stock card was made: the exchange was never on, or has been on for less than a minute."""

    code = "STOCK_CARD_MISSING"
    sentence = "This registry has made no stock card."
    remedy = "Read fees.exchange of the registry card: it has the digest once there is a stock card."


class PassportDisabled(Refused):
    """Points do not cross to other registries: an owner opens an agent at the registry that lists them."""

    status = 503
    code = "passport_disabled"
    sentence = "Points of other registries are not accepted here."
    remedy = "Open an agent at the registry that lists the points, and trade there."
