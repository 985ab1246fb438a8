"""The specification on transfers across registries, between two registries over real mutual TLS."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.outgoing import Answer
from hansa.rooms import federation, ledger
from hansa.rooms.federation.mailbox import channel
from hansa.rooms.notifications import OWNER_NOTICES
from tests.connections import connect, take_access_tokens
from tests.conversations.mcp_client import McpClient
from tests.neighbours.crossing_scene import across, open_rows, refusal, settle
from tests.neighbours.two_registries import Neighbour, Neighbours
from tests.rooms.journal.reactors.reacting import reacting
from tests.rooms.notifications.webhooks.receiver import hook

HOOK = "https://receiver.example.com/hook"


async def test_the_amount_leaves_whole_and_the_receivers_registry_keeps_the_border_fee(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    answer = await across(alice, bob.did, "10", message="Invoice 17")
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    transfer_id = shown.pop("transfer_id")
    assert shown.pop("timestamp")
    assert shown == {
        "status": "completed",
        "method": "2pc",
        "sender_agent_id": alice.did,
        "receiver_did": bob.did,
        "receiver_registry": "b.example",
        "amount": "10",
        "currency_sent": "AVT",
        "amount_received": "9.95",
        "currency_received": "AVT",
        "fee_amount": "0.05",
        "fee_currency": "AVT",
        "new_sender_balance": "90",
        "message": "Invoice 17",
        "credited_at": None,
    }
    await settle(pair.a, pair.b)
    assert (await alice.balance(), await bob.balance()) == ("90", "109.95")
    assert (await open_rows(pair.a), await open_rows(pair.b)) == (0, 0)
    for party in (alice, bob):
        read = await party.registry.get(f"/teg/transfers/{transfer_id}", headers=party.headers)
        assert read.status_code == 200, read.text
        assert read.json()["state"] == "committed"
        assert read.json()["credited_at"] is not None
        assert read.json()["amount_received"] == "9.95"
    for one in (pair.a, pair.b):
        supply = await one.registry.supply()
        assert (supply["status"], supply["delta"]) == ("OK", "0"), supply


async def test_a_transfer_is_found_by_its_id_at_both_registries(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    sent = (await across(alice, bob.did, "10")).json()
    await settle(pair.a, pair.b)
    for party in (alice, bob):
        found = await party.registry.http.get("/find", params={"q": sent["transfer_id"]})
        listed = (await party.registry.get("/teg/transactions", headers=party.headers)).json()["items"]
        assert found.status_code == 303, found.text
        assert found.headers["location"] == f"/transactions/{listed[0]['transaction_id']}"
        assert (await party.registry.http.get(found.headers["location"])).status_code == 200


async def test_send_finds_the_route_to_another_registry_and_a_dry_run_moves_nothing(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    body = {"receiver_did": bob.did, "amount": "10"}
    planned = await alice.registry.post("/teg/send", json={**body, "dry_run": True}, headers=alice.headers)
    assert planned.status_code == 200, planned.text
    assert planned.json() == {
        "method": "2pc",
        "status": "dry_run",
        "transfer_id": None,
        "currency_sent": "AVT",
        "currency_received": "AVT",
        "amount_received": "9.95",
        "fee_amount": "0.05",
        "new_sender_balance": "90",
        "receiver_registry": "b.example",
        "detail": "The receiver is on another registry; nothing was moved.",
    }
    assert await alice.balance() == "100"
    sent = await alice.registry.post("/teg/send", json=body, headers=alice.headers)
    assert sent.status_code == 200, sent.text
    shown = sent.json()
    assert (shown["method"], shown["status"], shown["new_sender_balance"]) == ("2pc", "completed", "90")
    assert (shown["amount_received"], shown["receiver_registry"]) == ("9.95", "b.example")
    await settle(pair.a, pair.b)
    assert await bob.balance() == "109.95"


async def test_the_async_rail_answers_locked_and_is_the_same_protocol(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    shown = (await across(alice, bob.did, "10", backend="async")).json()
    assert (shown["status"], shown["method"], shown["new_sender_balance"]) == ("locked", "async", "90")
    state = await alice.registry.get(f"/teg/transfers/{shown['transfer_id']}", headers=alice.headers)
    assert state.json()["state"] == "reserved"
    await settle(pair.a, pair.b)
    state = await alice.registry.get(f"/teg/transfers/{shown['transfer_id']}", headers=alice.headers)
    assert state.json()["state"] == "committed"
    assert await bob.balance() == "109.95"


async def test_what_is_refused_moves_nothing_and_keeps_its_status_and_code(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    unknown = f"did:hansa:b.example:{uuid4()}"
    stranger = f"did:hansa:elsewhere.example:{uuid4()}"
    assert await refusal(await across(alice, unknown, "1")) == (404, "RECEIVER_UNKNOWN")
    assert await refusal(await across(alice, stranger, "1")) == (404, "RECEIVER_REGISTRY_UNKNOWN")
    assert await refusal(await across(alice, alice.did, "1")) == (400, "RECEIVER_IS_LOCAL")
    assert await refusal(await alice.transfer(bob, "1")) == (400, "RECEIVER_IS_FOREIGN")
    too_much = await across(alice, bob.did, "101")
    assert await refusal(too_much) == (402, "INSUFFICIENT_BALANCE")
    assert too_much.json()["error"]["context"] == {"available": "100", "required": "101"}
    assert (await across(alice, bob.did, "1", backend="carrier")).status_code == 422
    dry = {"receiver_did": unknown, "amount": "1", "dry_run": True}
    assert await refusal(await alice.registry.post("/teg/send", json=dry, headers=alice.headers)) == (
        404,
        "RECEIVER_UNKNOWN",
    )
    await settle(pair.a, pair.b)
    assert (await alice.balance(), await bob.balance()) == ("100", "100")
    assert (await open_rows(pair.a), await open_rows(pair.b)) == (0, 0)


async def test_a_blocked_receiver_is_403_agent_blocked(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await pair.b.registry.database.transaction(lambda tx: ledger.suspend_accounts(tx, [bob.did]))
    assert await refusal(await across(alice, bob.did, "1")) == (403, "AGENT_BLOCKED")
    assert await alice.balance() == "100"


async def test_a_peer_that_reached_its_limit_is_403_peer_limit_until_units_go_back(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await limited(pair.b, 0)
    try:
        assert await refusal(await across(alice, bob.did, "60")) == (403, "PEER_LIMIT")
    finally:
        await limited(pair.b, 10_000 * 10**8)
    assert await alice.balance() == "100"


async def limited(one: Neighbour, minor: int) -> None:
    await one.registry.database.transaction(
        lambda tx: tx.execute("UPDATE federation_peer SET net_in_limit = $1", minor)
    )


async def test_a_paused_peer_is_409(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    status = "UPDATE federation_peer SET status = $1"
    await pair.a.registry.database.transaction(lambda tx: tx.execute(status, "inactive"))
    try:
        assert await refusal(await across(alice, bob.did, "1")) == (409, "PEER_PAUSED")
    finally:
        await pair.a.registry.database.transaction(lambda tx: tx.execute(status, "active"))
    await pair.b.registry.database.transaction(lambda tx: tx.execute(status, "inactive"))
    try:
        assert await refusal(await across(alice, bob.did, "1")) == (409, "PEER_PAUSED")
    finally:
        await pair.b.registry.database.transaction(lambda tx: tx.execute(status, "active"))


async def test_a_repeated_request_under_its_key_moves_units_once(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    first, second = await across(alice, bob.did, "10", key="k"), await across(alice, bob.did, "10", key="k")
    assert first.json() == second.json()
    assert (second.headers["Idempotent-Replayed"], await alice.balance()) == ("true", "90")
    assert (await across(alice, bob.did, "11", key="k")).status_code == 422


@pytest.mark.parametrize("backend", ["2pc", "async"])
async def test_a_repeated_request_gets_the_original_answer_whatever_became_of_transfer_and_peer(
    pair: Neighbours, backend: str
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    first = await across(alice, bob.did, "10", key="kept", backend=backend)
    await settle(pair.a, pair.b)
    read = await alice.registry.get(f"/teg/transfers/{first.json()['transfer_id']}", headers=alice.headers)
    assert (read.json()["state"], read.json()["credited_at"] is None) == ("committed", False)
    again = await across(alice, bob.did, "10", key="kept", backend=backend)
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (first.json(), "true")
    status = "UPDATE federation_peer SET status = $1"
    await pair.a.registry.database.transaction(lambda tx: tx.execute(status, "inactive"))
    try:
        assert await refusal(await across(alice, bob.did, "10", backend=backend)) == (409, "PEER_PAUSED")
        paused = await across(alice, bob.did, "10", key="kept", backend=backend)
        assert (paused.json(), paused.headers["Idempotent-Replayed"]) == (first.json(), "true")
        other = await across(alice, bob.did, "11", key="kept", backend=backend)
        assert await refusal(other) == (422, "IDEMPOTENCY_KEY_REUSED")
    finally:
        await pair.a.registry.database.transaction(lambda tx: tx.execute(status, "active"))
    assert await alice.balance() == "90"


async def test_an_abort_frees_the_idempotency_key(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await limited(pair.b, 0)
    assert (await across(alice, bob.did, "10", key="again")).status_code == 403
    await limited(pair.b, 10_000 * 10**8)
    assert (await across(alice, bob.did, "10", key="again")).status_code == 200


async def test_a_stranger_does_not_see_a_transfer(pair: Neighbours):
    alice, bob, eve = (
        await pair.a.registry.agent(),
        await pair.b.registry.agent(),
        await pair.a.registry.agent(),
    )
    transfer_id = (await across(alice, bob.did, "1")).json()["transfer_id"]
    read = await eve.registry.get(f"/teg/transfers/{transfer_id}", headers=eve.headers)
    assert await refusal(read) == (404, "TRANSFER_UNKNOWN")


async def test_the_transfer_is_recorded_once_on_each_side(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    transfer_id = (await across(alice, bob.did, "10")).json()["transfer_id"]
    await settle(pair.a, pair.b)
    for one, direction, frame in ((pair.a, "out", "b.example"), (pair.b, "in", "a.example")):
        recent = (await one.registry.get("/public/eventstore-recent?limit=500")).json()["events"]
        recorded = [
            event["data"]
            for event in recent
            if event["event_type"] == "CrossRegistryTransferCompleted"
            and event["data"]["transfer_id"] == transfer_id
        ]
        assert recorded == [
            {
                "transfer_id": transfer_id,
                "direction": direction,
                "sender_did": alice.did,
                "receiver_did": bob.did,
                "amount": "10",
                "amount_received": "9.95",
                "fee": "0.05",
                "currency": "AVT",
                "currency_received": "AVT",
                "counterparty_frame": frame,
                "counts": None,
                "counted_fee": None,
            }
        ]


async def test_twenty_transfers_at_once_in_both_directions_keep_every_unit(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    there = [across(alice, bob.did, "2") for _ in range(10)]
    back = [across(bob, alice.did, "2") for _ in range(10)]
    answers = await asyncio.gather(*there, *back)
    assert {answer.status_code for answer in answers} == {200}, [answer.text for answer in answers]
    await settle(pair.a, pair.b)
    assert (await open_rows(pair.a), await open_rows(pair.b)) == (0, 0)
    assert (await alice.balance(), await bob.balance()) == ("99.9", "99.9")
    for one in (pair.a, pair.b):
        crossing = await one.registry.database.query(
            lambda tx: tx.fetch("SELECT crossing FROM transfers_pair")
        )
        assert [row["crossing"] for row in crossing] == ["open"]
        (corridor,) = await one.registry.database.query(ledger.corridor_totals)
        assert (corridor.delta, corridor.reserved_in, corridor.reserved_out) == (0, 0, 0)


async def test_a_payer_that_is_suspended_before_commit_pays_nothing(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    right = federation.call_peer

    async def suspended_meanwhile(*given: Any, **more: Any) -> Answer:
        answer = await right(*given, **more)
        await pair.a.registry.database.transaction(
            lambda tx: federation.put_on_blocklist(tx, alice.did, since=now)
        )
        return answer

    now = datetime.now(UTC)
    monkeypatch.setattr(channel, "call_peer", suspended_meanwhile)
    assert await refusal(await across(alice, bob.did, "10")) == (403, "AGENT_BLOCKED")
    monkeypatch.undo()
    await settle(pair.a, pair.b)
    assert (await alice.balance(), await bob.balance()) == ("100", "100")
    assert (await open_rows(pair.a), await open_rows(pair.b)) == (0, 0)


async def test_a_policy_that_asks_for_approval_moves_nothing_and_an_abort_gives_its_budget_back(
    pair: Neighbours,
):
    owner, bob = await pair.a.registry.developer(), await pair.b.registry.agent()
    alice = await owner.agent()
    policy = {"per_day_max": "10", "approval_over": "9"}
    set_policy = await pair.a.registry.http.put(
        f"/api/v1/agents/{alice.did}/authz", json={"spend_policy": policy}, headers=owner.headers
    )
    assert set_policy.status_code == 200, set_policy.text
    waiting = await across(alice, bob.did, "10")
    assert (waiting.status_code, waiting.json()["status"]) == (202, "pending")
    await limited(pair.b, 0)
    assert await refusal(await across(alice, bob.did, "8")) == (403, "PEER_LIMIT")
    await limited(pair.b, 10_000 * 10**8)
    assert (await across(alice, bob.did, "8")).status_code == 200
    assert (await across(alice, bob.did, "8")).status_code == 403
    await settle(pair.a, pair.b)
    assert (await alice.balance(), await bob.balance()) == ("92", "107.96")


async def test_a_crossing_under_a_grant_is_counted_and_an_abort_gives_its_amount_back(pair: Neighbours):
    client = await connect(pair.a.registry, "wallet:pay", per_call="8", per_day="10", ask_above="10")
    take_access_tokens(pair.a.registry)
    assert client.agent
    alice, bob = replace(client.agent, token=client.access_token), await pair.b.registry.agent()
    await limited(pair.b, 0)
    assert await refusal(await across(alice, bob.did, "8")) == (403, "PEER_LIMIT")
    await settle(pair.a, pair.b)
    assert await client.spent() == "0"
    await limited(pair.b, 10_000 * 10**8)
    assert (await across(alice, bob.did, "8")).status_code == 200
    assert await refusal(await across(alice, bob.did, "3")) == (403, "SPEND_OVER_PER_DAY_MAX")
    await settle(pair.a, pair.b)
    assert await client.spent() == "8"


async def test_an_intent_pays_an_agent_of_another_registry_once(pair: Neighbours):
    client = await connect(pair.a.registry, "wallet:pay", per_call="8", per_day="10", ask_above="10")
    bob, tools = await pair.b.registry.agent(), McpClient(pair.a.registry, client.access_token)
    preview = await tools.done("preview_transfer", receiver=bob.did, amount="8")
    assert (preview["route"], preview["fee"], preview["total"]) == ("2pc", "0.04", "8")
    sent = await tools.done("send_units", intent=preview["intent"])
    assert (sent["method"], sent["receiver_registry"]) == ("2pc", "b.example")
    assert await tools.done("send_units", intent=preview["intent"]) == sent
    await settle(pair.a, pair.b)
    assert client.agent
    assert (await client.agent.balance(), await bob.balance()) == ("92", "107.96")
    # The border fee is kept of the amount.
    assert await client.spent() == "8"
    beyond = await tools.refused("preview_transfer", receiver=bob.did, amount="3")
    assert beyond["code"] == "SPEND_OVER_PER_DAY_MAX"


async def test_a_licence_is_demanded_where_this_registry_holds_one(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    settings = pair.a.registry.settings
    kept = settings.federation_licences
    object.__setattr__(settings, "federation_licences", "required")
    try:
        assert await refusal(await across(alice, bob.did, "1")) == (403, "LICENCE_REQUIRED")
    finally:
        object.__setattr__(settings, "federation_licences", kept)
    assert await alice.balance() == "100"


async def test_each_registry_notifies_the_owner_of_its_own_agent_once_the_transfer_is_final(pair: Neighbours):
    owners = [await one.registry.developer() for one in (pair.a, pair.b)]
    hooks = [await hook(owner, HOOK, "cross_registry_transfer.completed") for owner in owners]
    payer, payee = [await owner.agent() for owner in owners]
    answer = (await across(payer, payee.did, "10")).json()
    await settle(pair.a, pair.b)
    for one, hooked, direction in zip((pair.a, pair.b), hooks, ("out", "in"), strict=True):
        async with reacting(one.registry.database, OWNER_NOTICES), asyncio.timeout(60):
            while not (shown := await hooked.deliveries()):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        (delivery,) = shown
        assert delivery["payload"]["data"] == {
            "transfer_id": answer["transfer_id"],
            "direction": direction,
            "sender_did": payer.did,
            "receiver_did": payee.did,
            "amount": "10",
            "amount_received": "9.95",
            "fee": "0.05",
            "currency": "AVT",
            "currency_received": "AVT",
            "counterparty_frame": "b.example" if direction == "out" else "a.example",
            "counts": None,
            "counted_fee": None,
        }
