"""Governance by own agents: what an agent has staked, its proposals, and its vote on one. A vote is final and public."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.access.forms import with_decimal_point
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import agents, governance

from .acting import act_as
from .pages import ACTS, READS, MyDid, address_of, agent_page, choice_page, own_agent

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE = "/account/agents/{did}/governance"
AGENTS_OFFERED = 100
CHANGES_SHOWN = 10
DAY_SECONDS = 86_400
CHOICES = (("for", "For"), ("against", "Against"), ("abstain", "Abstain"))
KINDS = (("signal", "A text without an effect"), ("policy_change", "A change of settings"))
ProposalId = Annotated[int, Path(ge=1, le=2**63 - 1)]


@router.get("/account/governance", dependencies=[Depends(within_read_limit)])
async def choose_proposer(person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """Choose the own agent that proposes."""
    owned, _ = await db.read(lambda tx: agents.oldest_of_developer(tx, person.developer.id, AGENTS_OFFERED))
    return choice_page(
        request,
        person,
        owned,
        act="Propose",
        lead="Choose the agent that proposes. Its stake has weight, and it needs the role governor.",
        page="governance",
        back=("/governance", "Governance"),
    )


@router.get("/account/governance/{proposal_id}", dependencies=[Depends(within_read_limit)])
async def choose_voter(
    proposal_id: ProposalId, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """Choose the own agent that votes on a proposal. Raises: ProposalUnknown."""
    proposal, (owned, _) = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: governance.read_proposal(tx, proposal_id),
            lambda tx: agents.oldest_of_developer(tx, person.developer.id, AGENTS_OFFERED),
        )
    )
    return choice_page(
        request,
        person,
        owned,
        act="Vote",
        lead="Choose the agent that votes. Its stake has weight, and it needs the role governor.",
        page=f"governance/{proposal.id}",
        back=(f"/governance/{proposal.id}", proposal.title),
    )


@router.get(PAGE, dependencies=READS)
async def show_power(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The stake of an own agent, the part that its votes pin, and the form of a proposal."""
    return await _power_page(request, person, db, did, settings=settings)


@router.post(PAGE, dependencies=ACTS)
async def propose(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Make a proposal as the agent."""
    await own_agent(db, sender.person, did)
    form = sender.form
    body: dict[str, Any] = {
        "title": form.value("title").strip(),
        "description": form.value("description").strip(),
        "duration_seconds": _seconds(form.value("days")),
    }
    if form.value("kind") == "policy_change":
        body |= {"kind": "policy_change", "policy_diff": _changes(form)}
    answer = await act_as(request, sender, did, "/governance/proposals", body)
    if answer.is_refused:
        refused = answer.on(form, duration_seconds="days", policy_diff="kind")
        return await _power_page(
            request, sender.person, db, did, settings=settings, form=refused, status=answer.status
        )
    return see_other(address_of(did, f"governance/{answer.document['id']}", "proposed"))


@router.get(f"{PAGE}/{{proposal_id}}", dependencies=READS)
async def show_vote(
    did: MyDid, proposal_id: ProposalId, person: SignedInPerson, request: Request, db: Db, *, settings: Config
) -> HTMLResponse:
    """The weight that the vote of an own agent would have, or the vote that it cast. Raises: ProposalUnknown."""
    return await _vote_page(request, person, db, did, proposal_id, settings=settings)


@router.post(f"{PAGE}/{{proposal_id}}", dependencies=ACTS)
async def vote(
    did: MyDid, proposal_id: ProposalId, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Vote as the agent."""
    await own_agent(db, sender.person, did)
    form = sender.form
    body = {"vote": form.value("vote"), "reason": form.value("reason").strip() or None}
    answer = await act_as(request, sender, did, f"/governance/proposals/{proposal_id}/vote", body)
    if answer.is_refused:
        refused = answer.on(form)
        return await _vote_page(
            request,
            sender.person,
            db,
            did,
            proposal_id,
            settings=settings,
            form=refused,
            status=answer.status,
        )
    return see_other(address_of(did, f"governance/{proposal_id}", "voted"))


@router.post(f"{PAGE}/{{proposal_id}}/cancel", dependencies=ACTS)
async def cancel(
    did: MyDid, proposal_id: ProposalId, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Cancel a proposal of the agent before another agent has voted."""
    await own_agent(db, sender.person, did)
    answer = await act_as(request, sender, did, f"/governance/proposals/{proposal_id}/cancel")
    if answer.is_refused:
        refused = answer.on(sender.form)
        return await _vote_page(
            request,
            sender.person,
            db,
            did,
            proposal_id,
            settings=settings,
            form=refused,
            status=answer.status,
        )
    return see_other(address_of(did, f"governance/{proposal_id}", "cancelled"))


def _seconds(days: str) -> int | str:
    """The seconds of a number of days; another text stays, for the API to refuse."""
    try:
        return round(float(with_decimal_point(days.strip())) * DAY_SECONDS)
    except (ValueError, OverflowError):
        return days


def _changes(form: SentForm) -> dict[str, Any]:
    """The changes of settings, each from the value that the form showed; a row without a setting is none."""
    changes = {}
    for row in range(1, CHANGES_SHOWN + 1):
        name, _, shown = form.value(f"change_{row}").partition("=")
        if not name:
            continue
        try:
            before = json.loads(shown)
        except ValueError:
            before = shown
        changes[name] = {"from": before, "to": _as_typed(form.value(f"change_{row}_to").strip(), before)}
    return changes


def _as_typed(text: str, before: object) -> bool | int | str:
    """The new value in the type of the present one; a text that is none of it stays, for the API to refuse."""
    if isinstance(before, bool):
        return text == "true" if text in {"true", "false"} else text
    if isinstance(before, int):
        return int(text) if text.isascii() and text.isdecimal() else text
    return with_decimal_point(text)


def _option(setting: parameters.Parameter) -> tuple[str, str]:
    """A setting in the choice of the form, with the value from which it would change."""
    value = json.dumps(setting.value)
    words = value.strip('"')
    return f"{setting.name}={value}", f"{setting.name}, now {words}"


async def _power_page(
    request: Request,
    person: SignedIn,
    db: Database,
    did: str,
    *,
    settings: Settings,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    agent, power, known = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: governance.read_power(tx, did),
            lambda tx: parameters.current(tx, settings),
        )
    )
    return agent_page(
        request,
        "own_agents/governance.html",
        person,
        agent,
        form,
        status=status,
        power=power,
        options=[_option(one) for one in known],
        rows=range(1, CHANGES_SHOWN + 1),
        kinds=KINDS,
        currency=settings.settlement_currency,
    )


async def _vote_page(
    request: Request,
    person: SignedIn,
    db: Database,
    did: str,
    proposal_id: int,
    *,
    settings: Settings,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    agent, proposal, power = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: governance.read_proposal(tx, proposal_id),
            lambda tx: governance.read_power(tx, did),
        )
    )
    own_vote = await db.read(lambda tx: governance.read_own_vote(tx, proposal, did))
    return agent_page(
        request,
        "own_agents/vote.html",
        person,
        agent,
        form,
        status=status,
        proposal=proposal,
        power=power,
        own_vote=own_vote,
        choices=CHOICES,
        currency=settings.settlement_currency,
    )
