"""POST /teg/transfer and GET /teg/balance as the specification has them."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import httpx2
import pytest

from tests.registry import StartRegistry, TestAgent
from tests.rooms.ledger.purses import Purses, start_purses

NOBODY = "did:hansa:hansa.local:7d3c3f6e-0000-4000-8000-000000000000"
TREASURY, FEE_COLLECTOR = "did:hansa:system:treasury", "did:hansa:system:fee_collector"
NOT_AMOUNTS = [
    *(
        "NaN",
        "sNaN",
        "Infinity",
        "-Infinity",
        "-0",
        "0",
        "0.0",
        "0.00000000",
        "-1",
        "1e400",
        "1E5",
        "0x10",
        "+5",
    ),
    *("１２", "1_000", " 5", "5 ", "5\n", "5\t", "5.", ".5", "", "1,5", "5.5.5", "٣", "five", "0b1", "1/2"),
    *(
        "0.000000001",
        "10000000000.00000001",
        "10000000001",
        "9" * 30,
        "9" * 60,
        "0" * 40 + "1",
        "1." + "1" * 19,
    ),
    *(None, True, False, 5, 5.5, 0, -1, [], ["5"], {}, {"amount": "5"}),
]


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


def refused(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def send(payer: TestAgent, body: object, **headers: str) -> httpx2.Response:
    return await payer.registry.post("/teg/transfer", json=body, headers={**payer.headers, **headers})


async def held_by(purses: Purses, did: str) -> Decimal:
    statement = "SELECT liquid FROM ledger_account WHERE did = $1"
    return Decimal(await purses.registry.database.read(lambda tx: tx.fetchval(statement, did))).scaleb(-8)


async def test_the_payee_receives_the_amount_whole_and_the_payer_pays_the_fee_on_top(
    alice: TestAgent, bob: TestAgent
) -> None:
    answer = await alice.transfer(bob, "10")
    assert (answer.status_code, answer.json()["fee_amount"]) == (200, "0.05")
    assert (await alice.balance(), await bob.balance()) == ("89.95", "10")


async def test_the_fee_goes_to_the_fee_collector(purses: Purses, alice: TestAgent, bob: TestAgent) -> None:
    before = await held_by(purses, FEE_COLLECTOR)
    await alice.transfer(bob, "10")
    assert await held_by(purses, FEE_COLLECTOR) - before == Decimal("0.05")


async def test_the_answer_returns_the_whole_transfer(alice: TestAgent, bob: TestAgent) -> None:
    returned = (await alice.transfer(bob, "10", message="for the translation")).json()
    assert returned.pop("transaction_id")
    assert abs(datetime.fromisoformat(returned.pop("timestamp")) - datetime.now(UTC)) < timedelta(hours=1)
    assert returned == {
        "status": "completed",
        "sender_agent_id": alice.did,
        "receiver_agent_id": bob.did,
        "amount": "10",
        "fee_amount": "0.05",
        "currency": "AVT",
        "new_sender_balance": "89.95",
        "message": "for the translation",
    }


async def test_a_transfer_without_a_message_returns_null(alice: TestAgent, bob: TestAgent) -> None:
    returned = (await alice.transfer(bob, "10")).json()
    assert returned["message"] is None


async def test_each_transfer_has_an_id_of_its_own(alice: TestAgent, bob: TestAgent) -> None:
    ids = {(await alice.transfer(bob, "1")).json()["transaction_id"] for _ in range(3)}
    assert len(ids) == 3


@pytest.mark.parametrize(
    ("sent", "returned"),
    [("10.50", "10.5"), ("5.00000000", "5"), ("0.10", "0.1"), ("20", "20"), ("00012.5", "12.5")],
)
async def test_amounts_are_returned_without_trailing_zeros(
    alice: TestAgent, bob: TestAgent, sent: str, returned: str
) -> None:
    assert (await alice.transfer(bob, sent)).json()["amount"] == returned
    assert await bob.balance() == returned


@pytest.mark.parametrize("amount", NOT_AMOUNTS, ids=lambda amount: repr(amount)[:24])
async def test_what_is_no_decimal_string_above_zero_is_refused_and_nothing_moves(
    refused_payer: TestAgent, unpaid: TestAgent, amount: object
) -> None:
    answer = await refused_payer.transfer(unpaid, amount)
    assert refused(answer) == (422, "VALIDATION_ERROR")
    assert answer.json()["error"]["field"] == "amount"
    assert (await refused_payer.balance(), await unpaid.balance()) == ("100", "0")


@pytest.mark.parametrize(
    "amount",
    ["NaN", "Infinity", "-Infinity", "1e400", "9" * 5000, '"5", "amount": "6"', '"5\\u0000"', '"\\ud800"'],
)
async def test_a_body_that_json_parsers_disagree_on_is_refused(
    refused_payer: TestAgent, unpaid: TestAgent, amount: str
) -> None:
    body = f'{{"receiver_agent_id": "{unpaid.did}", "amount": {amount}}}'
    headers = {**refused_payer.headers, "Content-Type": "application/json"}
    answer = await refused_payer.registry.post("/teg/transfer", content=body, headers=headers)
    assert refused(answer) == (422, "BODY_INVALID")
    assert await refused_payer.balance() == "100"


async def test_an_amount_of_ten_megabytes_is_refused_by_its_size(
    refused_payer: TestAgent, unpaid: TestAgent
) -> None:
    assert refused(await refused_payer.transfer(unpaid, "1" * 10_000_000)) == (413, "PAYLOAD_TOO_LARGE")


async def test_a_body_that_is_not_json_is_refused(refused_payer: TestAgent) -> None:
    answer = await refused_payer.registry.post(
        "/teg/transfer", content=b"amount=5", headers=refused_payer.headers
    )
    assert answer.status_code == 415


@pytest.mark.parametrize("missing", ["amount", "receiver_agent_id"])
async def test_a_missing_member_is_named(refused_payer: TestAgent, unpaid: TestAgent, missing: str) -> None:
    body = {"amount": "5", "receiver_agent_id": unpaid.did}
    del body[missing]
    answer = await send(refused_payer, body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, missing)


@pytest.mark.parametrize("body", [None, [], "5", 5, {}], ids=json.dumps)
async def test_a_body_that_is_no_order_is_refused(refused_payer: TestAgent, body: object) -> None:
    assert (await send(refused_payer, body)).status_code == 422


@pytest.mark.parametrize(
    "message", ["m" * 256, "ü" * 256, "👾" * 256, "two\nlines", "'; DROP TABLE ledger_account; --"]
)
async def test_a_message_of_up_to_256_characters_is_kept_as_it_is(
    alice: TestAgent, bob: TestAgent, message: str
) -> None:
    assert (await alice.transfer(bob, "1", message=message)).json()["message"] == message


@pytest.mark.parametrize(
    "message", ["m" * 257, "👾" * 257, 5, ["text"], {"text": "text"}], ids=lambda m: repr(m)[:20]
)
async def test_a_longer_message_or_one_that_is_no_text_is_refused(
    refused_payer: TestAgent, unpaid: TestAgent, message: object
) -> None:
    answer = await refused_payer.transfer(unpaid, "1", message=message)
    assert (*refused(answer), answer.json()["error"]["field"]) == (422, "VALIDATION_ERROR", "message")
    assert await refused_payer.balance() == "100"


async def test_an_uncovered_transfer_is_refused_with_what_is_available_and_what_is_required(
    refused_payer: TestAgent, unpaid: TestAgent
) -> None:
    answer = await refused_payer.transfer(unpaid, "100")
    assert refused(answer) == (402, "INSUFFICIENT_BALANCE")
    problem = answer.json()
    assert problem["error"]["context"] == {"available": "100", "required": "100.5"}
    assert "100 available" in problem["detail"]
    assert "100.5 required" in problem["detail"]
    assert (await refused_payer.balance(), await unpaid.balance()) == ("100", "0")


async def test_the_whole_balance_can_be_sent_when_the_fee_is_thought_of(
    alice: TestAgent, bob: TestAgent
) -> None:
    answer = await alice.transfer(bob, "99.50248756")
    assert answer.json()["new_sender_balance"] == "0"
    assert await alice.balance() == "0"


async def test_one_smallest_unit_more_than_covered_is_refused(
    refused_payer: TestAgent, unpaid: TestAgent
) -> None:
    answer = await refused_payer.transfer(unpaid, "99.50248757")
    assert answer.json()["error"]["context"] == {"available": "100", "required": "100.00000001"}


@pytest.mark.parametrize("receiver", [NOBODY, "nobody", "did:hansa", "%", "' OR '1'='1"])
async def test_an_unknown_receiver_is_not_found(refused_payer: TestAgent, receiver: str) -> None:
    assert refused(await refused_payer.transfer(receiver, "10")) == (404, "ACCOUNT_UNKNOWN")
    assert await refused_payer.balance() == "100"


async def test_a_did_is_compared_whole(refused_payer: TestAgent, unpaid: TestAgent) -> None:
    for almost in (unpaid.did.upper(), unpaid.did + " ", unpaid.did[:-1], unpaid.did + "%"):
        assert (await refused_payer.transfer(almost, "10")).status_code == 404


@pytest.mark.parametrize(
    "receiver", ["", "did:hansa:" + "a" * 600, None, 5, ["did"]], ids=lambda r: repr(r)[:20]
)
async def test_a_receiver_that_is_no_did_of_sensible_length_is_refused(
    refused_payer: TestAgent, receiver: object
) -> None:
    answer = await send(refused_payer, {"receiver_agent_id": receiver, "amount": "10"})
    assert (*refused(answer), answer.json()["error"]["field"]) == (
        422,
        "VALIDATION_ERROR",
        "receiver_agent_id",
    )


async def test_nobody_can_transfer_to_itself(refused_payer: TestAgent) -> None:
    assert refused(await refused_payer.transfer(refused_payer, "10")) == (400, "SELF_TRANSFER")
    assert await refused_payer.balance() == "100"


@pytest.mark.parametrize("receiver", [TREASURY, FEE_COLLECTOR, "did:hansa:system:gateway"])
async def test_system_accounts_take_no_ordinary_transfer(
    purses: Purses, refused_payer: TestAgent, receiver: str
) -> None:
    before = await held_by(purses, TREASURY)
    assert refused(await refused_payer.transfer(receiver, "10")) == (403, "SYSTEM_ACCOUNT")
    assert await refused_payer.balance() == "100"
    assert await held_by(purses, TREASURY) == before


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer nonsense", "Bearer a.b.c", "Basic YWxpY2U6"]
)
async def test_without_a_genuine_agent_token_nothing_is_moved_or_returned(
    unpaid: TestAgent, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    body = {"receiver_agent_id": unpaid.did, "amount": "10"}
    transfer = await unpaid.registry.post("/teg/transfer", json=body, headers=headers)
    balance = await unpaid.registry.get("/teg/balance", headers=headers)
    assert refused(transfer) == refused(balance) == (401, "AUTH_FAILED")


async def test_a_developer_token_neither_transfers_nor_reads_a_balance(
    purses: Purses, unpaid: TestAgent
) -> None:
    body = {"receiver_agent_id": unpaid.did, "amount": "10"}
    headers = purses.developer.headers
    assert (await unpaid.registry.post("/teg/transfer", json=body, headers=headers)).status_code == 401
    assert (await unpaid.registry.get("/teg/balance", headers=headers)).status_code == 401


async def test_two_authorization_headers_are_refused(refused_payer: TestAgent, unpaid: TestAgent) -> None:
    headers = [("Authorization", f"Bearer {agent.token}") for agent in (refused_payer, unpaid)]
    body = {"receiver_agent_id": unpaid.did, "amount": "10"}
    assert (await unpaid.registry.post("/teg/transfer", json=body, headers=headers)).status_code == 401


async def test_a_suspended_account_sends_nothing(purses: Purses, alice: TestAgent, bob: TestAgent) -> None:
    await set_account_status(purses, alice, "suspended")
    assert refused(await alice.transfer(bob, "10")) == (403, "ACCOUNT_SUSPENDED")
    await set_account_status(purses, alice, "active")
    assert (await alice.transfer(bob, "10")).status_code == 200


async def test_a_suspended_account_receives_nothing(purses: Purses, alice: TestAgent, bob: TestAgent) -> None:
    await set_account_status(purses, bob, "suspended")
    answer = await alice.transfer(bob, "10")
    assert refused(answer) == (403, "ACCOUNT_SUSPENDED")
    assert bob.did in answer.json()["detail"]
    assert await alice.balance() == "100"


async def test_a_token_from_before_the_suspension_moves_nothing(
    purses: Purses, alice: TestAgent, bob: TestAgent
) -> None:
    assert (await alice.transfer(bob, "10")).status_code == 200
    await purses.execute("UPDATE agents_agent SET status = 'suspended' WHERE did = $1", alice.did)
    assert (await alice.transfer(bob, "10")).status_code == 403
    assert await bob.balance() == "10"


async def set_account_status(purses: Purses, agent: TestAgent, status: str) -> None:
    await purses.execute("UPDATE ledger_account SET status = $2 WHERE did = $1", agent.did, status)


async def test_an_agent_whose_roles_lack_the_permission_is_refused(
    start_registry: StartRegistry,
) -> None:
    strict = await start_purses(start_registry, agent_rbac_default_roles=["staker"])
    payer, payee = await strict.agent("100"), await strict.agent()
    answer = await payer.transfer(payee, "10")
    assert refused(answer) == (403, "PERMISSION_MISSING")
    assert answer.json()["error"]["context"] == {"permission": "teg.transfer"}
    assert await payer.balance() == "100"


@pytest.mark.parametrize("mode", ["shadow", "off"])
async def test_where_roles_are_not_enforced_they_do_not_matter(
    start_registry: StartRegistry, mode: str
) -> None:
    settings = {"agent_rbac_default_roles": ["staker"], "agent_rbac_mode": mode}
    lenient = await start_purses(start_registry, **settings)
    payer, payee = await lenient.agent("100"), await lenient.agent()
    assert (await payer.transfer(payee, "10")).status_code == 200


@pytest.mark.parametrize(
    ("amount", "receiver", "title"),
    [
        ("10", "alice", (400, "Bad Request", "bad_request")),
        ("1000", "bob", (402, "Payment Required", "payment_required")),
        ("10", TREASURY, (403, "Forbidden", "forbidden")),
        ("10", NOBODY, (404, "Not Found", "not_found")),
        ("-1", "bob", (422, "Unprocessable Entity", "validation_error")),
    ],
)
async def test_a_refusal_carries_both_envelopes(
    alice: TestAgent, bob: TestAgent, amount: str, receiver: str, title: tuple[int, str, str]
) -> None:
    answer = await alice.transfer({"alice": alice.did, "bob": bob.did}.get(receiver, receiver), amount)
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) == {"type", "title", "status", "detail", "instance", "error"}
    assert set(problem["error"]) == {"detail", "type", "code", "field", "context"}
    assert (answer.status_code, problem["title"], problem["error"]["type"]) == title
    assert problem["status"] == answer.status_code
    assert problem["instance"] == "/api/v1/teg/transfer"
    assert problem["type"].startswith("http")
    assert problem["type"].endswith(problem["error"]["code"])
    assert problem["detail"] == problem["error"]["detail"] != ""


async def test_another_method_is_refused_in_the_same_form(alice: TestAgent) -> None:
    answer = await alice.registry.get("/teg/transfer", headers=alice.headers)
    assert (answer.status_code, answer.json()["error"]["type"]) == (405, "method_not_allowed")


@pytest.mark.parametrize(
    ("amount", "fee"),
    [
        ("0.00000001", "0"),
        ("0.00000099", "0"),
        ("0.000001", "0"),
        ("0.00000101", "0.00000001"),
        ("0.000003", "0.00000002"),
        ("0.000005", "0.00000002"),
        ("0.000007", "0.00000004"),
    ],
)
async def test_the_fee_of_dust_is_rounded_half_to_even(
    alice: TestAgent, bob: TestAgent, amount: str, fee: str
) -> None:
    assert (await alice.transfer(bob, amount)).json()["fee_amount"] == fee
    assert await bob.balance() == amount


async def test_splitting_a_payment_into_dust_gains_no_more_than_the_rounding(
    purses: Purses, bob: TestAgent
) -> None:
    payer = await purses.agent("1")
    for _ in range(10):
        assert (await payer.transfer(bob, "0.000001")).status_code == 200
    assert (await payer.balance(), await bob.balance()) == ("0.99999", "0.00001")


async def test_the_largest_amount_and_the_smallest_unit_go_there_and_back_exactly(purses: Purses) -> None:
    payer, payee = await purses.agent("10000000000"), await purses.agent("100000000")
    await purses.grant(payer, "50000000.00000001")
    answer = await payer.transfer(payee, "10000000000")
    assert answer.json()["fee_amount"] == "50000000"
    assert (await payer.balance(), await payee.balance()) == ("0.00000001", "10100000000")
    assert (await payer.transfer(payee, "0.00000001")).json()["new_sender_balance"] == "0"
    assert await payee.balance() == "10100000000.00000001"
    back = await payee.transfer(payer, "10000000000")
    assert back.json()["new_sender_balance"] == "50000000.00000001"
    assert await payer.balance() == "10000000000"


async def test_a_large_share_of_the_supply_may_go_round_and_round_in_a_minute(purses: Purses) -> None:
    payer, payee = await purses.agent("10000000000"), await purses.agent("10000000000")
    for agent in (payer, payee):
        await purses.grant(agent, "10000000000")
    for _ in range(11):
        assert (await payer.transfer(payee, "10000000000")).status_code == 200
        assert (await payee.transfer(payer, "10000000000")).status_code == 200
    assert (await payer.transfer(payee, "1")).json()["fee_amount"] == "0.0275"


async def test_an_agent_that_turns_its_funds_over_quickly_pays_more(purses: Purses) -> None:
    alice, bob = await purses.agent("100"), await purses.agent("1000")
    fees = []
    for amount in ("90", "90", "50"):
        fees.append((await alice.transfer(bob, amount)).json()["fee_amount"])
        await bob.transfer(alice, amount)
    assert fees == ["0.45", "0.45", "0.45"]
    assert (await alice.transfer(bob, "50")).json()["fee_amount"] == "0.575"


async def test_the_fee_never_passes_five_percent(purses: Purses) -> None:
    alice, bob = await purses.agent("100"), await purses.agent("10000")
    for _ in range(12):
        fee = (await alice.transfer(bob, "85")).json()["fee_amount"]
        await bob.transfer(alice, str(85 + Decimal(fee)))
    assert (await alice.transfer(bob, "80")).json()["fee_amount"] == "4"


async def test_a_new_agent_holds_nothing(bob: TestAgent) -> None:
    answer = await bob.registry.get("/teg/balance", headers=bob.headers)
    assert (answer.status_code, answer.json()) == (200, {"agent_id": bob.did, "balance": "0"})


async def test_a_balance_is_a_plain_decimal_string(purses: Purses) -> None:
    holder = await purses.agent("0.00000001")
    assert await holder.balance() == "0.00000001"
    await purses.grant(holder, "10000000000")
    assert await holder.balance() == "10000000000.00000001"
