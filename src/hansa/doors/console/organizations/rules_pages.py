"""Rules of a treasury: as sentences, with a simulator, and the form that changes them."""

from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson
from hansa.doors.console.access.forms import whole_number, with_decimal_point
from hansa.doors.console.api_acts import act_as_person
from hansa.doors.console.own_agents.picker import with_dids
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.money import format_amount
from hansa.rooms import organizations, treasury
from hansa.rooms.organizations import Organization, Team

from .pages import LIST, Key, held, organization_page, organization_router, outcome
from .rules_in_words import approvals_in_words, demands_of_payment, sentences_of
from .treasury_tabs import treasury_tabs

router = organization_router()

TIER_FIELDS = ("over", "approvals", "from")
LIMITS = ("per_day_max", "unapproved_per_day_max")
LIMITS_PAYEES = "limits_payees"


@router.get("/treasury/rules")
async def show_rules(
    organization_id: Key,
    person: SignedInPerson,
    request: Request,
    db: Db,
    amount: Annotated[str, Query(max_length=64)] = "",
) -> HTMLResponse:
    """The rules, the answer to what a payment of `amount` needs, and for an admin the form that changes them."""
    return await _page(request, person, db, organization_id, amount=amount)


@router.post("/treasury/rules")
async def change_rules(organization_id: Key, sender: Act, request: Request, db: Db) -> Response:
    """Replace the rules, or ask for the approvals of the highest tier."""
    sender = await with_dids(db, sender, "allowlist")
    base = f"{LIST}/{organization_id}"
    path = f"/organizations/{organization_id}/treasury/rules"
    answer = await act_as_person(request, sender, "PUT", path, _stated(sender.form))
    return await outcome(
        sender,
        answer,
        f"{base}/treasury/rules?done=saved",
        lambda refused, status: _page(
            request, sender.person, db, organization_id, form=refused, status=status
        ),
        base=base,
    )


def _stated(form: SentForm) -> dict[str, Any]:
    rows = zip(*(form.values(f"tier_{name}") for name in TIER_FIELDS), strict=False)
    tiers = [
        {"over": with_decimal_point(over.strip()), "approvals": whole_number(approvals), "from": approvers}
        for over, approvals, approvers in rows
        if over.strip()
    ]
    limits = {name: with_decimal_point(form.value(name).strip()) or None for name in LIMITS}
    allowed = form.value("allowlist").split() if form.value(LIMITS_PAYEES) == "true" else None
    return {"tiers": tiers, **limits, "allowlist": allowed}


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    *,
    amount: str = "",
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> tuple[Organization, treasury.Rules, treasury.Day, list[Team]]:
        organization = await held(tx, person, key)
        return (
            organization,
            await treasury.rules_of(tx, organization.id),
            await treasury.today(tx, organization.id),
            await organizations.teams_in(tx, organization.id),
        )

    organization, rules, today, teams = await db.read(reading)
    currency = runtime_of(request).settings.settlement_currency
    demands = demands_of_payment(rules, today, amount) if amount else None
    form = form or SentForm()
    return organization_page(
        request,
        "rules.html",
        person,
        organization,
        form,
        status=status,
        section="/treasury",
        tabs=treasury_tabs(organization, "/treasury/rules"),
        sentences=sentences_of(rules, teams, currency),
        amount=amount,
        needs=None if demands is None else approvals_in_words(demands, teams),
        rows=_rows(form, rules),
        approvers=[
            ("admin", "Admins"),
            ("owner", "Owners"),
            *((one.slug, f"Team {one.slug}") for one in teams),
        ],
        limits=_limits(form, rules),
        allowlist=rules.limits.allowlist,
        spent_today=today.spent,
        currency=currency,
    )


def _rows(form: SentForm, rules: treasury.Rules) -> list[tuple[str, str, str]]:
    """The tiers in the form, as they were sent or as they are, and empty rows up to the most."""
    if form.fields:
        sent = zip(*(form.values(f"tier_{name}") for name in TIER_FIELDS), strict=False)
        rows = [(over, approvals, approvers) for over, approvals, approvers in sent]
    else:
        rows = [
            (format_amount(tier.above), str(tier.demand.approvals), tier.approvers) for tier in rules.tiers
        ]
    return [*rows, *[("", "1", "owner")] * (treasury.TIERS_MAX - len(rows))]


def _limits(form: SentForm, rules: treasury.Rules) -> dict[str, str]:
    present = (rules.limits.per_day_max, rules.limits.unapproved_per_day_max)
    stated = {
        name: "" if value is None else format_amount(value)
        for name, value in zip(LIMITS, present, strict=True)
    }
    return {name: form.value(name) for name in LIMITS} if form.fields else stated
