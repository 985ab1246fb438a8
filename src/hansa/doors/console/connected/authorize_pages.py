"""Consent of a person: a client asks for access, the person ticks what it may do, and the browser is led back by a link.

- The person logs in first: nothing is fetched or followed for strangers.
- A client that is not proved, or whose redirect address is not its own, ends on a page without a link.
- No answer redirects: a page leads back by its link, and after consent by a script as well (`form-action`).
"""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from hansa.doors.console.access import (
    Act,
    Acting,
    FormRefused,
    SentForm,
    SignedIn,
    SignedInPerson,
    account_page,
    act_once,
    whole_number,
)
from hansa.doors.console.access.policy import proved_acting
from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.connections import CONNECTION_SCOPES, READING_SCOPES, act
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Amount, parse_amount
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, people

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

AUTHORIZE = "/oauth/authorize"
AGENTS_SHOWN = 500
DAYS_DEFAULT = 30
DAYS_MAX = 365
MEANINGS = {
    "mcp:read": "Read your agents and the public registry",
    "wallet:read": "Read the balance, transactions and payment tokens of the agent",
    "wallet:pay": "Pay other agents with the agent's units",
    "contracts:act": "Propose, accept, submit and approve contracts",
    "disputes:act": "File disputes and add evidence",
    "pipelines:run": "Run the agent's pipelines",
    "support:write": "Write support tickets",
}


class ConsentFields(LazyModel):
    """Limits and time of a connection."""

    per_call: Amount = "5"
    per_day: Amount = "10"
    ask_above: Amount = "1"
    days: Annotated[int, Field(ge=1, le=DAYS_MAX)] = DAYS_DEFAULT

    @property
    def limits(self) -> people.Limits:
        """The limits as amounts."""
        return people.Limits(
            parse_amount(self.per_call), parse_amount(self.per_day), parse_amount(self.ask_above)
        )


class LedBackOut(LazyModel):
    """The address that leads back to the client, with its code."""

    address: str = Field(repr=False)


@router.get(AUTHORIZE)
async def show_consent(person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """Ask the person what the client may do."""
    try:
        asked = await people.read_request(runtime_of(request), request.query_params.multi_items())
    except people.LedBack as fault:
        return _led_back(request, person, fault.client.name, fault.address, str(fault), status=400)
    sealed = people.seal_request(person.seal, asked, person.session.id, person.now)
    return await _consent_page(request, person, db, asked=asked, sealed=sealed)


@router.post(AUTHORIZE)
async def decide(sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Grant the access that was ticked, or refuse it."""
    person, form = sender.person, sender.form
    sealed = form.value("request")
    asked = people.open_request(person.seal, sealed, person.session.id, person.now)
    if form.value("decision") != "allow":
        address = people.refused_address(asked, settings.base_url)
        return _led_back(request, person, asked.client.name, address, "You refused the access.")
    if act(form.values("scopes")) and not person.session.is_proved_recently:
        await proved_acting(request, sender)
    try:
        decision = await _decided(db, sender)

        async def granted(tx: Tx) -> LedBackOut:
            if decision.agent_did is not None:
                await _require_active(tx, person, decision.agent_did)
            return LedBackOut(
                address=await people.grant_access(
                    tx, person.developer.id, asked, decision, consent=sealed, base_url=settings.base_url
                )
            )

        answer = await act_once(request, sender, LedBackOut, granted)
    except Refused as refusal:
        refused = form.refused(refusal)
        return await _consent_page(
            request, person, db, refused, asked=asked, sealed=sealed, status=refusal.status
        )
    return _led_back(request, person, asked.client.name, answer.address, "", is_granted=True)


async def _decided(db: Database, sender: Acting) -> people.Decision:
    """The decision of the form. Raises: FormRefused."""
    form = sender.form
    scopes = tuple(one for one in CONNECTION_SCOPES if one in form.values("scopes"))
    if not scopes:
        raise FormRefused({"scopes": "Tick at least one permission, or refuse the access."})
    did = form.value("agent_did") or None
    if act(scopes) and did is None:
        raise FormRefused({"agent_did": "Choose the agent for which the client acts."})
    fields = form.read_as(ConsentFields, days=whole_number(form.value("days") or str(DAYS_DEFAULT)))
    if did is not None:
        await db.read(lambda tx: _require_active(tx, sender.person, did))
    return people.Decision(scopes, did, fields.limits, fields.days, _ends(form))


async def _require_active(tx: Tx, person: SignedIn, did: str) -> None:
    """Raises: FormRefused, unless it is an active agent as which the person acts."""
    try:
        agent = await agents.own_agent(tx, person.developer.id, did, Right.OPERATE)
    except agents.AgentUnknown:
        raise FormRefused({"agent_did": "This is no agent of yours."}) from None
    if agent.status != "active":
        raise FormRefused({"agent_did": f"The agent is {agent.status}."})


def _ends(form: SentForm) -> tuple[UUID, ...]:
    try:
        return tuple(UUID(one) for one in form.values("ends"))
    except ValueError:
        raise FormRefused({"ends": "Choose connections from the list."}) from None


async def _consent_page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm | None = None,
    *,
    asked: people.AuthorizationRequest,
    sealed: str,
    status: int = 200,
) -> HTMLResponse:
    developer_id = person.developer.id

    async def read(tx: Tx) -> tuple[list[agents.OwnedAgent], list[people.ConnectionRow]]:
        owned, _ = await agents.page_of_developer(tx, developer_id, limit=AGENTS_SHOWN, offset=0)
        living, _ = await people.living_connections(tx, developer_id, limit=people.GRANTS_MAX, offset=0)
        return owned, living

    owned, living = await db.read(read)
    host = people.redirect_host(asked.redirect_uri)
    return account_page(
        request,
        "connected/consent.html",
        person,
        form,
        status=status,
        asked=asked,
        sealed=sealed,
        redirect_host=host,
        is_loopback=asked.redirect_uri.startswith("http://"),
        is_program=not asked.redirect_uri.startswith(("http://", "https://")),
        meanings=MEANINGS,
        reading=READING_SCOPES,
        agents=[one for one in owned if one.status == "active"],
        full=living if len(living) >= people.GRANTS_MAX else [],
        days=DAYS_DEFAULT,
    )


def _led_back(
    request: Request,
    person: SignedIn,
    client: str,
    address: str,
    reason: str,
    *,
    is_granted: bool = False,
    status: int = 200,
) -> HTMLResponse:
    content: dict[str, Any] = {"client": client, "address": address, "reason": reason}
    return account_page(
        request, "connected/led-back.html", person, status=status, is_granted=is_granted, **content
    )
