"""Refusals of settlements."""

from hansa.foundation.values.errors import Conflict, NotFound


class SettlementUnknown(NotFound):
    """There is no such settlement."""

    code = "SETTLEMENT_UNKNOWN"
    sentence = "There is no settlement of a slash with this id."


class EvidenceMissing(NotFound):
    """The other registry has signed nothing about the settlement yet."""

    code = "SETTLEMENT_EVIDENCE_MISSING"
    sentence = "The other registry has signed nothing about this settlement yet."


class SettlementDecided(Conflict):
    """Only an incoming settlement that is pending and not expired is approved or rejected."""

    code = "SETTLEMENT_DECIDED"
    sentence = "The settlement is not an incoming one that waits for a decision."


class SettlementNotUncollected(Conflict):
    """Only a claim on units that the other registry could not destroy again is written off, once."""

    code = "SETTLEMENT_NOT_UNCOLLECTED"
    sentence = "The settlement is not an outgoing one whose units the other registry could not destroy again."
