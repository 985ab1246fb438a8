"""Agents that a process keeps after it read them, and the acts that raise their version."""

import re
import time
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import fields, replace

from hansa.foundation.plumbing.keys.tokens import Claims
from hansa.foundation.plumbing.storage.sql_files import read_sql_files
from hansa.rooms.agents import rules
from hansa.rooms.agents.check import ReadAgents
from hansa.rooms.agents.store import Bearer
from tests.registry import TestRegistry

DID = "did:hansa:hansa.local:7d3c3f6e-0000-4000-8000-000000000001"
NOW = datetime.now(UTC)
BEARER = Bearer(DID, 1, "client-1", "Reader", "active", ["client"], False, NOW, None, 1, 7, None, NOW)
CLAIMS = Claims(DID, int(NOW.timestamp()) + 60, rules.session_of("client-1", 1))
# What the check of a token says nothing about, or what is not kept of it.
UNJUDGED = {"did", "name", "created_at", "last_active_at", "read_at", "version"}


def test_an_agent_is_known_by_a_token_of_its_secret_until_the_token_ends():
    agents = ReadAgents()
    agents.keep(DID, BEARER)
    known = agents.of(CLAIMS)
    assert known is not None
    assert (known.did, known.roles, known.version) == (DID, ("client",), 7)
    assert agents.of(replace(CLAIMS, subject="did:hansa:other")) is None
    assert agents.of(replace(CLAIMS, session=rules.session_of("client-1", 2))) is None
    assert agents.of(replace(CLAIMS, actor="somebody")) is None


def test_a_token_ends_by_the_clock_of_the_database():
    agents = ReadAgents()
    agents.keep(DID, replace(BEARER, read_at=NOW + timedelta(seconds=59)))
    assert agents.of(CLAIMS) is not None
    agents.keep(DID, replace(BEARER, read_at=NOW + timedelta(seconds=61)))
    assert agents.of(CLAIMS) is None


def test_a_token_ends_as_time_passes(monkeypatch: pytest.MonkeyPatch):
    agents = ReadAgents()
    agents.keep(DID, BEARER)
    later = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert agents.of(CLAIMS) is None


@pytest.mark.parametrize(
    "now", [None, replace(BEARER, status="suspended"), replace(BEARER, is_governed=True)]
)
def test_what_is_read_of_an_agent_replaces_what_was_read_before(now: Bearer | None):
    agents = ReadAgents()
    agents.keep(DID, BEARER)
    agents.keep(DID, now)
    assert DID not in agents


def test_the_agents_that_were_read_first_are_forgotten_first():
    agents = ReadAgents(most=2)
    for number in (1, 2, 1, 3):
        agents.keep(f"did:hansa:{number}", replace(BEARER, did=f"did:hansa:{number}"))
    assert [f"did:hansa:{number}" in agents for number in (1, 2, 3)] == [True, False, True]


def test_the_version_rises_with_every_column_that_the_check_of_a_token_judges():
    [trigger] = [file.content for file in read_sql_files() if "TRIGGER agents_agent_version" in file.content]
    [columns] = re.findall(r"BEFORE UPDATE OF ([\w, ]+) ON agents_agent", trigger)
    assert set(columns.split(", ")) == {field.name for field in fields(Bearer)} - UNJUDGED
    for column in columns.split(", "):
        assert trigger.count(f"OLD.{column}") == trigger.count(f"NEW.{column}") == 1


@pytest.mark.parametrize(
    ("change", "rises"),
    [
        ("status = 'suspended'", 1),
        ("roles = '{trader}'", 1),
        ("secret_number = secret_number + 1", 1),
        ("is_governed = true", 1),
        ("roles = roles, status = status", 0),
        ("last_active_at = now()", 0),
    ],
)
async def test_the_version_is_noted_where_transactions_compare_it(
    registry: TestRegistry, change: str, rises: int
):
    agent = await registry.agent()
    await registry.database.transaction(
        lambda tx: tx.execute(f"UPDATE agents_agent SET {change} WHERE did = $1", agent.did)
    )
    version, noted = await registry.database.query(
        lambda tx: tx.fetchrow(
            "SELECT a.version, v.version FROM agents_agent a"
            " LEFT JOIN plumbing_caller_version v ON v.caller = a.did WHERE a.did = $1",
            agent.did,
        )
    )
    assert (version, noted or 0) == (rises, rises)
