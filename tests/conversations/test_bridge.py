"""The bridge between two sovereign mainframes, over real mutual TLS (Specification 4 G, 6 S and 6 W 18)."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from hansa.rooms import transfers
from tests.neighbours.crossing_scene import LostCalls, refusal, run
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, TestAgent, TestDeveloper
from tests.running_jobs import run_due, run_scheduled_transactions, time_passes

DELIVERY, DUE = transfers.BRIDGE_OUTBOX.kinds
MAINFRAME = {"is_central_registry": True, "sovereign_mainframes": ["a.example", "b.example"]}


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    directory = tmp_path_factory.mktemp("bridge")
    async with neighbours(database_farm, directory, a=MAINFRAME, b=MAINFRAME) as pair:
        yield pair


async def ask(agent: TestAgent, act: str, key: str | None = None, **body: Any) -> httpx2.Response:
    headers = {**agent.headers, **({"Idempotency-Key": key} if key else {})}
    return await agent.registry.post(f"/bridge/{act}", json=body, headers=headers)


async def status(agent: TestAgent, saga_id: str) -> dict[str, Any]:
    answer = await agent.registry.get(f"/bridge/status/{saga_id}", headers=agent.headers)
    assert answer.status_code == 200, answer.text
    read: dict[str, Any] = answer.json()
    return read


def steps(read: dict[str, Any]) -> list[str]:
    return [step["state"] for step in read["history"]]


async def holds(agent: TestAgent) -> dict[str, str]:
    answer = await agent.registry.get("/bridge/wrapped", headers=agent.headers)
    assert answer.status_code == 200, answer.text
    return {one["wrapped_currency"]: one["amount"] for one in answer.json()["items"]}


async def what_is_due_happens(one: Neighbour) -> None:
    await time_passes(one.registry.runtime, 3600)
    await run(one, "UPDATE transfers_bridge_saga SET next_at = now() WHERE next_at IS NOT NULL")
    await run_scheduled_transactions(one.registry.runtime, DUE)
    await run_due(one.registry.runtime, DELIVERY)


async def five_minutes_pass(one: Neighbour) -> None:
    await run(one, "UPDATE transfers_bridge_saga SET deadline = now() WHERE next_at IS NOT NULL")


async def audit(one: Neighbour) -> dict[str, Any]:
    answer = await one.registry.get("/projections/supply-audit", headers=one.registry.internal)
    assert answer.status_code == 200, answer.text
    read: dict[str, Any] = answer.json()
    assert (read["status"], read["delta"]) == ("OK", "0"), read
    assert all(line["status"] == "OK" for line in read["wrapped"]), read
    return read


async def wrapped(alice: TestAgent, bob: TestAgent, amount: str) -> str:
    answer = await ask(alice, "transfer", receiver_did=bob.did, amount=amount)
    assert answer.status_code == 200, answer.text
    assert answer.json()["state"] == "COMPLETED"
    saga_id: str = answer.json()["saga_id"]
    return saga_id


async def test_units_are_locked_at_home_and_held_wrapped_at_the_other_registry(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    answer = await ask(alice, "transfer", receiver_did=bob.did, amount="10")
    assert answer.status_code == 200, answer.text
    returned = answer.json()
    assert returned.pop("expires_at")
    saga_id = returned.pop("saga_id")
    assert returned == {
        "state": "COMPLETED",
        "amount": "10",
        "currency": "AVT",
        "wrapped_currency": "AVT.a.example",
    }
    assert (await alice.balance(), await bob.balance()) == ("90", "100")
    assert await holds(bob) == {"AVT.a.example": "10"}
    read = await status(alice, saga_id)
    assert steps(read) == ["INITIATED", "LOCKED", "MINT_REQUESTED", "MINTED", "COMPLETED"]
    assert (read["direction"], read["source"], read["destination"]) == ("wrap", "a.example", "b.example")
    assert (await status(bob, saga_id))["state"] == "COMPLETED"


async def test_wrapped_units_are_redeemed_for_an_agent_at_their_home(pair: Neighbours):
    alice, bob, carol = (
        await pair.a.registry.agent(),
        await pair.b.registry.agent(),
        await pair.a.registry.agent(),
    )
    await wrapped(alice, bob, "10")
    answer = await ask(bob, "redeem", wrapped_currency="AVT.a.example", amount="4", receiver_did=carol.did)
    assert answer.status_code == 200, answer.text
    read = await status(bob, answer.json()["saga_id"])
    assert steps(read) == ["BURN_REQUESTED", "BURNED", "UNLOCK_REQUESTED", "UNLOCKED", "COMPLETED"]
    assert await holds(bob) == {"AVT.a.example": "6"}
    assert (await carol.balance(), await bob.balance()) == ("104", "100")


async def test_a_redemption_is_judged_by_the_spend_policy_of_the_holder(pair: Neighbours):
    owner = await pair.b.registry.developer()
    alice, bob = await pair.a.registry.agent(), await owner.agent()
    carol, mallory = await pair.a.registry.agent(), await pair.a.registry.agent()
    nobody = f"did:hansa:a.example:{uuid4()}"
    await wrapped(alice, bob, "20")
    policy = {"allowlist": [carol.did, nobody], "per_tx_max": "9", "per_day_max": "10", "approval_over": "5"}
    await governed(owner, bob, policy)
    wanted = {"wrapped_currency": "AVT.a.example", "receiver_did": carol.did}
    elsewhere = await ask(bob, "redeem", **{**wanted, "receiver_did": mallory.did}, amount="1")
    assert await refusal(elsewhere) == (403, "SPEND_PAYEE_NOT_ALLOWED")
    assert await refusal(await ask(bob, "redeem", **wanted, amount="9.5")) == (403, "SPEND_OVER_PER_TX_MAX")
    assert (await holds(bob), await spent(pair.b, bob)) == ({"AVT.a.example": "20"}, 0)
    # What the home refuses is given back with its budget.
    refused = await ask(bob, "redeem", **{**wanted, "receiver_did": nobody}, amount="4")
    assert (await status(bob, refused.json()["saga_id"]))["state"] == "FAILED"
    assert (await holds(bob), await spent(pair.b, bob)) == ({"AVT.a.example": "20"}, 0)
    assert (await ask(bob, "redeem", **wanted, amount="4")).json()["state"] == "COMPLETED"
    assert await refusal(await ask(bob, "redeem", **wanted, amount="7")) == (403, "SPEND_OVER_PER_DAY_MAX")
    waiting = await ask(bob, "redeem", **wanted, amount="6")
    assert (waiting.status_code, waiting.json()["status"]) == (202, "pending")
    approval_id = waiting.json()["approval_id"]
    assert await refusal(await ask(bob, "redeem", **wanted, amount="6", approval_id=approval_id)) == (
        409,
        "SPEND_APPROVAL_UNUSABLE",
    )
    path = f"/agents/{bob.did}/spend-approvals/{approval_id}/approve"
    assert (await pair.b.registry.post(path, headers=owner.headers)).status_code == 200
    done = await ask(bob, "redeem", **wanted, amount="6", approval_id=approval_id)
    assert (done.status_code, done.json()["state"]) == (200, "COMPLETED")
    assert (await holds(bob), await carol.balance()) == ({"AVT.a.example": "10"}, "110")
    await governed(owner, bob, {**policy, "per_tx_max": None, "per_day_max": None})
    assert await refusal(await ask(bob, "redeem", **wanted, amount="11")) == (402, "WRAPPED_INSUFFICIENT")


async def governed(owner: TestDeveloper, agent: TestAgent, policy: dict[str, Any]) -> None:
    path = f"/api/v1/agents/{agent.did}/authz"
    put = await agent.registry.http.put(path, json={"spend_policy": policy}, headers=owner.headers)
    assert put.status_code == 200, put.text


async def spent(one: Neighbour, agent: TestAgent) -> int:
    """Return the units that the agent's spend policy has counted."""
    counted = "SELECT coalesce(sum(s.spent), 0)::bigint FROM agents_spending s JOIN agents_agent a ON a.id = s.agent_id WHERE a.did = $1"
    return int(await one.registry.database.query(lambda tx: tx.fetchval(counted, agent.did)))


async def test_the_supply_audit_shows_wrapped_units_apart_and_no_more_than_are_locked(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await wrapped(alice, bob, "7.5")
    home, holding = await audit(pair.a), await audit(pair.b)
    (line,) = holding["wrapped"]
    assert line["wrapped_currency"] == "AVT.a.example"
    assert line["wrapped"] == line["locked_proved"]
    assert home["locked"] == [{"ledger_id": "b.example", "locked": line["wrapped"]}]
    assert (home["wrapped"], holding["locked"]) == ([], [])


async def test_a_lost_mint_answer_is_asked_for_again_and_mints_once(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    calls = LostCalls(monkeypatch)
    calls.loses = lambda made: "answer" if made == 1 else None
    answer = await ask(alice, "transfer", receiver_did=bob.did, amount="10")
    assert answer.json()["state"] == "MINT_REQUESTED"
    assert await holds(bob) == {"AVT.a.example": "10"}
    again = await ask(alice, "mint-wrapped", saga_id=answer.json()["saga_id"])
    assert (again.status_code, again.json()["state"]) == (200, "COMPLETED")
    await what_is_due_happens(pair.a)
    assert await holds(bob) == {"AVT.a.example": "10"}
    assert await alice.balance() == "90"


async def test_silence_is_never_a_refund_and_a_late_success_completes(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    calls = LostCalls(monkeypatch)
    calls.loses = lambda made: "answer" if made <= 2 else None
    saga_id = (await ask(alice, "transfer", receiver_did=bob.did, amount="10")).json()["saga_id"]
    await five_minutes_pass(pair.a)
    await what_is_due_happens(pair.a)
    assert (await status(alice, saga_id))["state"] == "TIMED_OUT"
    assert await alice.balance() == "90"
    await what_is_due_happens(pair.a)
    read = await status(alice, saga_id)
    assert steps(read)[-4:] == ["MINT_REQUESTED", "TIMED_OUT", "MINTED", "COMPLETED"]
    assert await holds(bob) == {"AVT.a.example": "10"}


async def test_after_five_minutes_the_destination_signs_a_cancellation_and_the_units_are_returned(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    calls = LostCalls(monkeypatch)
    calls.loses = lambda made: "request" if made == 1 else None
    answer = await ask(alice, "transfer", key="late", receiver_did=bob.did, amount="10")
    saga_id = answer.json()["saga_id"]
    await five_minutes_pass(pair.a)
    await what_is_due_happens(pair.a)
    read = await status(alice, saga_id)
    assert steps(read)[-3:] == ["TIMED_OUT", "REFUNDING", "REFUNDED"]
    assert read["reason"] == "CANCELLED"
    assert (await alice.balance(), await holds(bob)) == ("100", {})
    # A refund frees the key.
    again = await ask(alice, "transfer", key="late", receiver_did=bob.did, amount="10")
    assert again.json()["saga_id"] != saga_id


async def test_a_redemption_is_unlocked_once_also_when_its_answer_was_lost(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await wrapped(alice, bob, "10")
    calls = LostCalls(monkeypatch)
    calls.loses = lambda made: "answer" if made == 1 else None
    asked = {"wrapped_currency": "AVT.a.example", "amount": "10", "receiver_did": alice.did}
    answer = await ask(bob, "redeem", **asked)
    assert answer.json()["state"] == "UNLOCK_REQUESTED"
    twice = await ask(bob, "redeem", **asked)
    assert await refusal(twice) == (402, "WRAPPED_INSUFFICIENT")
    again = await ask(bob, "unlock", saga_id=answer.json()["saga_id"])
    assert again.json()["state"] == "COMPLETED"
    assert (await alice.balance(), await holds(bob)) == ("100", {})
    await audit(pair.a)
    await audit(pair.b)


async def test_a_refused_redemption_fails_and_the_wrapped_units_come_back(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await wrapped(alice, bob, "10")
    stranger = f"did:hansa:a.example:{uuid4()}"
    answer = await ask(bob, "redeem", wrapped_currency="AVT.a.example", amount="3", receiver_did=stranger)
    read = await status(bob, answer.json()["saga_id"])
    assert (read["state"], read["reason"]) == ("FAILED", "ACCOUNT_UNKNOWN")
    assert await holds(bob) == {"AVT.a.example": "10"}


async def test_after_five_minutes_a_redemption_is_cancelled_by_the_home_and_the_wrapped_units_come_back(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await wrapped(alice, bob, "10")
    asked = {"wrapped_currency": "AVT.a.example", "amount": "10", "receiver_did": alice.did}
    calls = LostCalls(monkeypatch)
    calls.loses = lambda made: "request" if made == 1 else None
    answer = await ask(bob, "redeem", key="late", **asked)
    assert answer.json()["state"] == "UNLOCK_REQUESTED"
    again = await ask(bob, "redeem", key="late", **asked)
    assert again.json() == answer.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    await five_minutes_pass(pair.b)
    await what_is_due_happens(pair.b)
    read = await status(bob, answer.json()["saga_id"])
    assert steps(read)[-2:] == ["TIMED_OUT", "FAILED"]
    assert read["reason"] == "CANCELLED"
    assert (await alice.balance(), await holds(bob)) == ("90", {"AVT.a.example": "10"})
    # A failure frees the key.
    once_more = await ask(bob, "redeem", key="late", **asked)
    assert once_more.json()["state"] == "COMPLETED"
    assert await holds(bob) == {}


async def test_a_redemption_names_who_gets_the_units_at_home(pair: Neighbours):
    bob = await pair.b.registry.agent()
    answer = await ask(bob, "redeem", wrapped_currency="AVT.a.example", amount="1")
    assert await refusal(answer) == (422, "VALIDATION_ERROR")


async def test_a_refused_transfer_is_refunded_with_the_reason_of_the_destination(pair: Neighbours):
    alice = await pair.a.registry.agent()
    answer = await ask(alice, "transfer", receiver_did=f"did:hansa:b.example:{uuid4()}", amount="10")
    assert answer.json()["state"] == "REFUNDED"
    assert (await status(alice, answer.json()["saga_id"]))["reason"] == "ACCOUNT_UNKNOWN"
    assert await alice.balance() == "100"


async def test_wrapped_units_are_unwrapped_at_home_and_nowhere_else(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await wrapped(alice, bob, "10")
    other = await pair.b.registry.agent()
    answer = await ask(bob, "redeem", wrapped_currency="AVT.a.example", amount="1", receiver_did=other.did)
    assert await refusal(answer) == (400, "RECEIVER_NOT_AT_HOME")
    unknown = await ask(bob, "redeem", wrapped_currency="XYZ.z.example", amount="1", receiver_did=alice.did)
    assert await refusal(unknown) == (404, "WRAPPED_CURRENCY_UNKNOWN")


async def test_an_agent_that_holds_wrapped_units_does_not_end(pair: Neighbours):
    alice = await pair.a.registry.agent()
    developer = await pair.b.registry.developer()
    await developer.agent()
    bob = await developer.agent(name="Holder")
    await wrapped(alice, bob, "1")
    answer = await bob.registry.http.delete("/api/v1/agents/me", headers=bob.headers)
    assert await refusal(answer) == (409, "AGENT_HOLDS_WRAPPED")


async def test_a_repeated_request_with_its_key_begins_one_saga(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    first = await ask(alice, "transfer", key="once", receiver_did=bob.did, amount="10")
    second = await ask(alice, "transfer", key="once", receiver_did=bob.did, amount="10")
    assert first.json() == second.json()
    assert second.headers["Idempotent-Replayed"] == "true"
    assert await alice.balance() == "90"


async def test_a_repeated_request_gets_its_first_answer_once_the_saga_has_moved_on(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    calls = LostCalls(monkeypatch)
    calls.loses = lambda made: "answer" if made == 1 else None
    wanted = {"receiver_did": bob.did, "amount": "10"}
    first = await ask(alice, "transfer", key="moved-on", **wanted)
    saga_id = first.json()["saga_id"]
    assert first.json()["state"] == "MINT_REQUESTED"
    step = await ask(alice, "mint-wrapped", key="step", saga_id=saga_id)
    assert step.json()["state"] == "COMPLETED"
    again = await ask(alice, "transfer", key="moved-on", **wanted)
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (first.json(), "true")
    assert await refusal(await ask(alice, "transfer", key="moved-on", **{**wanted, "amount": "9"})) == (
        422,
        "IDEMPOTENCY_KEY_REUSED",
    )
    repeated = await ask(alice, "mint-wrapped", key="step", saga_id=saga_id)
    assert (repeated.json(), repeated.headers["Idempotent-Replayed"]) == (step.json(), "true")
    assert await refusal(await ask(alice, "mint-wrapped", key="step", saga_id=str(uuid4()))) == (
        422,
        "IDEMPOTENCY_KEY_REUSED",
    )
    assert calls.made == 2
    assert (await alice.balance(), await holds(bob)) == ("90", {"AVT.a.example": "10"})


async def test_a_repeated_redemption_gets_its_first_answer_once_the_saga_has_moved_on(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await wrapped(alice, bob, "10")
    calls = LostCalls(monkeypatch)
    calls.loses = lambda made: "answer" if made == 1 else None
    wanted = {"wrapped_currency": "AVT.a.example", "amount": "10", "receiver_did": alice.did}
    first = await ask(bob, "redeem", key="moved-on", **wanted)
    saga_id = first.json()["saga_id"]
    assert first.json()["state"] == "UNLOCK_REQUESTED"
    step = await ask(bob, "unlock", key="step", saga_id=saga_id)
    assert step.json()["state"] == "COMPLETED"
    again = await ask(bob, "redeem", key="moved-on", **wanted)
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (first.json(), "true")
    assert (await ask(bob, "unlock", key="step", saga_id=saga_id)).json() == step.json()
    assert (await alice.balance(), await holds(bob)) == ("100", {})


async def test_a_repeated_request_gets_its_answer_whatever_became_of_the_other_registry(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    wanted = {"receiver_did": bob.did, "amount": "10"}
    first = await ask(alice, "transfer", key="blocked-since", **wanted)
    back = {"wrapped_currency": "AVT.a.example", "amount": "4", "receiver_did": alice.did}
    redeemed = await ask(bob, "redeem", key="blocked-since", **back)
    sides = [(pair.a, "b.example"), (pair.b, "a.example")]
    for one, other in sides:
        await run(one, f"UPDATE federation_peer SET status = 'inactive' WHERE trust_domain = '{other}'")
    try:
        for answer, repeated in (
            (first, await ask(alice, "transfer", key="blocked-since", **wanted)),
            (redeemed, await ask(bob, "redeem", key="blocked-since", **back)),
        ):
            assert (repeated.status_code, repeated.json()) == (200, answer.json())
            assert repeated.headers["Idempotent-Replayed"] == "true"
        new = await ask(alice, "transfer", key="another", **wanted)
        assert new.status_code >= 400, new.text
    finally:
        for one, other in sides:
            await run(one, f"UPDATE federation_peer SET status = 'active' WHERE trust_domain = '{other}'")


async def test_more_than_the_balance_is_not_locked(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    answer = await ask(alice, "transfer", receiver_did=bob.did, amount="100.01")
    assert await refusal(answer) == (402, "INSUFFICIENT_BALANCE")


async def test_a_stranger_reads_no_saga_and_retries_none(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    saga_id = await wrapped(alice, bob, "1")
    stranger = await pair.a.registry.agent()
    answer = await stranger.registry.get(f"/bridge/status/{saga_id}", headers=stranger.headers)
    assert await refusal(answer) == (404, "BRIDGE_SAGA_UNKNOWN")
    assert await refusal(await ask(stranger, "mint-wrapped", saga_id=saga_id)) == (404, "BRIDGE_SAGA_UNKNOWN")
    assert await refusal(await ask(alice, "unlock", saga_id=saga_id)) == (409, "BRIDGE_SAGA_DIRECTION")


async def test_the_bridge_answers_503_where_the_registry_is_no_sovereign_mainframe(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    runtime = pair.a.registry.runtime
    object.__setattr__(runtime.settings, "is_central_registry", False)
    try:
        for act, body in (
            ("transfer", {"receiver_did": bob.did, "amount": "1"}),
            ("redeem", {"wrapped_currency": "AVT.b.example", "amount": "1", "receiver_did": bob.did}),
            ("mint-wrapped", {"saga_id": str(uuid4())}),
            ("unlock", {"saga_id": str(uuid4())}),
        ):
            assert await refusal(await ask(alice, act, **body)) == (503, "BRIDGE_FRAME_ONLY"), act
    finally:
        object.__setattr__(runtime.settings, "is_central_registry", True)
