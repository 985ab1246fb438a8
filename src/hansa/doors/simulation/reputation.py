"""Prices of a reputation and its yield: marks and the bonds that they replace, a lost dispute against a new identity, grants of new owners."""

from collections.abc import Iterator
from decimal import Decimal

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import catalogue, commerce
from hansa_verify import Signal, scores_of

from .forging import COST_MAX, GRADES_UPWARD, PRECISION
from .forging_attacks import EPOCH, GRANTS_ARE_FUNDS, TODAY, YESTERDAY
from .tables import NEVER, Outcome, Table, units

HOURS_OF_A_DAY = 24
LOST_SHARE = 10
"""A lost dispute is over a payment whose fee is this part of the fees of the agent."""
PAYERS = 3


class Restoring(msgspec.Struct, frozen=True):
    """Fees in minor units: of a grade, and of its return after a lost dispute with the same identity."""

    grade: str
    of_new_identity: int
    of_same_identity: int


def outcome(settings: Settings) -> Outcome:
    """Return the tables under these settings; amounts in units."""
    return Outcome([_marks(settings), _restored(), _grants(settings)])


def _marks(settings: Settings) -> tuple[Table, list[str]]:
    fee = Decimal(settings.mark_min_fee)
    with_grants = "the fees" if GRANTS_ARE_FUNDS else NEVER
    rows = [
        [mark, str(jobs), f"{jobs * fee:f}", with_grants, f"{jobs * fee / commerce.RECORD_COST:f}"]
        for jobs, mark in catalogue.GRADES
    ]
    columns = ("Mark", "Verified jobs", "Fees", "With genesis grants alone", "Bonds replaced at most")
    return Table(columns, rows), []


def restoring() -> Iterator[Restoring]:
    """Compare, for each grade, a new identity with the old one that has lost a dispute; both are paid by own agents."""
    for least, grade in GRADES_UPWARD:
        new = _least_fees([], least)
        past = [
            *_paid(new),
            Signal("ruling_for_complainant", TODAY - YESTERDAY, "9", "0", new // LOST_SHARE, True),
        ]
        yield Restoring(grade, new, _least_fees(past, least))


def _restored() -> tuple[Table, list[str]]:
    rows = [
        [f"`{one.grade}`", units(one.of_new_identity), units(one.of_same_identity)] for one in restoring()
    ]
    note = (
        "The dispute lost is over a payment whose fee is a tenth of all fees of the agent. Where the last column is the larger one, "
        "a forger leaves the identity, and with it every mark and the age of its record."
    )
    return Table(("Grade", "Fees of a new identity", "Fees of its return after a lost dispute"), rows), [note]


def _grants(settings: Settings) -> tuple[Table, list[str]]:
    amount = Decimal(settings.genesis_grant_amount) if settings.genesis_grant_enabled else Decimal(0)
    rows = [
        [
            "new owners at one address",
            str(settings.genesis_grants_per_address),
            _in_a_day(amount, settings.genesis_grants_per_address),
        ],
        [
            "new owners at any number of addresses",
            str(settings.genesis_grants_per_hour),
            _in_a_day(amount, settings.genesis_grants_per_hour),
        ],
    ]
    note = (
        "Grants buy calls. They pay for no job that counts in a score or a mark."
        if not GRANTS_ARE_FUNDS
        else ""
    )
    return Table(("Attack", "Grants an hour", "Units in a day"), rows), [note] if note else []


def _in_a_day(amount: Decimal, an_hour: int) -> str:
    return f"{amount * an_hour * HOURS_OF_A_DAY:f}"


def _least_fees(past: list[Signal], least_score: int) -> int:
    """The least fees of new payments with which the target reaches the score, to a thousandth."""
    low, high = 0, COST_MAX
    while high - low > max(high // PRECISION, 1):
        middle = (low + high) // 2
        found = scores_of([*past, *_paid(middle)], EPOCH).get("0")
        low, high = (low, middle) if found is not None and found.score >= least_score else (middle, high)
    return high


def _paid(fees: int) -> list[Signal]:
    day = TODAY - YESTERDAY
    return [Signal("payment", day, str(payer), "0", fees // PAYERS, True) for payer in range(1, PAYERS + 1)]
