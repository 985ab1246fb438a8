"""POST /teg/transfers: many transfers of one payer in one request, each under a key of its own."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.registry import TestAgent
from tests.rooms.ledger.purses import Purses

STRANGER = "did:hansa:hansa.local:nobody"
TREASURY = "did:hansa:system:treasury"


@pytest.fixture
async def purses(purses_of_file: Purses) -> AsyncIterator[Purses]:
    """No unit is made or lost in any conversation."""
    yield purses_of_file
    await purses_of_file.prove()


@pytest.fixture
async def alice(purses: Purses) -> TestAgent:
    return await purses.agent("100")


@pytest.fixture
async def bob(purses: Purses) -> TestAgent:
    return await purses.agent()


@pytest.fixture(params=[False, True], ids=["each for itself", "all or none"])
def atomic(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def line(payee: TestAgent | str, amount: object, key: str, **more: object) -> dict[str, object]:
    receiver = payee if isinstance(payee, str) else payee.did
    return {"receiver_did": receiver, "amount": amount, "key": key, **more}


async def bulk(payer: TestAgent, *lines: object, **more: Any) -> httpx2.Response:
    headers = {**payer.headers, **more.pop("headers", {})}
    return await payer.registry.post(
        "/teg/transfers", json={"transfers": list(lines), **more}, headers=headers
    )


def outcomes(answer: httpx2.Response) -> list[str]:
    """`completed`, or the code of the refusal, line by line."""
    assert answer.status_code == 200, answer.text
    return [one["error"]["code"] if one["error"] else one["status"] for one in answer.json()["items"]]


def refused(answer: httpx2.Response) -> tuple[int, str, int]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["context"]["index"]


async def govern(payer: TestAgent, purses: Purses, **policy: object) -> None:
    answer = await purses.registry.http.put(
        f"/api/v1/agents/{payer.did}/authz",
        json={"spend_policy": policy},
        headers=purses.developer.headers,
    )
    assert answer.status_code == 200, answer.text


async def test_each_line_is_answered_in_order_with_the_answer_of_a_single_transfer(
    alice: TestAgent, bob: TestAgent, atomic: bool
) -> None:
    answer = await bulk(alice, line(bob, "10", "a", message="one"), line(bob, "20", "b"), atomic=atomic)
    returned = answer.json()
    assert (answer.status_code, returned["completed"], returned["refused"]) == (200, 2, 0)
    assert [(one["index"], one["key"], one["status"], one["error"]) for one in returned["items"]] == [
        (0, "a", "completed", None),
        (1, "b", "completed", None),
    ]
    first, second = (one["answer"] for one in returned["items"])
    assert first["transaction_id"] != second["transaction_id"]
    assert {name: first[name] for name in first if name not in {"transaction_id", "timestamp"}} == {
        "status": "completed",
        "sender_agent_id": alice.did,
        "receiver_agent_id": bob.did,
        "amount": "10",
        "fee_amount": "0.05",
        "currency": "AVT",
        "new_sender_balance": "89.95",
        "message": "one",
    }
    assert second["new_sender_balance"] == "69.85"
    assert (await alice.balance(), await bob.balance()) == ("69.85", "30")


async def test_a_refused_line_is_named_and_the_others_are_completed(alice: TestAgent, bob: TestAgent) -> None:
    answer = await bulk(
        alice,
        line(bob, "10", "a"),
        line(STRANGER, "1", "b"),
        line(alice, "1", "c"),
        line(TREASURY, "1", "d"),
        line(bob, "1000", "e"),
        line(bob, "5", "f"),
    )
    assert outcomes(answer) == [
        "completed",
        "ACCOUNT_UNKNOWN",
        "SELF_TRANSFER",
        "SYSTEM_ACCOUNT",
        "INSUFFICIENT_BALANCE",
        "completed",
    ]
    returned = answer.json()
    assert (returned["completed"], returned["refused"]) == (2, 4)
    assert returned["items"][4]["error"]["context"] == {"available": "89.95", "required": "1005"}
    assert await bob.balance() == "15"


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (line(STRANGER, "1", "c"), (404, "ACCOUNT_UNKNOWN", 1)),
        (line(TREASURY, "1", "c"), (403, "SYSTEM_ACCOUNT", 1)),
        ("self", (400, "SELF_TRANSFER", 1)),
        ("too much", (402, "INSUFFICIENT_BALANCE", 1)),
    ],
    ids=["stranger", "treasury", "self", "too much"],
)
async def test_an_atomic_refusal_answers_the_first_refused_line_with_its_index_and_moves_nothing(
    refused_payer: TestAgent, unpaid: TestAgent, wrong: object, expected: tuple[int, str, int]
) -> None:
    made = {"self": line(refused_payer, "1", "c"), "too much": line(unpaid, "91", "c")}
    second = made[wrong] if isinstance(wrong, str) else wrong
    later = line(STRANGER, "1", "later")
    answer = await bulk(refused_payer, line(unpaid, "10", "a"), second, later, atomic=True)
    assert refused(answer) == expected
    assert answer.json()["error"]["context"]["key"] == "c"
    assert (await refused_payer.balance(), await unpaid.balance()) == ("100", "0")


async def test_an_uncovered_line_before_a_barred_one_is_the_first_refused(
    refused_payer: TestAgent, unpaid: TestAgent
) -> None:
    answer = await bulk(refused_payer, line(unpaid, "1000", "a"), line(refused_payer, "1", "b"), atomic=True)
    assert refused(answer) == (402, "INSUFFICIENT_BALANCE", 0)


async def test_a_refused_atomic_bulk_leaves_its_keys_free(purses: Purses, bob: TestAgent) -> None:
    payer = await purses.agent("10")
    lines = [line(bob, "8", "a"), line(bob, "8", "b")]
    assert refused(await bulk(payer, *lines, atomic=True))[2] == 1
    await purses.grant(payer, "10")
    assert outcomes(await bulk(payer, *lines, atomic=True)) == ["completed", "completed"]


async def test_a_repeated_bulk_moves_money_once_and_gets_the_first_answers(
    alice: TestAgent, bob: TestAgent, atomic: bool
) -> None:
    lines = [line(bob, "10", "a", message="für 👾"), line(bob, "20", "b")]
    first = await bulk(alice, *lines, atomic=atomic)
    second = await bulk(alice, *lines, atomic=atomic)
    other = await bulk(alice, *lines, atomic=not atomic)
    assert first.content == second.content == other.content
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == other.headers["Idempotent-Replayed"] == "true"
    assert await bob.balance() == "30"


async def test_a_line_completed_earlier_is_not_moved_again_beside_new_ones(
    alice: TestAgent, bob: TestAgent, atomic: bool
) -> None:
    await bulk(alice, line(bob, "10", "old"))
    lines = [line(bob, "1", "new"), line(bob, "10", "old"), line(bob, "2", "newer")]
    answer = await bulk(alice, *lines, atomic=atomic)
    assert outcomes(answer) == ["completed"] * 3
    assert "Idempotent-Replayed" not in answer.headers
    assert answer.json()["items"][1]["answer"]["new_sender_balance"] == "89.95"
    assert await bob.balance() == "13"


async def test_another_line_under_a_used_key_is_refused(alice: TestAgent, bob: TestAgent) -> None:
    await bulk(alice, line(bob, "10", "a"))
    lines = [line(bob, "1", "b"), line(bob, "11", "a")]
    assert refused(await bulk(alice, *lines, atomic=True)) == (422, "IDEMPOTENCY_KEY_REUSED", 1)
    assert await bob.balance() == "10"
    assert outcomes(await bulk(alice, *lines)) == ["completed", "IDEMPOTENCY_KEY_REUSED"]


async def test_the_same_key_on_the_route_of_single_transfers_is_a_fresh_one(
    alice: TestAgent, bob: TestAgent, atomic: bool
) -> None:
    await alice.transfer(bob, "10", key="ours")
    assert outcomes(await bulk(alice, line(bob, "10", "ours"), atomic=atomic)) == ["completed"]
    assert await bob.balance() == "20"


async def test_two_lines_with_one_key_are_refused_and_nothing_moves(
    alice: TestAgent, bob: TestAgent, atomic: bool
) -> None:
    answer = await bulk(alice, line(bob, "1", "a"), line(bob, "2", "a"), atomic=atomic)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "VALIDATION_ERROR")
    assert await bob.balance() == "0"


async def test_the_velocity_of_fees_counts_the_earlier_lines(purses: Purses, atomic: bool) -> None:
    payer, single, payee = await purses.agent("1000"), await purses.agent("1000"), await purses.agent()
    back = [await purses.agent("1000"), await purses.agent("1000")]
    for agent, source in zip((payer, single), back, strict=True):
        # Turned over once, so that every further unit raises the rate.
        await agent.transfer(source, "900")
        await source.transfer(agent, "900")
    one_by_one = [(await single.transfer(payee, "200")).json()["fee_amount"] for _ in range(4)]
    answer = await bulk(payer, *[line(payee, "200", f"l{place}") for place in range(4)], atomic=atomic)
    assert [one["answer"]["fee_amount"] for one in answer.json()["items"]] == one_by_one
    assert len(set(one_by_one)) > 1


async def test_five_hundred_lines_are_taken_and_one_more_is_refused(purses: Purses, atomic: bool) -> None:
    payer, payee = await purses.agent("1000"), await purses.agent()
    lines = [line(payee, "1", f"l{number}") for number in range(501)]
    assert (await bulk(payer, *lines, atomic=atomic)).status_code == 422
    assert await payee.balance() == "0"
    answer = await bulk(payer, *lines[:500], atomic=atomic)
    assert (answer.json()["completed"], answer.json()["refused"]) == (500, 0)
    assert await payee.balance() == "500"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"transfers": []},
        {"transfers": None},
        {"transfers": "all"},
        {"transfers": [[]]},
        {"transfers": [{"receiver_did": STRANGER, "amount": "1"}]},
        {"transfers": [{"receiver_did": STRANGER, "amount": 1, "key": "k"}]},
        {"transfers": [{"receiver_did": STRANGER, "amount": "-1", "key": "k"}]},
        {"transfers": [{"receiver_did": STRANGER, "amount": "1", "key": "with space"}]},
        {"transfers": [{"receiver_did": STRANGER, "amount": "1", "key": "k" * 256}]},
        {"transfers": [{"receiver_did": STRANGER, "amount": "1", "key": ""}]},
        {"transfers": [{"receiver_did": STRANGER, "amount": "1", "key": "k", "message": "m" * 257}]},
        {"transfers": [{"receiver_did": "d" * 10_000, "amount": "1", "key": "k"}]},
        {"transfers": [{"receiver_did": STRANGER, "amount": "1", "key": "k"}], "atomic": "perhaps"},
    ],
    ids=lambda body: str(body)[:60],
)
async def test_a_body_of_the_wrong_shape_is_refused_in_one_sentence(
    refused_payer: TestAgent, body: object
) -> None:
    answer = await refused_payer.registry.post("/teg/transfers", json=body, headers=refused_payer.headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "VALIDATION_ERROR")
    assert await refused_payer.balance() == "100"


async def test_a_body_of_ten_megabytes_is_refused(refused_payer: TestAgent) -> None:
    answer = await bulk(refused_payer, line(STRANGER, "1" * 10_000_000, "k"))
    assert answer.status_code == 413


async def test_a_revoked_payee_is_refused_as_revoked(
    purses: Purses, alice: TestAgent, bob: TestAgent
) -> None:
    gone = await purses.developer.agent()
    path = f"/api/v1/agents/{gone.did}"
    ended = await purses.registry.http.delete(path, headers=purses.developer.headers)
    assert ended.status_code == 200, ended.text
    lines = [line(bob, "1", "a"), line(gone, "1", "b")]
    assert refused(await bulk(alice, *lines, atomic=True)) == (403, "ACCOUNT_REVOKED", 1)
    assert outcomes(await bulk(alice, *lines)) == ["completed", "ACCOUNT_REVOKED"]


async def test_a_spend_policy_judges_each_line_with_those_before_it(
    purses: Purses, alice: TestAgent, bob: TestAgent
) -> None:
    await govern(alice, purses, per_day_max="25", per_tx_max="20")
    lines = [line(bob, "10", "a"), line(bob, "21", "b"), line(bob, "10", "c"), line(bob, "10", "d")]
    assert refused(await bulk(alice, *lines, atomic=True)) == (403, "SPEND_OVER_PER_TX_MAX", 1)
    assert refused(await bulk(alice, lines[0], lines[2], lines[3], atomic=True))[1:] == (
        "SPEND_OVER_PER_DAY_MAX",
        2,
    )
    assert (await alice.balance(), await bob.balance()) == ("100", "0")
    assert outcomes(await bulk(alice, *lines)) == [
        "completed",
        "SPEND_OVER_PER_TX_MAX",
        "completed",
        "SPEND_OVER_PER_DAY_MAX",
    ]
    assert await bob.balance() == "20"


async def test_a_line_that_needs_approval_is_refused_with_it_and_passes_under_its_key_once_approved(
    purses: Purses, alice: TestAgent, bob: TestAgent, atomic: bool
) -> None:
    await govern(alice, purses, approval_over="5")
    lines = [line(bob, "1", "a"), line(bob, "10", "b")]
    answer = await bulk(alice, *lines, atomic=atomic)
    if atomic:
        assert refused(answer) == (403, "SPEND_APPROVAL_REQUIRED", 1)
        context = answer.json()["error"]["context"]
    else:
        assert outcomes(answer) == ["completed", "SPEND_APPROVAL_REQUIRED"]
        context = answer.json()["items"][1]["error"]["context"]
    assert await bob.balance() == ("0" if atomic else "1")
    path = f"/agents/{alice.did}/spend-approvals/{context['approval_id']}/approve"
    approved = await purses.registry.post(path, headers=purses.developer.headers)
    assert approved.status_code == 200, approved.text
    assert outcomes(await bulk(alice, *lines, atomic=atomic)) == ["completed", "completed"]
    assert await bob.balance() == "11"


async def test_a_capability_bounds_every_line(
    purses: Purses, alice: TestAgent, bob: TestAgent, atomic: bool
) -> None:
    lent = {"caveats": {"permissions": ["teg.transfer"]}, "budget_total": "15"}
    token = (await purses.registry.post("/agents/capabilities", json=lent, headers=alice.headers)).json()[
        "token"
    ]
    lines = [line(bob, "10", "a"), line(bob, "10", "b"), line(bob, "5", "c")]
    answer = await bulk(alice, *lines, atomic=atomic, headers={"X-Capability-Token": token})
    if atomic:
        assert refused(answer) == (403, "CAPABILITY_BUDGET", 1)
        assert await bob.balance() == "0"
    else:
        assert outcomes(answer) == ["completed", "CAPABILITY_BUDGET", "completed"]
        assert await bob.balance() == "15"


async def test_the_same_bulk_sent_ten_times_at_once_moves_money_once(purses: Purses, atomic: bool) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    lines = [line(payee, "1", f"l{number}") for number in range(5)]
    answers = await asyncio.gather(*[bulk(payer, *lines, atomic=atomic) for _ in range(10)])
    for answer in answers:
        if answer.status_code == 422:
            assert answer.json()["error"]["code"] == "IDEMPOTENCY_KEY_IN_PROGRESS"
        else:
            assert set(outcomes(answer)) <= {"completed", "IDEMPOTENCY_KEY_IN_PROGRESS"}
    assert outcomes(await bulk(payer, *lines, atomic=atomic)) == ["completed"] * 5
    assert (await payer.balance(), await payee.balance()) == ("94.975", "5")


async def test_atomic_bulks_in_opposite_directions_all_finish_and_no_balance_falls_below_zero(
    purses: Purses,
) -> None:
    one, other = await purses.agent("30"), await purses.agent("30")

    async def sent(payer: TestAgent, payee: TestAgent, number: int) -> int:
        lines = [line(payee, "5", f"{number}-{place}") for place in range(4)]
        return (await bulk(payer, *lines, atomic=True)).status_code

    statuses = await asyncio.gather(
        *[sent(one, other, number) for number in range(8)],
        *[sent(other, one, number) for number in range(8)],
    )
    assert set(statuses) <= {200, 402}
    assert 200 in statuses


async def test_single_transfers_go_on_beside_a_bulk(purses: Purses, atomic: bool) -> None:
    payer, single, payee = await purses.agent("1000"), await purses.agent("100"), await purses.agent()
    lines = [line(payee, "1", f"l{number}") for number in range(300)]
    answer, *others = await asyncio.gather(
        bulk(payer, *lines, atomic=atomic), *[single.transfer(payee, "1") for _ in range(10)]
    )
    assert answer.json()["completed"] == 300
    assert {one.status_code for one in others} == {200}
    assert await payee.balance() == "310"
