"""Decisions of the treasury room, without I/O."""

from collections.abc import Sequence

from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import organizations
from hansa.rooms.organizations import Demand, Tier

from .errors import RulesInvalid
from .records import Limits, NewBudget, Rules

TIERS_MAX = 5
APPROVALS_MAX = 5
BUDGETS_MAX = 100
ALLOWED_MAX = 500


def require_sound(rules: Rules) -> None:
    """Raises: RulesInvalid."""
    above = [tier.above for tier in rules.tiers]
    if len(set(above)) < len(above):
        raise RulesInvalid("Each tier has an amount of its own in over.", field="tiers")
    if rules.limits.unapproved_per_day_max is not None and not rules.tiers:
        raise RulesInvalid(
            "unapproved_per_day_max needs a tier, which payments beyond it fall into.",
            field="unapproved_per_day_max",
        )


def demands_of(rules: Rules, amount: Minor, unapproved_today: Minor) -> tuple[Demand, ...]:
    """Return the approvals that a payment needs: those of its tier, or of the lowest one beyond the sum of a day without approvals."""
    tier = organizations.tier_of(rules.tiers, amount)
    if tier is not None:
        return (tier.demand,)
    most = rules.unapproved_max
    if most is not None and unapproved_today + amount > most:
        return (rules.tiers[0].demand,)
    return ()


def is_tighter(new: Rules, old: Rules) -> bool:
    """Return whether the new rules demand as much as the old ones or more, in every member."""
    return (
        _tiers_are_tighter(new.tiers, old.tiers)
        and _is_at_most(new.limits.per_day_max, old.limits.per_day_max)
        and _is_at_most(new.unapproved_max, old.unapproved_max)
        and _is_within(new.limits, old.limits)
    )


def is_tighter_budget(new: NewBudget, old: NewBudget) -> bool:
    """Return whether a changed budget allows as much as before or less, in every member; its name allows nothing."""
    return (
        (new.team_id, new.agent_did) == (old.team_id, old.agent_did)
        and new.amount <= old.amount
        and new.period in {old.period, "once"}
    )


def _tiers_are_tighter(new: Sequence[Tier], old: Sequence[Tier]) -> bool:
    # Between two bounds nothing changes, so one amount above each bound stands for all.
    for bound in {tier.above for tier in (*new, *old)}:
        before = organizations.tier_of(old, Minor(bound + 1))
        after = organizations.tier_of(new, Minor(bound + 1))
        if before is None:
            continue
        if after is None or not _demands_more(after.demand, before.demand):
            return False
    return not old or _lowest_is_tighter(new, old[0])


def _lowest_is_tighter(new: Sequence[Tier], lowest: Tier) -> bool:
    # Beyond the sum of a day without approvals, each payment below the lowest tier needed its approvals.
    below = [tier for tier in new if tier.above < lowest.above] or new[:1]
    return all(_demands_more(tier.demand, lowest.demand) for tier in below)


def _demands_more(new: Demand, old: Demand) -> bool:
    are_fewer_people = new.approvers == old.approvers or (old.approvers, new.approvers) == ("admin", "owner")
    return are_fewer_people and new.approvals >= old.approvals


def _is_at_most(new: Minor | None, old: Minor | None) -> bool:
    return old is None or (new is not None and new <= old)


def _is_within(new: Limits, old: Limits) -> bool:
    return old.allowlist is None or (new.allowlist is not None and set(new.allowlist) <= set(old.allowlist))


def amount_text(amount: Minor | None) -> str | None:
    """Return an amount as requests and answers write it."""
    return None if amount is None else format_amount(amount)
