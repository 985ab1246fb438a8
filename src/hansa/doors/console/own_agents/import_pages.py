"""Import of a bundle: judged first by a dry run of the API, then carried out, with the credentials shown once."""

from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    Act,
    Acting,
    FormRefused,
    ProvedAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    account_page,
)
from hansa.doors.console.account.text_file import environment_file, text_file
from hansa.doors.console.api_acts import ApiAnswer, act_as_person
from hansa.foundation.plumbing.process.runtime import Config
from hansa.foundation.plumbing.web.bodies import BodyInvalid, parse_json
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit

from .card_text import text_of
from .pages import path_of

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)


@router.get("/account/agents/import")
async def show_import(person: SignedInPerson, request: Request) -> HTMLResponse:
    """The form of a bundle."""
    return _start(request, person)


@router.post("/account/agents/import/check")
async def check_bundle(sender: Act, request: Request, settings: Config) -> Response:
    """The agent that the bundle would make; nothing is created."""
    try:
        bundle = _bundle_in(sender.form)
    except FormRefused as refusal:
        return _start(request, sender.person, sender.form.refused(refusal), status=refusal.status)
    answer = await _imported(request, sender, {"bundle": bundle, "dry_run": True})
    if answer.is_refused:
        return _refused(request, sender, answer)
    return account_page(
        request,
        "own_agents/import-confirm.html",
        sender.person,
        sender.form,
        preview=answer.document,
        bundle=bundle,
        card=text_of(bundle["card"]),
        default_roles=settings.agent_rbac_default_roles,
        currency=settings.settlement_currency,
    )


@router.post("/account/agents/import")
async def import_bundle(sender: ProvedAct, request: Request, settings: Config) -> Response:
    """Create the agent of the bundle and show its credentials."""
    try:
        bundle = _bundle_in(sender.form)
    except FormRefused as refusal:
        return _start(request, sender.person, sender.form.refused(refusal), status=refusal.status)
    answer = await _imported(request, sender, {"bundle": bundle})
    if answer.is_refused:
        return _refused(request, sender, answer)
    made = answer.document
    variables = {
        "HANSA_REGISTRY": settings.base_url,
        "HANSA_AGENT_DID": made["agent_did"],
        "HANSA_CLIENT_ID": made["client_id"],
        "HANSA_CLIENT_SECRET": made["client_secret"],
    }
    return account_page(
        request,
        "own_agents/imported.html",
        sender.person,
        made=made,
        base=path_of(made["agent_did"]),
        environment=environment_file(variables),
        private_key=text_file(made["private_key_pem"].rstrip("\n")),
    )


async def _imported(request: Request, sender: Acting, body: dict[str, Any]) -> ApiAnswer:
    return await act_as_person(request, sender, "POST", "/agents/import", body)


def _refused(request: Request, sender: Acting, answer: ApiAnswer) -> HTMLResponse:
    # The form has one field for the whole bundle; the message names the wrong member.
    sentence, member = str(answer.document["detail"]), answer.document["error"]["field"]
    if member and member not in sentence:
        sentence = f"{sentence} ({member})"
    refused = SentForm(sender.form.fields, {"bundle": sentence}, sentence)
    return _start(request, sender.person, refused, status=answer.status)


def _start(
    request: Request, person: SignedIn, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    return account_page(request, "own_agents/import.html", person, form, status=status)


def _bundle_in(form: SentForm) -> dict[str, Any]:
    """Raises: FormRefused."""
    try:
        bundle = parse_json(form.value("bundle").encode())
    except BodyInvalid:
        bundle = None
    if not isinstance(bundle, dict):
        raise FormRefused({"bundle": "The bundle is the whole content of an exported file, which is JSON."})
    return bundle
