"""`hansa-client pay` and `pending`: calls that cost units, from a terminal."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from uuid import uuid4

import pytest

from tests.client.paid import Shop, shop_of
from tests.client.terminal import END_SECONDS, Terminal, logged_in
from tests.doors.served import served
from tests.registry import StartRegistry, TestRegistry

LIMIT = ("--max-amount", "0.10")


@pytest.fixture
async def registry(start_registry: StartRegistry) -> AsyncIterator[TestRegistry]:
    """A registry at its own base address, which is the issuer of its tokens."""
    async with served(start_registry) as registry:
        yield registry


@pytest.fixture
async def shop(registry: TestRegistry, tmp_path: Path) -> AsyncIterator[Shop]:
    """A paid service whose callers settle."""
    async with shop_of(registry, tmp_path, captures=False) as shop:
        yield shop


@pytest.fixture
async def at(terminal: Callable[..., Terminal], registry: TestRegistry) -> Terminal:
    """A user with one agent, which holds 100 units."""
    at = terminal()
    await logged_in(at, registry.settings.base_url)
    await at.run("agent", "create", "--name", "Payer")
    return at


async def killed_while_the_service_works(at: Terminal, shop: Shop, *arguments: str) -> None:
    shop.works.gate.clear()
    process = await at.start("pay", *arguments)
    async with asyncio.timeout(END_SECONDS):
        while not shop.works.executions:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    process.kill()
    await process.wait()
    shop.works.gate.set()


async def test_a_call_to_an_address_is_paid_and_its_answer_printed(at: Terminal, shop: Shop):
    answer, paid = (await at.run("pay", f"{shop.url}/work", "one", *LIMIT)).splitlines()
    assert json.loads(answer) == {"echo": "one", "execution": 1}
    assert paid.startswith(f"Paid 0.05 AVT to {shop.payee.did}: settled, payment ")
    assert await at.run("balance") == "99.94975\n"
    (token,) = await at.json("tokens")
    shown = await at.json("pay", f"{shop.url}/work", "two", *LIMIT, "--payee", shop.payee.did)
    assert shown["status"] == 200
    assert json.loads(shown["body"])["echo"] == "two"
    assert (shown["payment"]["amount"], shown["payment"]["progress"]) == ("0.05", "settled")
    assert shown["payment"]["token_id"] != token["token_id"]
    evidence = await at.json("receipt", shown["payment"]["payment_id"])
    assert (evidence["token_id"], evidence["payee"]) == (shown["payment"]["token_id"], shop.payee.did)
    assert "no delivery receipt" in await at.run("receipt", "order-17", code=1)
    assert "apt_" not in at.said


async def test_an_agent_is_called_by_its_did_with_a_message(at: Terminal, shop: Shop):
    shown = await at.json("pay", shop.payee.did, "Good morning", *LIMIT)
    request = json.loads(json.loads(shown["body"])["echo"])
    assert request["method"] == "SendMessage"
    assert request["params"]["message"]["parts"] == [{"text": "Good morning"}]
    assert shown["payment"]["progress"] == "settled"
    assert await shop.payee.balance() == "100.05"


async def test_a_call_with_a_name_is_paid_once_however_often_it_is_run(at: Terminal, shop: Shop):
    for _ in range(2):
        shown = await at.json("pay", f"{shop.url}/work", "one", *LIMIT, "--call-id", "order-17")
        assert json.loads(shown["body"]) == {"echo": "one", "execution": 1}
    assert await shop.payee.balance() == "100.05"


@pytest.mark.parametrize("target", ["address", "DID"])
async def test_a_command_that_was_killed_is_run_again_and_continues_with_its_payment(
    at: Terminal, shop: Shop, target: str
):
    called = shop.payee.did if target == "DID" else f"{shop.url}/work"
    await killed_while_the_service_works(at, shop, called, "one", *LIMIT)
    (entry,) = await at.json("pending", "list")
    assert (entry["progress"], entry["payee"]) == ("sent", shop.payee.did)
    shown = await at.json("pay", called, "one", *LIMIT)
    assert json.loads(shown["body"])["execution"] == 1
    assert shown["payment"]["payment_id"] == entry["payment_id"]
    assert await at.run("pending", "list") == "No payments are pending.\n"
    assert await shop.payee.balance() == "100.05"


@pytest.mark.parametrize(("verb", "held"), [("settle", "100.05"), ("release", "100")])
async def test_a_pending_payment_is_settled_or_released_by_its_id(
    at: Terminal, shop: Shop, verb: str, held: str
):
    await killed_while_the_service_works(at, shop, f"{shop.url}/work", "one", *LIMIT)
    line = await at.run("pending", "list")
    payment_id = line.split()[0]
    assert line == f"{payment_id}  sent  0.05 AVT  {shop.payee.did}  POST {shop.url}/work\n"
    ended = {"settle": "settled", "release": "released"}[verb]
    assert (await at.run("pending", verb, payment_id)).startswith(f"{ended}  0.05 AVT")
    assert (await at.json("pending", verb, payment_id))["progress"] == ended
    other = {"settle": "release", "release": "settle"}[verb]
    assert f"had ended before: {ended}" in await at.run("pending", other, payment_id, code=1)
    assert await shop.payee.balance() == held


async def test_a_pending_payment_that_the_registry_cannot_end_is_shown_with_the_reason(
    at: Terminal, shop: Shop
):
    await killed_while_the_service_works(at, shop, f"{shop.url}/work", "one", *LIMIT)
    with sqlite3.connect(at.home / ".local" / "share" / "hansa" / "payments.db") as journal:
        journal.execute("UPDATE payment SET created_at = created_at - 3600, token_id = ?", (str(uuid4()),))
    (shown,) = (await at.run("pending", "list")).splitlines()
    payment_id, reason = shown.split()[0], "The registry has no such token."
    assert shown.endswith(f"POST {shop.url}/work  {reason} If nothing was paid, release the payment.")
    assert reason in await at.run("pending", "settle", payment_id, code=1)
    assert (await at.run("pending", "release", payment_id)).startswith("released  0.05 AVT")
    assert await at.run("pending", "list") == "No payments are pending.\n"


async def test_a_payment_of_one_agent_is_not_ended_or_continued_by_another(at: Terminal, shop: Shop):
    await at.run("agent", "create", "--name", "Other")
    await at.run("send", (await at.json("agent", "show", "Other"))["did"], "10")
    await killed_while_the_service_works(at, shop, f"{shop.url}/work", "one", *LIMIT)
    (entry,) = await at.json("pending", "list")
    other = ("--agent", "Other")
    assert await at.run("pending", "list", *other) == "No payments are pending.\n"
    refused = await at.run("pending", "settle", entry["payment_id"], *other, code=1)
    assert "no payment" in refused
    shown = await at.json("pay", f"{shop.url}/work", "one", *LIMIT, *other)
    assert shown["payment"]["payment_id"] != entry["payment_id"]
    assert await at.run("balance", *other) == "9.94975\n"
    assert [one["payment_id"] for one in await at.json("pending", "list")] == [entry["payment_id"]]


async def test_a_call_that_is_not_paid_says_why_in_one_line(at: Terminal, shop: Shop):
    work = f"{shop.url}/work"
    assert "at most 0.01" in await at.run("pay", work, "one", "--max-amount", "0.01", code=1)
    assert "knows no payee did:web:x.example" in await at.run(
        "pay", work, "one", "--max-amount", "1", "--payee", "did:web:x.example", code=1
    )
    refused = await at.run("pay", f"{shop.url}/refuse", "one", *LIMIT, code=1)
    assert "answered with status 422. Nothing was paid." in refused
    assert "http or https address or a DID" in await at.run("pay", "lingua", *LIMIT, code=1)
    assert "give its text" in await at.run("pay", shop.payee.did, *LIMIT, code=1)
    assert "does not answer" in await at.run("pay", "http://127.0.0.1:1/", *LIMIT, code=1)
    rest = {"url": "https://x.example/a2a", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}
    unreached = await shop.registry.agent(name="Rest", supportedInterfaces=[rest])
    assert "names no JSON-RPC address" in await at.run("pay", unreached.did, "one", *LIMIT, code=1)
    assert "Missing option" in await at.run("pay", work, "one", code=2)
    assert "no payment order-17" in await at.run("pending", "settle", "order-17", code=1)
    assert await at.run("balance") == "100\n"
