"""Runs of an operation of the API on its page: as the person who is logged in, as an own agent, or without a credential.

- A run is a call of the API in this process: an agent by an act token (decision 0090), a person without areas of the administration. The route
  judges permissions, policies and limits as for every client, and the request log has it.
- No operation of the administration runs here, and none whose request holds a password or a code (`OperationDetails.is_runnable`).
- A run that may change something states that first, needs the password of the last ten minutes, and is carried out once for each form: by the
  Idempotency-Key of the operation, or else by a record of the form.
- The answer stands on the page that answers the form, which no cache keeps; it is neither stored nor logged here.
"""

from http import HTTPStatus
from urllib.parse import quote, unquote, urlencode

import msgspec
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from hansa.doors.console.access import (
    Act,
    Acting,
    FormRefused,
    SentForm,
    SignedIn,
    SignedInPerson,
    form_page,
    require_proof,
)
from hansa.doors.console.access.forms import KEY_FIELD
from hansa.doors.console.api_reference import Member, OperationDetails
from hansa.doors.console.code_samples import SEPARATORS
from hansa.doors.console.own_agents.acting import bearer_of
from hansa.doors.console.own_agents.pages import ACTS, READS, own_agent
from hansa.doors.console.reference_pages import OperationUnknown, operation_of
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.plumbing.web.idempotency import Repeatable, recall, remember
from hansa.foundation.plumbing.web.in_process import InnerAnswer, InnerCall, call_within
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.errors import Conflict
from hansa.rooms import agents

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PERSON = "person"
AGENTS_OFFERED = 100
ANSWER_MAX_CHARACTERS = 100_000
OWN_DID = frozenset({"did", "agent_did"})
"""Parameters that the form fills in with an own agent."""
SENT_HEADERS = frozenset({"If-Match", "Prefer", "X-Spend-Approval"})
"""Header parameters with a field; the others hold secrets, or the form decides them."""
SHOWN_HEADERS = (
    *("content-type", "etag", "location", "retry-after", "idempotent-replayed", "x-request-id"),
    *("deprecation", "warning"),
)
OF_MONEY = frozenset(
    {"transfers", "bridge", "payments", "staking", "contracts", "disputes", "reputation", "x402"}
)
ENDING = (
    *("end_", "revoke_", "delete_", "rotate_", "replace_", "disable_", "unbind_", "deny_", "cancel_"),
    *("release_", "mark_contract_failed", "put_", "change_"),
)


class RunRepeated(Conflict):
    """The form was sent before; its request was made then, and is not repeated."""

    code = "RUN_REPEATED"
    sentence = "This form was sent before, and its request was made then; nothing was repeated."
    remedy = "Read the outcome with another operation, or open the page again for a new request."


class Stated(msgspec.Struct, frozen=True):
    """Statement of a run before it is made: its possible effect, the runner, and the request."""

    effect: str
    runner: str
    call: InnerCall

    @property
    def target(self) -> str:
        """Path and query of the request."""
        query = f"?{urlencode(self.call.query)}" if self.call.query else ""
        return unquote(self.call.path + query)


class Ran(msgspec.Struct, frozen=True):
    """Answer of a run as the page shows it."""

    status: int
    headers: list[tuple[str, str]]
    text: str
    is_whole: bool

    @classmethod
    def of(cls, answer: InnerAnswer) -> "Ran":
        """The answer with the headers that a reader needs."""
        content = answer.content
        text = "" if content is None else msgspec.json.format(msgspec.json.encode(content)).decode()
        headers = [(name, answer.headers[name]) for name in SHOWN_HEADERS if name in answer.headers]
        return cls(answer.status, headers, text[:ANSWER_MAX_CHARACTERS], len(text) <= ANSWER_MAX_CHARACTERS)

    @property
    def is_refusal(self) -> bool:
        """The request was refused."""
        return self.status >= HTTPStatus.BAD_REQUEST


@router.get("/docs/operations/{name}/run", dependencies=READS)
async def show_run(
    person: SignedInPerson, request: Request, db: Db, settings: Config, name: str
) -> HTMLResponse:
    """The page of an operation with a form that runs it. Raises: OperationUnknown."""
    return await _page(request, db, person, await _runnable(request, settings, name))


@router.post("/docs/operations/{name}/run", dependencies=ACTS)
async def run_operation(sender: Act, request: Request, db: Db, settings: Config, name: str) -> Response:
    """Run the operation, or state first what it may change.

    Raises: OperationUnknown, RunRepeated, AgentUnknown, AgentSuspended, AgentRevoked, Diverted.
    """
    person, form = sender.person, sender.form
    shown = await _runnable(request, settings, name)
    found, _ = shown
    try:
        call = _call_of(found, form)
        runner = await _runner(db, person, found, form)
    except FormRefused as refusal:
        return await _page(request, db, person, shown, form.refused(refusal), status=refusal.status)
    if found.operation.method != "GET":
        if form.value("confirmed") != "true":
            stated = Stated(_effect(found), runner, call)
            return await _page(request, db, person, shown, form, stated=stated)
        require_proof(request, sender)
    call, caller = await _as_chosen(request, sender, found, call)
    if found.operation.method != "GET" and call.key is None:
        await db.transaction(lambda tx: _send_once(tx, sender, request.url.path))
    answer = await call_within(request, call, caller)
    return await _page(request, db, person, shown, form, ran=Ran.of(answer))


async def _runnable(request: Request, settings: Settings, name: str) -> tuple[OperationDetails, Markup]:
    """The operation and the contents beside it. Raises: OperationUnknown."""
    found, contents = await operation_of(request.app, name, settings.base_url)
    if not found.is_runnable:
        raise OperationUnknown
    return found, contents


def _call_of(found: OperationDetails, form: SentForm) -> InnerCall:
    """The request of the form. Raises: FormRefused."""
    path, query, headers = found.operation.path, {}, {}
    errors: dict[str, str] = {}
    for parameter in fields_of(found):
        name = f"{parameter.place}:{parameter.name}"
        value = form.value(name).strip()
        if not value and not parameter.is_required:
            continue
        if (wrong := _fault(parameter, value)) is not None:
            errors[name] = wrong
        elif parameter.place == "path":
            path = path.replace(f"{{{parameter.name}}}", quote(value, safe=SEPARATORS))
        elif parameter.place == "query":
            query[parameter.name] = value
        else:
            headers[parameter.name.lower()] = value
    if errors:
        raise FormRefused(errors)
    body = form.value("body").strip()
    has_key = any(parameter.name == "Idempotency-Key" for parameter in found.parameters)
    return InnerCall(
        found.operation.method,
        path,
        query,
        body=msgspec.Raw(body.encode()) if found.request and body else None,
        key=form.value(KEY_FIELD) if has_key else None,
        headers=headers,
        is_noted=True,
    )


def fields_of(found: OperationDetails) -> list[Member]:
    """The parameters that a form has a field for."""
    return [one for one in found.parameters if one.place in {"path", "query"} or one.name in SENT_HEADERS]


def _fault(parameter: Member, value: str) -> str | None:
    if not value:
        return "This field is required."
    if not value.isprintable():
        return "Control characters are not accepted."
    if parameter.place == "header" and not value.isascii():
        return "A header takes ASCII characters."
    if parameter.place == "path" and (
        value in {".", ".."} or ("/" in value and "/" not in parameter.example)
    ):
        return "A slash is not accepted here."
    return None


async def _runner(db: Database, person: SignedIn, found: OperationDetails, form: SentForm) -> str:
    """The name of the runner of the form. Raises: FormRefused, AgentUnknown."""
    chosen = form.value("as")
    if not found.schemes:
        return "without a credential"
    if chosen == PERSON and "DeveloperToken" in found.schemes:
        return "as yourself"
    if not chosen or chosen == PERSON or "AgentToken" not in found.schemes:
        raise FormRefused({"as": "Choose who runs the operation."})
    return f"as {(await own_agent(db, person, chosen)).name}"


async def _as_chosen(
    request: Request, sender: Acting, found: OperationDetails, call: InnerCall
) -> tuple[InnerCall, Developer | None]:
    """The call with the credential of the chosen agent, or with the person as its caller. Raises: AgentUnknown, AgentSuspended, AgentRevoked."""
    chosen = sender.form.value("as")
    if not found.schemes:
        return call, None
    if chosen == PERSON:
        person = sender.person.developer
        return call, msgspec.structs.replace(person, areas=frozenset(), is_admin=False)
    headers = {**call.headers, "authorization": await bearer_of(request, sender.person, chosen)}
    return msgspec.structs.replace(call, headers=headers), None


async def _send_once(tx: Tx, sender: Acting, path: str) -> None:
    """Note that the form is sent. Raises: RunRepeated, KeyInProgress."""
    sent = Repeatable(f"run:{sender.person.developer.id}", path, sender.key, None)
    if await recall(tx, sent) is not None:
        raise RunRepeated
    await remember(tx, sent, "sent")


def _effect(found: OperationDetails) -> str:
    if found.operation.method == "DELETE" or found.operation.name.startswith(ENDING):
        return "This ends or replaces something, and cannot be undone."
    if found.tag in OF_MONEY:
        return "This may move units, or hold them."
    return "This may change data of this registry."


async def _page(
    request: Request,
    db: Database,
    person: SignedIn,
    shown: tuple[OperationDetails, Markup],
    form: SentForm | None = None,
    *,
    status: int = 200,
    stated: Stated | None = None,
    ran: Ran | None = None,
) -> HTMLResponse:
    found, contents = shown
    own, _ = await db.read(
        lambda tx: agents.page_of_developer(tx, person.developer.id, limit=AGENTS_OFFERED, offset=0)
    )
    active = [agent for agent in own if agent.status == "active"]
    runners = [(agent.did, agent.name) for agent in active] if "AgentToken" in found.schemes else []
    if "DeveloperToken" in found.schemes:
        runners.append((PERSON, "Yourself"))
    parameters = [
        (one, active[0].did if one.name in OWN_DID and active else one.example) for one in fields_of(found)
    ]
    return form_page(
        request,
        "operation-run.html",
        form,
        status=status,
        person=person,
        found=found,
        contents=contents,
        parameters=parameters,
        runners=runners,
        stated=stated,
        ran=ran,
    )
