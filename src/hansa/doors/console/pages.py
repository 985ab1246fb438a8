"""Web pages of the registry: the front, the first steps, the calls, and the meaning of its refusals.

- A page shows only data that anyone may read over the public API.
- A page works without JavaScript, except for the live lines and the new password.
- No page loads anything from another host.
"""

import asyncio
import inspect
import json
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SentForm
from hansa.doors.console.api_reference import api_document, operations_by_tag
from hansa.doors.console.event_lines import lines_of, sentences_for_script
from hansa.doors.console.event_sentences import ENTRIES_OF_THE_LEDGER
from hansa.doors.console.first_steps import first_steps
from hansa.doors.console.front_rows import agent_rows
from hansa.doors.console.rendering import page
from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import STATUS_TAGS, every_refusal, routes_with
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import format_amount
from hansa.rooms import auditor, catalogue, journal

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

FoundAnswers = Annotated[catalogue.Answers, Depends(catalogue.SEARCH_ANSWERS.given)]
direct_router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=DirectRoute,
    dependencies=[Depends(within_read_limit)],
)
EVENTS_SHOWN = 12

# Content of the page of the design.
COLOURS = (
    ("paper", "Background"),
    ("sheet", "Panel"),
    ("ink", "Text"),
    ("soft", "Secondary text"),
    ("line", "Rule"),
    ("edge", "Edge of a field"),
    ("link", "Link"),
    ("bar", "Header"),
    ("action", "Main action"),
    ("mark", "Current tab"),
    ("good", "Success, done"),
    ("bad", "Error, danger, failed"),
    ("waiting", "Waiting"),
    ("active", "Active"),
    ("frozen", "Frozen"),
    ("code", "Code"),
)
STATE_SAMPLES = {
    "waiting": "pending",
    "active": "active",
    "done": "completed",
    "failed": "revoked",
    "frozen": "suspended",
}
PARTIES = {
    f"did:hansa:hansa.local:{number:08x}-0000-4000-8000-00000000{number:04x}": name
    for number, name in enumerate(
        ("Lingua", "Meteo", "Ledgerline", "Redpen", "Echo", "Precis", "Harbour Clerk", "Night Translator"),
        start=0xA1,
    )
}
ROWS = [
    (did, state, amount)
    for did, state, amount in zip(
        PARTIES, STATE_SAMPLES.values(), ("1234.5", "0.05", "20", "3", "100"), strict=False
    )
]


@direct_router.get("/")
async def show_front(
    _: Public, request: Request, db: Db, settings: Config, answers: FoundAnswers
) -> HTMLResponse:
    """Show an introduction to this registry, rows of its agents, the balance of its supply, and its newest events."""

    async def reading(tx: Tx) -> tuple[auditor.Watch, list[StoredEvent]]:
        return await read_together(
            tx,
            lambda tx: auditor.read_watch(tx, settings.ledger_id),
            lambda tx: journal.newest_public_events(tx, EVENTS_SHOWN, ENTRIES_OF_THE_LEDGER),
        )

    watch, (chain, newest), rows = await asyncio.gather(
        auditor.watch_supply(db), db.query(reading), agent_rows(answers)
    )
    supply = watch.supply
    figures = [
        (member, name, format_amount(amount))
        for member, name, amount in (
            ("tokens_issued", "Issued", supply.terms.issued),
            ("tokens_destroyed", "Destroyed", supply.terms.destroyed),
            ("total_circulating", "Circulating", supply.circulating),
            ("delta", "Delta", supply.delta),
        )
    ]
    answer = page(
        request,
        "front.html",
        watch=watch,
        figures=figures,
        chain=chain,
        rows=rows,
        lines=lines_of(newest),
        sentences=sentences_for_script(ENTRIES_OF_THE_LEDGER),
    )
    return await answer.completed(request)


@router.get("/first-steps")
async def show_first_steps(_: Public, request: Request, settings: Config) -> HTMLResponse:
    """The path to a first payment, as commands."""
    return page(request, "first-steps.html", steps=list(first_steps(settings)))


@router.get("/verify")
async def show_verify(_: Public, request: Request) -> HTMLResponse:
    """Show a page on which the browser verifies the signed documents of a registry."""
    return page(request, "verify.html")


@router.get("/design")
async def show_design(_: Public, request: Request) -> HTMLResponse:
    """Show every component of the pages."""
    form = SentForm(errors={"amount": "Enter an amount greater than 0, such as 1.5."})
    return page(
        request, "design.html", form=form, colours=COLOURS, samples=STATE_SAMPLES, parties=PARTIES, rows=ROWS
    )


@router.get("/set-password")
async def show_set_password(_: Public, request: Request) -> HTMLResponse:
    """Show the page that the link in a mail opens to set a new password. The token stands behind the # and is not sent here."""
    return page(request, "set-password.html")


@router.get("/docs/problems")
async def show_problems(_: Public, request: Request) -> HTMLResponse:
    """Every error code of the registry."""
    return page(
        request, "problems.html", refusals=[Explained.of(kinds) for kinds in every_refusal().values()]
    )


@router.get("/docs/problems/{code}")
async def show_problem(_: Public, request: Request, settings: Config, code: str) -> HTMLResponse:
    """Show the meaning of one error code, the caller's next act, and the routes that return it."""
    kinds = every_refusal().get(code)
    if kinds is None:
        return page(request, "problem-unknown.html", status=404, code=code)
    refusal = Explained.of(kinds)
    document = await api_document(request.app)
    named = {
        f"{one.method} {one.path}": one.address
        for _, _, group in operations_by_tag(document)
        for one in group
    }
    routes = [(route, named[route]) for route in routes_with(document, code)]
    example = json.dumps(refusal.example(settings.base_url), indent=2)
    return page(request, "problem.html", refusal=refusal, routes=routes, example=example)


class Explained(msgspec.Struct, frozen=True):
    """An error code as the page shows it; several classes may carry it, each with a status of its own."""

    code: str
    statuses: list[int]
    sentence: str
    meaning: str
    remedies: list[str]

    @classmethod
    def of(cls, kinds: list[type[Refused]]) -> "Explained":
        """Reads the docstring of the most general class, and the statuses and remedies of all of them."""
        first = kinds[0]
        return cls(
            code=first.code,
            statuses=sorted({kind.status for kind in kinds}),
            sentence=first.sentence,
            meaning=inspect.getdoc(first) or first.sentence,
            remedies=list(dict.fromkeys(kind.remedy for kind in kinds)),
        )

    def example(self, base_url: str) -> dict[str, Any]:
        """A response with this code, in the form that every refusal has."""
        status = self.statuses[0]
        return {
            "type": f"{base_url}/docs/problems/{self.code}",
            "title": HTTPStatus(status).phrase,
            "status": status,
            "detail": self.sentence,
            "instance": "/api/v1/agents/me",
            "error": {
                "detail": self.sentence,
                "type": STATUS_TAGS.get(status, "error"),
                "code": self.code,
                "field": None,
                "context": None,
            },
        }
