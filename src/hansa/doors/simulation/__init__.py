"""Prices of known attacks under the settings of a registry: `hansa simulate`."""

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.money import parse_amount

from . import forging, pools, reputation
from .forging_attacks import attacks_under
from .tables import Outcome, Table

TRIES = 600

__all__ = ["TRIES", "Outcome", "Table", "forged_scores", "pools", "reputation"]


def forged_scores(settings: Settings, tries: int = TRIES) -> Outcome:
    """Return the least fees found with which each attack forges each grade, with so many tries for each."""
    attacks = attacks_under(parse_amount(settings.peer_counted_fees_max))
    return forging.outcome(forging.costs_of_grades(attacks, tries))
