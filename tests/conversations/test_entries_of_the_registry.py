"""The registry adds refused tokens, failed pulls, checks and payments, and approvals asked to the logs of agents."""

import itertools

import pytest

from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.journal.store import COLUMNS, stored
from hansa.rooms.operations.logs import NOTES, REGISTRY_ENTRIES, Note, noting, write_notes
from hansa.rooms.operations.logs.noting import RegistryNotes
from tests.logs_of_agents import entries_of_registry
from tests.paying import Payments
from tests.rooms.catalogue.pulls.agent_host import (
    check_health,
    hosted_agent,
    hosting,
    let_be_due,
    pull_cards,
    registry_that_pulls,
    said,
)

UNKNOWN_TOKEN = "apt_" + "0" * 64


@pytest.fixture
def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def payments(registry):
    return await Payments.between_two(registry)


async def log_in(agent, **members):
    own = {"client_id": agent.created["client_id"], "client_secret": agent.created["client_secret"]}
    body = {"grant_type": "client_credentials", **own, **members}
    elsewhere = agent.registry.elsewhere()
    return await agent.registry.post("/auth/agent/token", data=body, headers=elsewhere)


async def test_a_refused_login_of_the_agent(registry):
    agent = await registry.agent()
    assert (await log_in(agent, client_secret="hsk_" + "0" * 64)).status_code == 401
    assert (await log_in(agent, client_id="agent-of-nobody")).status_code == 401
    (entry,) = await entries_of_registry(agent)
    assert (entry["level"], entry["message"]) == ("WARN", "A login or a token of the agent was refused.")
    assert entry["log_metadata"] == {
        "reason": "The client id or the client secret is wrong.",
        "code": "AUTH_FAILED",
    }
    assert "hsk_" not in str(entry)


async def test_a_refused_agent_token_whose_secret_was_replaced(registry):
    owner = await registry.developer()
    agent = await owner.agent()
    path = f"/agents/{agent.did}/rotate-secret"
    assert (await registry.post(path, headers=owner.headers)).is_success
    assert (await registry.get("/teg/balance", headers=agent.headers)).status_code == 401
    await write_notes(registry.runtime)
    answer = await registry.get(f"/agents/{agent.did}/logs", headers=owner.headers)
    (entry,) = answer.json()["logs"]
    assert (entry["level"], entry["source"]) == ("WARN", "registry")


async def test_a_token_that_only_names_an_agent_writes_nothing(registry):
    agent = await registry.agent()
    forged = agent.token[:-8] + "AAAAAAAA"
    headers = {"Authorization": f"Bearer {forged}"}
    assert (await registry.get("/teg/balance", headers=headers)).status_code == 401
    assert await entries_of_registry(agent) == []


async def test_a_payment_token_that_the_payee_presents_and_that_is_refused(payments):
    made = await payments.authorized()
    other = await payments.registry.agent()
    assert not (await payments.verify(UNKNOWN_TOKEN, target_agent_did=payments.service.did))["valid"]
    assert not (await payments.verify(made["token"], target_agent_did=other.did))["valid"]
    await payments.release(made["token"])
    assert not (await payments.verify(made["token"]))["valid"]
    reasons = [one["log_metadata"] for one in await entries_of_registry(payments.service)]
    assert sorted(reasons, key=str) == sorted(
        [
            {"reason": "Token not found"},
            {"reason": "Token status: released", "token_id": made["token_id"]},
        ],
        key=str,
    )
    (entry,) = await entries_of_registry(other)
    assert entry["log_metadata"] == {"reason": "Token not issued for this agent"}
    assert "apt_" not in str(reasons)


async def test_a_settle_request_that_is_refused_alone_and_among_many(payments):
    made = await payments.authorized()
    refused = await payments.settle(made["token"], by=payments.service)
    assert refused.status_code == 403
    many = await payments.post("settle-many", payments.service, {"tokens": [{"token": UNKNOWN_TOKEN}]})
    assert many.status_code == 200, many.text
    entries = await entries_of_registry(payments.service)
    assert {one["message"] for one in entries} == {"A payment token was refused."}
    assert len({one["log_metadata"]["reason"] for one in entries}) == 2


async def test_equal_refusals_are_one_entry_with_their_number(registry, payments):
    for _ in range(50):
        await payments.verify(UNKNOWN_TOKEN, target_agent_did=payments.service.did)
    (entry,) = await entries_of_registry(payments.service)
    assert entry["log_metadata"] == {"reason": "Token not found", "times": 50}
    body = {"entries": [{"level": "INFO", "message": "x"}] * 100}
    for _ in range(6):
        path = f"/agents/{payments.service.did}/logs"
        assert (await registry.post(path, json=body, headers=payments.service.headers)).status_code == 201


def test_refusals_that_go_on_are_written_after_growing_pauses():
    notes, note, written = RegistryNotes(), Note("WARN", "Refused.", "No."), []
    for second in range(3 * 3600):
        notes.note("did:web:a", note)
        if notes.take(float(second)):
            written.append(second)
    pauses = [later - earlier for earlier, later in itertools.pairwise(written)]
    assert pauses == [60, 120, 240, 480, 960, 1920, 3600]
    assert notes.take(8 * 3600.0)
    assert notes.take(16 * 3600.0) == notes.take(24 * 3600.0) == {}
    notes.note("did:web:a", note)
    assert notes.take(24 * 3600.0)


def test_a_process_keeps_a_limited_number_of_notes():
    notes = RegistryNotes()
    for number in range(2 * noting.NOTES_AT_ONCE):
        notes.note(f"did:web:{number}", Note("WARN", "Refused.", "No."))
    notes.note("did:web:" + "x" * 600, Note("WARN", "Refused.", "No."))
    first = notes.take(0.0)
    assert len(first) == noting.AGENTS_AT_ONCE
    assert len(notes.take(None)) == noting.NOTES_AT_ONCE - noting.AGENTS_AT_ONCE


async def test_notes_of_unknown_agents_take_no_place_from_others(registry):
    agent = await registry.agent()
    notes = NOTES.of(registry.runtime)
    for number in range(noting.NOTES_AT_ONCE):
        notes.note(f"did:web:nobody.example:{number}", Note("WARN", "Refused.", "No."))
    await write_notes(registry.runtime)
    notes.note(agent.did, Note("WARN", "Refused.", "No."))
    assert len(await entries_of_registry(agent)) == 1


async def test_an_act_is_not_hindered_where_no_entry_can_be_written(registry, payments, monkeypatch):
    async def unavailable(self, work, **_):
        raise Unavailable

    await payments.verify(UNKNOWN_TOKEN, target_agent_did=payments.service.did)
    with monkeypatch.context() as broken:
        broken.setattr(Database, "transaction", unavailable)
        with pytest.raises(Unavailable):
            await write_notes(registry.runtime)
        assert not (await payments.verify(UNKNOWN_TOKEN, target_agent_did=payments.service.did))["valid"]


async def test_a_failed_payment_is_an_entry_of_both_parties(registry, payments):
    made = await payments.authorized("50", reserve=False)
    await payments.caller.transfer(await registry.agent(), "80")
    assert (await payments.settle(made["token"], wait=10)).json()["status"] == "failed"
    rows = await registry.database.read(
        lambda tx: tx.fetch(
            f"SELECT {COLUMNS} FROM journal_event WHERE event_type = 'A2APaymentFailed' AND aggregate_id = $1",
            payments.caller.did,
        )
    )
    (event,) = stored(rows)
    await registry.database.transaction(lambda tx: REGISTRY_ENTRIES.react(tx, event))
    for party in (payments.caller, payments.service):
        (entry,) = await entries_of_registry(party)
        assert (entry["level"], entry["message"]) == ("ERROR", "A payment failed; nothing was moved.")
        assert entry["log_metadata"]["token_id"] == made["token_id"]


async def test_failed_pulls_and_health_checks_are_entries_and_checks_are_uptime(start_registry):
    async with hosting() as host:
        registry = await registry_that_pulls(start_registry, host)
        host.serve()
        agent = await hosted_agent(registry, host.url)
        await pull_cards(registry)
        await let_be_due(registry)
        host.raw = said(b"Nothing here", status=500)
        assert await pull_cards(registry) + await check_health(registry) == 2
        await write_notes(registry.runtime)
        answer = await registry.get(f"/agents/{agent.did}/logs?source=registry", headers=agent.headers)
        found = {one["message"]: one["log_metadata"]["reason"] for one in answer.json()["logs"]}
        assert found == {
            "The card could not be read at the agent's host.": "The host answered 500.",
            "The agent did not answer a health check.": "The answer (500) is not JSON.",
        }
