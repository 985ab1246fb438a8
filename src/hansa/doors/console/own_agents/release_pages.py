"""Versions of the code of an own agent and its deployments: register, activate, deploy after a preview, roll back, export.

A page with a deployment under way is read again by itself where its reader asks for it: by the header `Refresh`, without a script.
"""

import json
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, Acting, FormRefused, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.api_acts import ApiAnswer, act_as_person
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.errors import Refused
from hansa.rooms import agents, operations

from .pages import ACTS, READS, MyDid, address_of, agent_page, own_agent

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE = "releases"
SHOWN = 50
REFRESH_SECONDS = 3
ARTIFACT_PARTS = 3
DEPLOYMENT_FIELDS = ("version_id", "url", "note")


@router.get("/account/agents/{did}/releases", dependencies=READS)
async def show_releases(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, *, live: bool = False
) -> HTMLResponse:
    """The newest versions of the code and deployments. With `live` the page is read again until no deployment is under way."""
    return await _page(request, person, did, db, live=live)


@router.post("/account/agents/{did}/releases/register", dependencies=ACTS)
async def register(did: MyDid, sender: Act, request: Request, db: Db) -> Response:
    """Register a version as a draft."""
    try:
        body = _version_in(sender.form)
    except FormRefused as refusal:
        refused = sender.form.refused(refusal)
        return await _page(request, sender.person, did, db, refused, status=refusal.status)
    answer = await act_as_person(request, sender, "POST", f"/agents/{did}/versions", body)
    if answer.is_refused:
        refused = answer.on(sender.form, uri="artifacts", sha256="artifacts")
        return await _page(request, sender.person, did, db, refused, status=answer.status)
    return see_other(address_of(did, PAGE, "registered"))


@router.post("/account/agents/{did}/releases/activate", dependencies=ACTS)
async def activate(did: MyDid, sender: Act, request: Request, db: Db) -> Response:
    """Make a version the active one."""
    try:
        path = f"/agents/{did}/versions/{_id_in(sender.form, 'activated')}/activate"
    except FormRefused as refusal:
        refused = sender.form.refused(refusal)
        return await _page(request, sender.person, did, db, refused, status=refusal.status)
    answer = await act_as_person(request, sender, "POST", path)
    return await _ended(request, sender, did, db, answer, done="activated")


@router.post("/account/agents/{did}/releases/check", dependencies=ACTS)
async def check_deployment(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """The move that a deployment would be; nothing is stored and nobody is called."""
    person, form = sender.person, sender.form
    agent = await own_agent(db, person, did)
    try:
        asked = operations.DeploymentRequest(
            _id_in(form, "version_id"), form.value("url").strip() or None, None
        )
        allowed = settings.outgoing_allow_user_hosts
        move = await db.transaction(
            lambda tx: operations.preview_deployment(tx, person.developer, did, asked, allowed)
        )
    except Refused as refusal:
        refused = form.refused(refusal)
        return await _page(request, person, did, db, refused, status=refusal.status)
    return agent_page(
        request,
        "own_agents/deployment-confirm.html",
        person,
        agent,
        form,
        move=move,
        fields_kept=DEPLOYMENT_FIELDS,
    )


@router.post("/account/agents/{did}/releases/deploy", dependencies=ACTS)
async def deploy(did: MyDid, sender: Act, request: Request, db: Db) -> Response:
    """Request a deployment, whose page is read again until it has ended."""
    given = {name: sender.form.value(name).strip() for name in DEPLOYMENT_FIELDS}
    body = {name: value for name, value in given.items() if value}
    answer = await act_as_person(request, sender, "POST", f"/agents/{did}/deployments", body)
    return await _ended(request, sender, did, db, answer, done="requested&live=true")


@router.post("/account/agents/{did}/releases/rollback", dependencies=ACTS)
async def roll_back(did: MyDid, sender: Act, request: Request, db: Db) -> Response:
    """Deploy the one before the active deployment again; the answer is the result of its check."""
    try:
        path = f"/agents/{did}/deployments/{_id_in(sender.form, 'deployment')}/rollback"
    except FormRefused as refusal:
        refused = sender.form.refused(refusal)
        return await _page(request, sender.person, did, db, refused, status=refusal.status)
    answer = await act_as_person(request, sender, "POST", path)
    if not answer.is_refused and answer.document["status"] != "active":
        sentence = f"Nothing was rolled back. {answer.document['detail']}"
        return await _page(request, sender.person, did, db, SentForm([], {}, sentence))
    return await _ended(request, sender, did, db, answer, done="rolled-back")


@router.post("/account/agents/{did}/releases/export", dependencies=ACTS)
async def export(did: MyDid, sender: Act, request: Request, db: Db) -> Response:
    """The signed bundle of the agent as a file."""
    answer = await act_as_person(request, sender, "POST", f"/agents/{did}/export")
    if answer.is_refused:
        # The pointer names a member of the agent, no field of a form.
        refused = SentForm([], {}, f"{answer.document['detail']} {answer.document['error']['field'] or ''}")
        return await _page(request, sender.person, did, db, refused, status=answer.status)
    text = json.dumps(answer.document["bundle"], ensure_ascii=False, indent=2)
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": 'attachment; filename="agent-bundle.json"',
    }
    return Response(text + "\n", media_type="application/json", headers=headers)


async def _ended(
    request: Request, sender: Acting, did: str, db: Database, answer: ApiAnswer, *, done: str
) -> Response:
    if answer.is_refused:
        refused = answer.on(sender.form)
        return await _page(request, sender.person, did, db, refused, status=answer.status)
    return see_other(address_of(did, PAGE, done))


async def _page(
    request: Request,
    person: SignedIn,
    did: str,
    db: Database,
    form: SentForm | None = None,
    *,
    status: int = 200,
    live: bool = False,
) -> HTMLResponse:
    # A reader without the right at the agent gets its refusal.
    agent, releases, deployments = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: operations.releases_of(tx, did, None, SHOWN),
            lambda tx: operations.list_deployments(tx, person.developer, did, None, SHOWN),
        )
    )
    is_under_way = any(one.is_open for one in deployments)
    page = agent_page(
        request,
        "own_agents/releases.html",
        person,
        agent,
        form,
        status=status,
        releases=releases,
        deployments=deployments,
        is_under_way=is_under_way,
        live=live and is_under_way,
        seconds=REFRESH_SECONDS,
    )
    if live and is_under_way:
        page.headers["Refresh"] = str(REFRESH_SECONDS)
    return page


def _id_in(form: SentForm, field: str) -> UUID:
    """Raises: FormRefused."""
    try:
        return UUID(form.value(field))
    except ValueError:
        raise FormRefused({field: "Choose one of the page."}) from None


def _version_in(form: SentForm) -> dict[str, Any]:
    """The version of the form as the API takes it. Raises: FormRefused."""
    artifacts = {}
    for line in form.value("artifacts").splitlines():
        parts = line.split()
        if parts and len(parts) != ARTIFACT_PARTS:
            raise FormRefused({"artifacts": "A line has a name, an https address and a SHA-256 in hex."})
        if parts:
            artifacts[parts[0]] = {"uri": parts[1], "sha256": parts[2]}
    given = {
        "version": form.value("version").strip(),
        "commit_hash": form.value("commit_hash").strip() or None,
        "release_notes": form.value("release_notes").strip() or None,
        "artifacts": artifacts or None,
        "is_stable": form.value("unstable") != "true",
    }
    return {name: value for name, value in given.items() if value is not None}
