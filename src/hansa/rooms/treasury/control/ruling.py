"""Kind `rules`: the tiers and limits of a treasury. Tighter ones apply at once; others need the approvals of the highest tier.

A request names the members of each team that would approve, so that its approvers see them: it is refused when a team has got others.
"""

from collections.abc import Mapping
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms import organizations
from hansa.rooms.organizations import (
    Acting,
    Demand,
    NewRequest,
    Organization,
    Outcome,
    Reading,
    Request,
    Tier,
)
from hansa.rooms.treasury import judging, store
from hansa.rooms.treasury.counting import rules_of
from hansa.rooms.treasury.errors import RulesOutdated
from hansa.rooms.treasury.records import Limits, Rules

TEAMS = "teams"


async def put_rules(tx: Tx, acting: Acting, key: str, stated: Mapping[str, Any]) -> Rules | Reading:
    """Write the rules, or ask for them where they are not tighter in every member.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, TeamUnknown, RulesInvalid, RequestExists, LimitReached.
    """
    organization = await organizations.lock_as_member(tx, key, acting.actor.id, organizations.Role.ADMIN)
    rules, old = await _read(tx, organization, stated), await rules_of(tx, organization.id)
    judging.require_sound(rules)
    if not old.tiers or judging.is_tighter(rules, old):
        await _write(tx, acting, organization, rules)
        return rules
    teams = await organizations.members_of_teams(tx, organization.id, _teams(stated))
    return await organizations.ask(tx, acting, organization, RULES, NewRequest({**stated, TEAMS: teams}))


def as_stated(rules: Rules) -> dict[str, Any]:
    """Return the rules as a request writes them."""
    limits = rules.limits
    return {
        "tiers": [
            {
                "over": format_amount(tier.above),
                "approvals": tier.demand.approvals,
                "from": tier.approvers,
            }
            for tier in rules.tiers
        ],
        "per_day_max": judging.amount_text(limits.per_day_max),
        "unapproved_per_day_max": judging.amount_text(limits.unapproved_per_day_max),
        "allowlist": None if limits.allowlist is None else list(limits.allowlist),
    }


async def _execute(tx: Tx, acting: Acting, organization: Organization, request: Request) -> Outcome:
    """Raises: TeamUnknown, RulesOutdated."""
    rules = await _read(tx, organization, request.body)
    seen = request.body[TEAMS]
    for slug, members in (
        await organizations.members_of_teams(tx, organization.id, _teams(request.body))
    ).items():
        if not set(members) <= set(seen[slug]):
            raise RulesOutdated(context={"team": slug})
    await _write(tx, acting, organization, rules)
    return organizations.NOTHING


async def _write(tx: Tx, acting: Acting, organization: Organization, rules: Rules) -> None:
    await organizations.replace_tiers(tx, organization.id, rules.tiers)
    await store.put_limits(tx, organization.id, rules.limits)
    await organizations.record_act(
        tx, organization.id, acting.actor, "treasury.rules", "rules", **as_stated(rules)
    )


async def _read(tx: Tx, organization: Organization, stated: Mapping[str, Any]) -> Rules:
    """Raises: TeamUnknown."""
    found = []
    for tier in stated["tiers"]:
        approvers = await organizations.approvers_named(tx, organization.id, tier["from"])
        demand = Demand(tier["approvals"], approvers)
        found.append(Tier(parse_amount(tier["over"]), demand, tier["from"]))
    day, unapproved, allowed = (
        stated[name] for name in ("per_day_max", "unapproved_per_day_max", "allowlist")
    )
    limits = Limits(
        None if day is None else parse_amount(day),
        None if unapproved is None else parse_amount(unapproved),
        None if allowed is None else tuple(allowed),
    )
    return Rules(tuple(sorted(found, key=lambda tier: tier.above)), limits)


def _teams(stated: Mapping[str, Any]) -> list[str]:
    return [tier["from"] for tier in stated["tiers"]]


RULES = organizations.RequestKind("rules", organizations.demands_of_control, _execute, is_unique=True)
