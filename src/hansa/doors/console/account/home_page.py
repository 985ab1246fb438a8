"""Home of a person: balances with their course, what waits for the person, and the newest movements of units."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SignedIn, SignedInPerson, account_page
from hansa.doors.console.event_lines import EventLine, summary_of
from hansa.doors.console.event_sentences import ENTRIES_OF_THE_LEDGER, Piece, sentence_of_movement
from hansa.doors.console.plots import Plot
from hansa.doors.console.rendering import grouped
from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.page_facts import Facts, read_facts
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import (
    agents,
    catalogue,
    commerce,
    journal,
    ledger,
    notifications,
    organizations,
    people,
    treasury,
)

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

AGENTS_SHOWN = 100
MOVEMENTS_SHOWN = 10
DAYS_OF_LINE, DAYS_OF_WEEK = 30, 7
# The first steps are shown until they are done, and no longer than this.
DAYS_OF_FIRST_STEPS = 30
OF_PERSON = {
    "approvals": agents.APPROVALS_WAITING,
    "requests": organizations.REQUESTS_WAITING,
    "work": treasury.WORK_WAITING,
    "dead_webhooks": notifications.DEAD_WEBHOOKS,
    "terms": people.TERMS_ACCEPTED,
    "registered_at": people.REGISTERED_AT,
}
OF_AGENTS = {
    "name": catalogue.NAME_ON_CARD,
    "liveness": catalogue.LIVENESS,
    "has_answered": catalogue.HAS_ANSWERED,
    "is_host_verified": catalogue.IS_HOST_VERIFIED,
    "reviews": commerce.REVIEWS_WAITING,
    "answers": commerce.ANSWERS_WAITING,
}


class OwnAgent(msgspec.Struct, frozen=True):
    """An agent as the home lists it: its current name, its balance, and the facts of `OF_AGENTS`."""

    did: str
    name: str
    status: str
    last_active_at: datetime | None
    liquid: Minor
    facts: Facts


class Waiting(msgspec.Struct, frozen=True):
    """Act that waits for the person: a sentence, the page of the act, and the agent or treasury with its page that it is about."""

    sentence: str
    address: str
    act: str
    did: str | None = None
    name: str = ""
    page: str = ""


class Moved(msgspec.Struct, frozen=True):
    """A transaction in a sentence, with its net effect on the balance of all agents."""

    tx_id: int
    sentence: list[Piece]
    net: Minor
    recorded_at: datetime


class Home(msgspec.Struct, frozen=True):
    """Everything that the page shows; `portfolio` is None for a person without agents."""

    person: Facts
    agents: Sequence[OwnAgent]
    total_agents: int
    portfolio: ledger.Portfolio | None
    movements: Sequence[Moved]
    now: datetime

    @property
    def waiting(self) -> list[Waiting]:
        """Everything that waits for the person, decisions about money first."""
        return list(self._waiting())

    @property
    def steps(self) -> list[tuple[str, str, bool]]:
        """First steps of a new person: words, address, whether it is done; empty when all are, and later."""
        first = f"/account/agents/{self.agents[0].did}" if self.agents else "/account/agents/new"
        steps = [
            ("Create an agent", "/account/agents/new", bool(self.agents)),
            ("Let it answer", first, any(one.facts["has_answered"] for one in self.agents)),
            (
                "Verify its host",
                f"{first}/card" if self.agents else first,
                any(one.facts["is_host_verified"] for one in self.agents),
            ),
            ("Make or receive a first payment", "/account/wallets", self._has_payments),
        ]
        is_new = self.now - self.person["registered_at"] < timedelta(days=DAYS_OF_FIRST_STEPS)
        is_shown = (is_new or not self.agents) and not all(is_done for _, _, is_done in steps)
        return steps if is_shown else []

    def plot(self, currency: str) -> Plot | None:
        """The total balance of the last days; None before the first movement."""
        return None if self.portfolio is None else portfolio_plot(self.portfolio, currency)

    @property
    def _has_payments(self) -> bool:
        return self.portfolio is not None and self.portfolio.has_payments

    def _waiting(self) -> Iterator[Waiting]:
        if approvals := self.person["approvals"]:
            sentence = _counted(approvals, "payment needs your approval", "payments need your approval")
            yield Waiting(sentence, "/account/approvals", "Decide")
        if requests := self.person["requests"]:
            sentence = _counted(
                requests, "request of an organization needs you", "requests of organizations need you"
            )
            yield Waiting(sentence, "/account/approvals", "Decide")
        for agent in self.agents:
            page, facts = f"/account/agents/{agent.did}", agent.facts
            yield from agreements_waiting(page, agent.did, agent.name, facts["reviews"], facts["answers"])
        for work in treasury.work_waiting_in(self.person["work"]):
            yield from work_of_organization(work)
        if webhooks := self.person["dead_webhooks"]:
            sentence = _counted(webhooks, "webhook stopped after failures", "webhooks stopped after failures")
            yield Waiting(sentence, "/account/webhooks", "Check")
        for agent in self.agents:
            if agent.status == "active" and agent.facts["liveness"] == "unreachable":
                page = f"/account/agents/{agent.did}"
                yield Waiting("No response to health checks", page, "Check", agent.did, agent.name, page)


@router.get("/account")
async def show_home(person: SignedInPerson, request: Request, db: Db, settings: Config) -> HTMLResponse:
    """Balances, their course, and the decisions that wait for the person who is logged in."""
    home = await db.read(lambda tx: _read(tx, person, settings))
    currency = settings.settlement_currency
    return account_page(
        request,
        "account.html",
        person,
        home=home,
        currency=currency,
        plot=home.plot(currency),
        week=home.portfolio.moved(DAYS_OF_WEEK) if home.portfolio else None,
        week_since=home.portfolio.cut_within(DAYS_OF_WEEK) if home.portfolio else None,
        must_accept_terms=people.must_accept_terms(home.person["terms"], settings),
    )


def work_of_organization(work: treasury.WaitingWork) -> Iterator[Waiting]:
    """Contracts to review and disputes to answer of a treasury, or of an agent of an organization."""
    page = f"/account/organizations/{work.slug}" if work.is_treasury else f"/account/agents/{work.did}"
    name = f"Treasury of {work.organization}" if work.is_treasury else work.name or work.did
    return agreements_waiting(page, work.did, name, work.reviews, work.answers)


def agreements_waiting(page: str, did: str, name: str, reviews: int, answers: int) -> Iterator[Waiting]:
    """Contracts to review and disputes to answer of the account with this page."""
    if reviews:
        sentence = _counted(reviews, "contract to review", "contracts to review")
        yield Waiting(sentence, f"{page}/contracts", "Review", did, name, page)
    if answers:
        sentence = _counted(answers, "dispute to answer", "disputes to answer")
        yield Waiting(sentence, f"{page}/disputes", "Answer", did, name, page)


def portfolio_plot(portfolio: ledger.Portfolio, currency: str) -> Plot | None:
    """The total balance of the last days; None before the first movement."""
    if not portfolio.newest:
        return None
    line = portfolio.line(DAYS_OF_LINE)
    is_whole = len(line) > DAYS_OF_LINE
    return Plot(
        f"Total balance, {DAYS_OF_LINE} days" if is_whole else f"Total balance since {line[0][0]:%Y-%m-%d}",
        [(f"{moment:%Y-%m-%d}", total) for moment, total in line],
        [f"{grouped(format_amount(total))} {currency}" for _, total in line],
        [moment.timestamp() for moment, _ in line],
    )


async def movements_of(
    tx: Tx, settings: Settings, portfolio: ledger.Portfolio, dids: Sequence[str]
) -> list[Moved]:
    """The newest movements of these accounts in sentences, in one statement."""
    tx_ids = [one.tx_id for one in portfolio.newest]
    events: Mapping[int, list[StoredEvent]] = {}
    if tx_ids:
        events = await journal.public_events_of_transactions(tx, settings.ledger_id, tx_ids)
    return [
        Moved(one.tx_id, _sentence(events.get(one.tx_id, []), dids), one.net, one.recorded_at)
        for one in portfolio.newest
    ]


async def _read(tx: Tx, person: SignedIn, settings: Settings) -> Home:
    developer_id = person.developer.id
    owned, total = await agents.oldest_of_developer(tx, developer_id, AGENTS_SHOWN)
    dids = [agent.did for agent in owned]
    of_person, of_agents = await read_facts(tx, developer_id, OF_PERSON, dids, OF_AGENTS)
    if not owned:
        return Home(of_person, [], 0, None, [], person.now)
    portfolio = await ledger.read_portfolio(tx, dids, days=DAYS_OF_LINE, newest=MOVEMENTS_SHOWN)
    return Home(
        of_person,
        [
            OwnAgent(
                agent.did,
                of_agents[agent.did]["name"] or agent.name,
                agent.status,
                agent.last_active_at,
                portfolio.balances[agent.did].liquid,
                of_agents[agent.did],
            )
            for agent in owned
        ],
        total,
        portfolio,
        await movements_of(tx, settings, portfolio, dids),
        person.now,
    )


def _sentence(events: Sequence[StoredEvent], own: Sequence[str]) -> list[Piece]:
    line = summary_of([EventLine.of(event) for event in events])
    if line is None:
        return [Piece("text", "Accounts changed")]
    if line.event_type in ENTRIES_OF_THE_LEDGER:
        return sentence_of_movement(events[0].data, own) or line.sentence
    return line.sentence


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
