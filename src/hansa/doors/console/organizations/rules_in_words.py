"""Rules of a treasury in sentences, and the answer to what a payment of an amount needs."""

from collections.abc import Sequence

from hansa.doors.console.access.forms import with_decimal_point
from hansa.foundation.values.money import NotAnAmount, format_amount, parse_positive
from hansa.rooms import treasury
from hansa.rooms.organizations import Demand, Team

WORDS = {"admin": ("admin", "admins"), "owner": ("owner", "owners")}


def sentences_of(rules: treasury.Rules, teams: Sequence[Team], currency: str) -> list[str]:
    """The rules, one in a sentence."""
    limits, found = rules.limits, []
    if not rules.tiers:
        found.append("An admin pays any amount without approvals.")
    for tier in rules.tiers:
        needs = approvals_in_words((tier.demand,), teams)
        found.append(f"A payment of more than {format_amount(tier.above)} {currency} needs {needs}.")
    if rules.unapproved_max is not None:
        found.append(
            f"Payments without approvals are at most {format_amount(rules.unapproved_max)} {currency} a day together;"
            " beyond that a payment needs the approvals of the lowest amount."
        )
    if limits.per_day_max is not None:
        found.append(f"All payments of a day are at most {format_amount(limits.per_day_max)} {currency}.")
    if limits.allowlist is not None:
        found.append("Only agents of the organization and of the allowlist are paid.")
    if rules.tiers:
        found.append(
            "The rules, budgets that allow more, and rights to approve change with the approvals of the highest amount."
        )
    return found


def approvals_in_words(demands: Sequence[Demand], teams: Sequence[Team]) -> str:
    """Approvals such as "2 approvals of owners"; without demands none."""
    if not demands:
        return "no approval"
    return ", and ".join(_in_words(demand, teams) for demand in demands)


def demands_of_payment(rules: treasury.Rules, today: treasury.Day, amount: str) -> tuple[Demand, ...] | None:
    """The approvals that a payment of this amount needs now; None for a text that is no amount."""
    try:
        asked = parse_positive(with_decimal_point(amount.strip()))
    except NotAnAmount:
        return None
    return treasury.demands_of(rules, asked, today.unapproved)


def _in_words(demand: Demand, teams: Sequence[Team]) -> str:
    number = demand.approvals
    approvals = "approval" if number == 1 else "approvals"
    if demand.team_id is not None:
        slug = next((team.slug for team in teams if team.id == demand.team_id), "a team that is gone")
        return f"{number} {approvals} of the team {slug}"
    one, several = WORDS[demand.approvers]
    article = "an" if one[0] in "ao" else "a"
    return f"{number} {approvals} of {f'{article} {one}' if number == 1 else several}"
