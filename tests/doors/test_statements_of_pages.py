"""Pages read in batches: each makes a few statements, however much it shows."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.console_pages import furnish, pages_of
from tests.hostile.well_formed import EVERYTHING_ON, Stage
from tests.registry import StartRegistry, TestRegistry

STATEMENTS_MAX = 6
# Pages that read more than six things in different rooms. A statement reads one room; that of the session and that of the names count.
SUPPLY = 5
"""The supply now: horizon and fold of the log, checkpoint and verdict of the audit, sum of the balances. Readers at one time share it."""
CARD = 5
"""The registry card as it is served: version, peers, verdict of the audit, newest transaction, newest event."""
SUGGESTED = 3
"""Suggestions of a field that names an agent: other own agents, parties of the newest payments, their names."""
MORE = {
    # Supply, the head of the attestations, rows of agents, the newest events in two portions from a settled place, names.
    "GET /": SUPPLY + 6,
    # Supply, head of the attestations, verdicts and payments over time, newest records.
    "GET /supply": SUPPLY + 4,
    # Card, keys, licence, checkpoint with its cosignatures, witnesses, logs of peers and their forks.
    "GET /proofs": CARD + 9,
    # Card, peers, their scores, registries that they know, the time.
    "GET /federation": CARD + 4,
    # Session, organization, request, the owners, those who may approve now and of the rules, names.
    "GET /account/organizations/{organization_id}/treasury/requests/{request_id}": 7,
    # Session, organization, what keeps it from its end: agents with names, balance, requests, work; names.
    "GET /account/organizations/{organization_id}/settings": 8,
    # Supply, its course, queues of mail, webhooks and reactors, dead jobs, disputes and awards.
    "GET /administration": SUPPLY + 11,
    # Own agents with names and balances, the payee; then the price by the API, which reads payee, claim, status and fee for itself.
    "GET /account/call": 10,
    # Agents, balances, bonds with their holds, contracts here and elsewhere, disputes, names: each of another room.
    "GET /account/deletion": 10,
    # Agent with its name, dispute, evidence, keys of the parties and of the registry, names.
    "GET /account/agents/{did}/disputes/{dispute_id:int}": 8,
    # Session, agent with its name, owner, chains, names; the field of the holder.
    "GET /account/agents/{did}/capabilities": SUGGESTED + 6,
    # Session, agent with its name, owner, chain; the field of the holder.
    "GET /account/agents/{did}/capabilities/{capability_id:uuid}/narrow": SUGGESTED + 5,
    # Session, agent with its name, wrapped units, transfers over the bridge; the field of the receiver.
    "GET /account/agents/{did}/wallet/bridge": SUGGESTED + 6,
    # Session, agent with its name, place in the log, its events in two portions, each behind the boundary of the archive, names.
    "GET /account/agents/{did}/history": 9,
    # The proof: leaves and paths in the tree, the attestation, and its place in the log.
    "GET /account/agents/{did}/wallet/proof": 18,
}
# The idle time of a session begins again once a minute, with whatever page is opened then.
BOUNDS = ("BEGIN", "COMMIT", "ROLLBACK", "SET ", "UPDATE PEOPLE_SESSION SET CONTINUED_AT")


@pytest.fixture
async def stage(start_registry: StartRegistry) -> Stage:
    return await furnish(await start_registry(**EVERYTHING_ON))


@asynccontextmanager
async def counted(registry: TestRegistry, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """The statements of all transactions from now on, without those that begin and end one."""
    made: list[str] = []
    database = registry.runtime.database
    connection_of = database._connection

    @asynccontextmanager
    async def logged() -> AsyncIterator[Any]:
        async with connection_of() as connection:
            log = lambda record: made.append(record.query)  # noqa: E731
            connection.add_query_logger(log)
            try:
                yield connection
            finally:
                connection.remove_query_logger(log)

    monkeypatch.setattr(database, "_connection", logged)
    yield made
    monkeypatch.setattr(database, "_connection", connection_of)


async def test_no_page_makes_more_statements_than_it_may(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    numbers: Counter[str] = Counter()
    async for page, browser in pages_of(stage):
        async with counted(stage.registry, monkeypatch) as made:
            answer = await browser.http.get(page.address)
        assert answer.status_code == 200, page
        numbers[page.operation] = sum(not one.lstrip().upper().startswith(BOUNDS) for one in made)
    assert set(MORE) < set(numbers)
    assert len(numbers) > 100
    assert {name: number for name, number in numbers.items() if number > MORE.get(name, STATEMENTS_MAX)} == {}
