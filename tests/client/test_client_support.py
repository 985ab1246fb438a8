"""Tickets and reports by the client, and as its user types it."""

from pathlib import Path

import pytest

from hansa_client.errors import Conflict, Invalid, NotFound
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.terminal import Typed, logged_in
from tests.client.test_client_accounts import registered
from tests.registry import PASSWORD, TestRegistry
from tests.support import answered

PATH = "/api/v1/support/tickets"


async def test_a_ticket_is_opened_once_read_and_closed(connect: Open, registry: TestRegistry, faults: Faults):
    developer = await registered(connect)
    faults.next(PATH, "answer lost")
    ticket = await developer.support.open("No units", "Since noon.", category="payment")
    assert len(set(faults.keys(PATH))) == 1
    assert [one.id for one in (await developer.support.list(text="units")).tickets] == [ticket.id]
    staff = await registry.administrator("admin_support")
    assert (await answered(staff, {"id": ticket.id})).status_code == 201
    replied = await developer.support.reply(ticket.id, "Thank you")
    assert [(one.by, one.body) for one in replied.messages] == [
        ("support", "We look at it."),
        ("author", "Thank you"),
    ]
    assert (await developer.support.close(ticket.id)).status == "closed"
    with pytest.raises(Conflict):
        await developer.support.reply(ticket.id, "Again")
    assert (await developer.support.reopen(ticket.id)).status == "open"
    assert (await developer.support.list(status="closed")).tickets == []
    with pytest.raises(NotFound):
        await developer.support.open("Foreign", "x", related=("contract", "99999"))
    with pytest.raises(Invalid):
        await developer.support.open("ab", "x")


async def test_anyone_reports_an_agent(connect: Open, registry: TestRegistry):
    agent = await registry.agent()
    anyone = connect()
    assert (await anyone.support.report(agent.did, "Spam", "It sends spam.")).accepted
    with pytest.raises(NotFound):
        await anyone.support.report("did:hansa:nobody", "Spam", "It sends spam.")


async def test_the_commands_open_show_answer_and_report(
    address: str, registry: TestRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at = Typed(tmp_path)
    await logged_in(at, address)
    opened = await at.json("support", "open", "No units", "Since noon.")
    assert opened["number"] in await at.run("support", "list", "--status", "open")
    assert "It works." in await at.run("support", "reply", opened["id"], "It works.")
    assert "closed" in await at.run("support", "close", opened["id"])
    assert "open" in await at.run("support", "reopen", opened["id"])
    assert "Since noon." in await at.run("support", "show", opened["id"])
    agent = await registry.agent()
    reported = await at.run("support", "report", agent.did, "It sends spam.", "--reason", "Spam")
    assert "accepted" in reported
    await at.run("support", "open", "No units", "x", "--related-id", "5", code=2)
