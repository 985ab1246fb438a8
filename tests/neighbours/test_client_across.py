"""`hansa_client` and its commands work with agents of another registry as with those of its own."""

from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hansa_client import AsyncRegistry
from hansa_client.pay import AsyncPayingClient
from hansa_client.records.contracts import Deliverable, Proposal
from hansa_client.service import PaidService
from tests.client.paid import credentials_of
from tests.client.terminal import Typed, logged_in
from tests.neighbours.crossing_scene import run
from tests.neighbours.paying_scene import quiet_after
from tests.neighbours.reading_peers import read
from tests.neighbours.two_registries import Neighbour, Neighbours
from tests.registry import PASSWORD, TestAgent

PRICE = "0.05"
ADDRESS = "http://service.example"
PRICED = {
    "pricing": {"base_rate": PRICE, "currency": "AVT", "payment_required": True},
    "supportedInterfaces": [
        {"url": f"{ADDRESS}/work", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
}
WORK = Deliverable("0" * 64)


def client_of(home: Neighbour, agent: TestAgent) -> AsyncRegistry:
    """The registry as this agent uses it, over its socket."""
    return AsyncRegistry(home.public_url, agent=credentials_of(agent))


async def test_an_agent_sends_units_to_an_agent_of_another_registry(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    # Units crossed with another peer before, with this one never.
    await run(pair.a, "INSERT INTO transfers_pair (peer) VALUES ('spiffe://far.example/registry/far')")
    async with quiet_after(pair), client_of(pair.a, alice) as registry:
        sent = await registry.transfers.send(bob.did, "10")
        assert (sent.status, sent.receiver_registry) == ("completed", "b.example")
    assert (await alice.balance(), await bob.balance()) == ("90", "109.95")


async def test_two_agents_agree_on_work_and_it_is_paid_across(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    async with quiet_after(pair), client_of(pair.a, alice) as ordering, client_of(pair.b, bob) as working:
        proposed = await ordering.contracts.propose(
            Proposal(
                title="Translate a page",
                amount="10",
                terms="One page.",
                acceptance_criteria="It reads well.",
                provider_did=bob.did,
            )
        )
        accepted = await working.contracts.accept_federated(proposed.id, "a.example")
        assert (accepted.id, accepted.status) == (proposed.id, "ACCEPTED")
        submitted = await working.contracts.submit_federated(proposed.id, "a.example", WORK)
        assert submitted.status == "SUBMITTED"
        approved = await ordering.contracts.approve(proposed.id)
        assert (approved.status, approved.amount_paid) == ("COMPLETED", Decimal(10))
    assert (await alice.balance(), await bob.balance()) == ("90", "109.95")


async def test_a_provider_uses_its_own_registry_for_a_contract_of_another_from_the_command_line(
    pair: Neighbours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at, alice = Typed(tmp_path), await pair.a.registry.agent()
    await logged_in(at, pair.b.public_url)
    worker = (await at.json("agent", "create", "--name", "Worker"))["agent_did"]
    work = tmp_path / "page.txt"
    work.write_text("the page")
    order = {
        "provider_did": worker,
        "title": "Translate a page",
        "contract_type": "service",
        "amount": "10",
        "terms": "One page.",
        "acceptance_criteria": "It reads well.",
    }
    proposed = (await pair.a.registry.post("/contracts", json=order, headers=alice.headers)).json()
    number, there = str(proposed["id"]), ("--registry", "a.example")
    assert (await at.run("contract", "show", number, *there)).startswith(f"{number}  PROPOSED")
    assert (await at.run("contract", "accept", number, *there)).startswith(f"{number}  ACCEPTED")
    submitted = await at.json("contract", "submit", number, *there, "--file", str(work))
    assert (submitted["status"], submitted["deliverables"][0]["sha256"]) == (
        "SUBMITTED",
        sha256(b"the page").hexdigest(),
    )
    complaint = ("--reason", "OTHER", "--description", "Nobody reviews it.", "--key", "complaint-1")
    filed = await at.json("dispute", "file", alice.did, *complaint, "--contract", number, *there)
    assert (filed["status"], filed["complainant_did"], filed["contract_id"]) == (
        "OPEN",
        worker,
        proposed["id"],
    )
    again = await at.json("dispute", "file", alice.did, *complaint, "--contract", number, *there)
    assert again["id"] == filed["id"]
    assert (await at.run("contract", "show", number, *there)).startswith(f"{number}  DISPUTED")
    refused = await at.run("dispute", "file", alice.did, *complaint[:4], *there, code=1)
    assert "state its contract_id alone" in refused


@pytest.mark.parametrize("captures", [False, True], ids=["without credentials", "with credentials"])
async def test_a_service_of_another_registry_is_found_paid_and_answers_once(
    pair: Neighbours, tmp_path: Path, captures: bool
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent(**PRICED)
    await read(pair.a, pair.b)
    calls: list[bytes] = []

    async def service(scope: Any, receive: Any, send: Any) -> None:
        calls.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    paid = PaidService(
        agent_did=bob.did,
        registry_url=pair.b.public_url,
        price=PRICE,
        credentials=credentials_of(bob) if captures else None,
        trusted_registries=[pair.a.public_url],
        accept_caller_capture=[pair.a.public_url],
        store=tmp_path / "paid-calls.db",
    )
    network = httpx2.ASGITransport(app=paid.asgi(service))
    journal = tmp_path / "payments.db"
    async with (
        quiet_after(pair),
        client_of(pair.a, alice) as registry,
        AsyncPayingClient(registry, max_amount=PRICE, journal=journal, transport=network) as paying,
    ):
        answer = await paying.post(f"{ADDRESS}/work", content=b"a page")
        assert (answer.status_code, answer.content) == (200, b"done")
        (token,) = await registry.payments.tokens()
        assert (token.status, token.target_agent_did) == ("settled", bob.did)
    assert calls == [b"a page"]
    assert (await alice.balance(), await bob.balance()) == ("99.95", "100.04975")
    # Callers of the service's own registry are not trusted with that.
    carol = await pair.b.registry.agent()
    async with client_of(pair.b, carol) as registry, httpx2.AsyncClient(transport=network) as http:
        own = await registry.payments.authorize(bob.did, PRICE)
        stated = {"X-Payment-Token": own.token, "X-Payment-Issuer": own.issuer}
        refused = await http.post(f"{ADDRESS}/work", content=b"another page", headers=stated)
    assert refused.status_code == 402
    assert refused.json()["code"] == ("CAPTURE_BY_CALLER" if captures else "NOT_RESERVED")
    await paid.stop()
    assert calls == [b"a page"]
