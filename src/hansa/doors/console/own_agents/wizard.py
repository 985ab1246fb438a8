"""A new agent: its card given or fetched from its host, reviewed, then created by the two-step handshake of the API.

A card as a form: the members that most agents need. Everything else is written in the card's JSON.
"""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from hansa.doors.console.access import (
    Act,
    ProvedAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    account_page,
    act_once,
)
from hansa.doors.console.account.text_file import environment_file, text_file
from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import IS_DEVELOPER_SUSPENDED
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import Limit, admit, client_site, limited, within_read_limit
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import agents, catalogue
from hansa.rooms.organizations import Role

from .card_text import Review, card_in, review_of_card, review_of_host, text_of
from .pages import path_of

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)
HOSTS_FETCHED = Limit("wizard-host", 20)
REQUESTED_BY = "web page"
SHOWN_OF_A_TOKEN = 12
Text = Annotated[str, Field(min_length=1, max_length=2048)]
Name = Annotated[str, Field(min_length=1, max_length=128)]
SKILL_ID = "main"


class Created(LazyModel):
    """Both steps of the handshake, with the credentials that are shown once."""

    bootstrap_token: str
    expires_at: datetime
    agent: agents.CreateAgentOut


@router.get("/account/agents/new")
async def show_wizard(person: SignedInPerson, request: Request) -> HTMLResponse:
    """Give the agent's host, fill in a card, or paste one."""
    return _start(request, person)


@router.post("/account/agents/new/from-host")
async def review_host(sender: Act, request: Request, db: Db) -> Response:
    """Fetch the card that the host serves now, and show it."""
    try:
        await admit(db, HOSTS_FETCHED, str(sender.person.developer.id))
        review = await review_of_host(runtime_of(request), sender.form.value("agent_host"))
    except Refused as refusal:
        return _start(request, sender.person, sender.form.refused(refusal), status=refusal.status)
    return _review(request, sender.person, review)


@router.post("/account/agents/new/from-form")
async def review_fields(sender: Act, request: Request) -> Response:
    """Make a card of the fields, and show it."""
    try:
        fields = sender.form.read_as(CardFields)
    except Refused as refusal:
        return _start(request, sender.person, sender.form.refused(refusal), status=refusal.status)
    return _review(request, sender.person, review_of_card(fields.card()))


@router.post("/account/agents/new/from-card")
async def review_card(sender: Act, request: Request) -> Response:
    """Judge a card, and show its errors or its completions."""
    try:
        card = card_in(sender.form.value("card"))
    except Refused as refusal:
        return _start(request, sender.person, sender.form.refused(refusal), status=refusal.status)
    return _review(request, sender.person, review_of_card(card))


@router.post("/account/agents/new", dependencies=[Depends(limited(agents.CREATIONS))])
async def create(
    sender: ProvedAct, request: Request, *, settings: Config, cards: catalogue.CardWrites
) -> Response:
    """Request a bootstrap token, create the agent with it, and show the credentials."""
    person, form = sender.person, sender.form
    is_suspended = IS_DEVELOPER_SUSPENDED.of(runtime_of(request))
    organizations = agents.ORGANIZATION_AGENTS.of(runtime_of(request))
    identity = agents.new_identity(settings, None)
    try:
        host = form.value("agent_host") or None
        card = None if host else card_in(form.value("card"))
        if host is None and not isinstance(card, dict):
            raise catalogue.CardInvalid("$: An agent card is a JSON object.", field="card")

        async def created(tx: Tx) -> Created:
            issued = await agents.issue_bootstrap_token(
                tx,
                person.developer,
                agent_type_hint=None,
                requested_by=REQUESTED_BY,
                lifetime_seconds=settings.bootstrap_token_lifetime,
                is_suspended=is_suspended,
                organization=form.value("organization") or None,
                organizations=organizations,
            )
            site = client_site(request)
            asked = agents.Onboarding(issued.token, identity, host=host, card=card, site=site)
            onboarded = await agents.create_agent(tx, asked, settings, is_suspended, organizations)
            return Created(
                bootstrap_token=issued.token[:SHOWN_OF_A_TOKEN],
                expires_at=issued.expires_at,
                agent=agents.CreateAgentOut.of(identity, onboarded),
            )

        made = await act_once(request, sender, Created, created, database=cards)
    except Refused as refusal:
        return _refused(request, sender.person, form, refusal)
    return _credentials(request, person, made, settings)


def _refused(request: Request, person: SignedIn, form: SentForm, refusal: Refused) -> Response:
    """The review again, with the reason of the refusal."""
    if form.value("agent_host"):
        return _start(request, person, form.refused(refusal), status=refusal.status)
    review = Review(card=form.value("card"))
    return _review(request, person, review, form.refused(refusal), status=refusal.status)


def _credentials(request: Request, person: SignedIn, made: Created, settings: Config) -> Response:
    variables = {
        "HANSA_REGISTRY": settings.base_url,
        "HANSA_AGENT_DID": made.agent.agent_did,
        "HANSA_CLIENT_ID": made.agent.client_id,
        "HANSA_CLIENT_SECRET": made.agent.client_secret,
    }
    return account_page(
        request,
        "own_agents/created.html",
        person,
        made=made,
        base=path_of(made.agent.agent_did),
        environment=environment_file(variables),
        private_key=text_file((made.agent.private_key_pem or "").rstrip("\n")),
    )


def _start(
    request: Request, person: SignedIn, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    return account_page(
        request,
        "own_agents/new.html",
        person,
        form,
        status=status,
        card_template=text_of(catalogue.card_template()),
        example=template_fields(),
    )


def _review(
    request: Request, person: SignedIn, review: Review, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    shown = 422 if review.troubles else status
    administered = [one for one in person.organizations if one.role >= Role.ADMIN]
    return account_page(
        request,
        "own_agents/review.html",
        person,
        form,
        status=shown,
        review=review,
        administered=administered,
    )


class CardFields(LazyModel):
    """The fields of a simple card. `tags` are separated by commas, the price is per call; empty: free."""

    name: Name
    description: Annotated[str, Field(min_length=1, max_length=8192)]
    url: Text
    version: Name
    skill_name: Name
    skill_description: Text
    tags: Annotated[str, Field(max_length=2048)] = ""
    price: Annotated[str, Field(max_length=64)] = ""

    def card(self) -> dict[str, Any]:
        """The A2A 1.0 card of these fields."""
        tags = [tag for tag in (tag.strip() for tag in self.tags.split(",")) if tag]
        skill = {"id": SKILL_ID, "name": self.skill_name, "description": self.skill_description}
        interface = {"url": self.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        price = {"pricing": {"model": "per_request", "base_rate": self.price}} if self.price else {}
        return {
            "name": self.name,
            "description": self.description,
            "version": self.version,
            "supportedInterfaces": [interface],
            "capabilities": {},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{**skill, "tags": tags} if tags else skill],
            **price,
        }


def template_fields() -> dict[str, str]:
    """Return the suggestions of the form: the words of the template."""
    card = catalogue.card_template()
    return {"url": card["supportedInterfaces"][0]["url"], "version": card["version"]}
