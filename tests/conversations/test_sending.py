"""The specification on POST /teg/send: the registry finds the route to the receiver."""

import pytest

from tests.registry import TestRegistry


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


async def test_a_receiver_on_this_registry_is_reached_by_the_local_route(registry: TestRegistry) -> None:
    alice, bob = await registry.agent(), await registry.agent()
    answer = await registry.post(
        "/teg/send", json={"receiver_did": bob.did, "amount": "10"}, headers=alice.headers
    )
    assert answer.status_code == 200, answer.text
    assert answer.json().pop("transfer_id").startswith("tx-")
    assert {name: value for name, value in answer.json().items() if name != "transfer_id"} == {
        "method": "local",
        "status": "completed",
        "currency_sent": "AVT",
        "currency_received": "AVT",
        "amount_received": "10",
        "fee_amount": "0.05",
        "new_sender_balance": "89.95",
        "receiver_registry": "hansa.local",
        "detail": "The receiver was credited on this registry.",
    }
    assert await bob.balance() == "110"


async def test_recipient_did_is_another_name_of_receiver_did(registry: TestRegistry) -> None:
    alice, bob = await registry.agent(), await registry.agent()
    body = {"recipient_did": bob.did, "amount": "1"}
    assert (await registry.post("/teg/send", json=body, headers=alice.headers)).status_code == 200


async def test_a_dry_run_reports_the_route_and_moves_nothing(registry: TestRegistry) -> None:
    alice, bob = await registry.agent(), await registry.agent()
    events_before = (await registry.get("/public/eventstore-recent")).json()["events"]
    body = {"receiver_did": bob.did, "amount": "10", "dry_run": True}
    answer = (await registry.post("/teg/send", json=body, headers=alice.headers)).json()
    assert (answer["method"], answer["status"], answer["transfer_id"]) == ("local", "dry_run", None)
    assert (answer["fee_amount"], answer["new_sender_balance"]) == ("0.05", "89.95")
    assert (await alice.balance(), await bob.balance()) == ("100", "100")
    assert (await registry.get("/public/eventstore-recent")).json()["events"] == events_before


@pytest.mark.parametrize("dry_run", [False, True])
async def test_an_unknown_receiver_is_404_and_want_of_funds_402(
    registry: TestRegistry, *, dry_run: bool
) -> None:
    alice, bob = await registry.agent(), await registry.agent()

    async def status(receiver: str, amount: str) -> int:
        body = {"receiver_did": receiver, "amount": amount, "dry_run": dry_run}
        return (await registry.post("/teg/send", json=body, headers=alice.headers)).status_code

    assert await status("did:hansa:elsewhere.example:5e0bd4a6-2b3d-4b8c-9d5e-3f3a1f1f1f1f", "1") == 404
    assert await status(bob.did, "100") == 402
    assert await status(alice.did, "1") == 400
    assert await status("did:hansa:system:treasury", "1") == 403


async def test_one_receiver_is_named_by_either_name_or_by_both_alike(registry: TestRegistry) -> None:
    alice, bob = await registry.agent(), await registry.agent()
    both = {"amount": "1", "receiver_did": bob.did, "recipient_did": bob.did}
    assert (await registry.post("/teg/send", json=both, headers=alice.headers)).status_code == 200
    null = {"amount": "1", "receiver_did": bob.did, "recipient_did": None}
    assert (await registry.post("/teg/send", json=null, headers=alice.headers)).status_code == 200
    for body in ({"amount": "1"}, {**both, "recipient_did": alice.did}):
        assert (await registry.post("/teg/send", json=body, headers=alice.headers)).status_code == 422
    assert await bob.balance() == "102"


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_transfer_to_a_revoked_agent_says_that_it_is_revoked(
    registry: TestRegistry, *, dry_run: bool
) -> None:
    alice, owner = await registry.agent(), await registry.developer()
    await owner.agent()
    gone = await owner.agent()
    assert (await registry.http.delete("/api/v1/agents/me", headers=gone.headers)).status_code == 200
    body = {"receiver_did": gone.did, "amount": "1", "dry_run": dry_run}
    sent = await registry.post("/teg/send", json=body, headers=alice.headers)
    for answer in (sent, await alice.transfer(gone, "1")):
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "ACCOUNT_REVOKED"
        assert answer.json()["detail"] == f"The agent {gone.did} is revoked and cannot receive units."
    assert await alice.balance() == "100"


async def test_a_repeated_send_counts_once_and_its_key_is_not_that_of_a_transfer(
    registry: TestRegistry,
) -> None:
    alice, bob = await registry.agent(), await registry.agent()
    headers = {**alice.headers, "Idempotency-Key": "order-1"}
    body = {"receiver_did": bob.did, "amount": "10"}
    first = await registry.post("/teg/send", json=body, headers=headers)
    again = await registry.post("/teg/send", json=body, headers=headers)
    assert again.text == first.text
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (await alice.transfer(bob, "10", key="order-1")).status_code == 200
    other = await registry.post("/teg/send", json={**body, "amount": "11"}, headers=headers)
    assert other.status_code == 422
    assert await bob.balance() == "120"
    assert (await registry.supply())["delta"] == "0"
