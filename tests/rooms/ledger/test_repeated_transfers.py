"""Promises of an Idempotency-Key to a payer."""

from collections.abc import AsyncIterator

import pytest

from tests.registry import DatabaseFarm
from tests.rooms.ledger.purses import Purses, open_purses

_AGE = """
UPDATE plumbing_idempotency SET created_at = created_at - $3 * interval '1 minute'
WHERE scope_sha256 = sha256(convert_to(concat_ws(E'\\n', $1::text, '/teg/transfer', $2::text), 'UTF8'))
"""


@pytest.fixture(scope="module")
async def purses(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Purses]:
    async with open_purses(database_farm, tmp_path_factory.mktemp("repeated")) as purses:
        yield purses
        await purses.prove()


async def test_a_repeated_order_moves_money_once(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    for _ in range(3):
        await payer.transfer(payee, "10", key="again")
    assert (await payer.balance(), await payee.balance()) == ("89.95", "10")


async def test_a_repetition_gets_the_first_answer_byte_for_byte_and_is_marked(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    first = await payer.transfer(payee, "10", key="again", message="für Übersetzung 👾")
    await payer.transfer(payee, "1")
    second = await payer.transfer(payee, "10", key="again", message="für Übersetzung 👾")
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.content == second.content
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize("change", [{"amount": "11"}, {"amount": "10.0"}, {"message": "other"}])
async def test_another_body_under_the_same_key_is_refused(purses: Purses, change: dict[str, str]) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    await payer.transfer(payee, "10", key="again")
    refusal = await payer.transfer(payee, **{"amount": "10", **change}, key="again")
    assert (refusal.status_code, refusal.json()["error"]["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert await payer.balance() == "89.95"


async def test_another_receiver_under_the_same_key_is_refused(purses: Purses) -> None:
    payer, payee, other = await purses.agent("100"), await purses.agent(), await purses.agent()
    await payer.transfer(payee, "10", key="again")
    for receiver in (other, payer, "did:hansa:system:treasury", "did:hansa:hansa.local:nobody"):
        refusal = await payer.transfer(receiver, "10", key="again")
        assert (refusal.status_code, refusal.json()["error"]["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_a_refused_other_body_leaves_the_first_answer_in_place(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    first = await payer.transfer(payee, "10", key="again")
    await payer.transfer(payee, "11", key="again")
    assert (await payer.transfer(payee, "10", key="again")).content == first.content


async def test_the_same_key_of_another_caller_is_a_fresh_order(purses: Purses) -> None:
    alice, bob, payee = await purses.agent("100"), await purses.agent("100"), await purses.agent()
    first, second = await alice.transfer(payee, "10", key="ours"), await bob.transfer(payee, "10", key="ours")
    assert second.json()["sender_agent_id"] == bob.did
    assert first.json()["transaction_id"] != second.json()["transaction_id"]
    assert "Idempotent-Replayed" not in second.headers
    assert await payee.balance() == "20"


async def test_the_same_key_on_another_route_is_a_fresh_order(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    await payer.transfer(payee, "10", key="ours")
    headers = {**payer.headers, "Idempotency-Key": "ours"}
    body = {"receiver_did": payee.did, "amount": "10"}
    sent = await purses.registry.post("/teg/send", json=body, headers=headers)
    assert (sent.status_code, sent.headers.get("Idempotent-Replayed")) == (200, None)
    assert await payee.balance() == "20"


async def test_orders_without_a_key_are_all_carried_out(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    await payer.transfer(payee, "10")
    await payer.transfer(payee, "10")
    assert await payee.balance() == "20"


@pytest.mark.parametrize(
    "key",
    [
        b"",
        b"k" * 256,
        b"k" * 10_240,
        b"a\x00b",
        b"with space",
        b"tab\there",
        b"\x7f",
        "schlüssel".encode(),
        "clé".encode("latin-1"),
        "👾".encode(),
    ],
    ids=["empty", "256", "10 KB", "NUL", "space", "tab", "DEL", "UTF-8", "Latin-1", "emoji"],
)
async def test_a_hostile_key_is_refused_and_nothing_moves(purses: Purses, key: bytes) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    headers = [(b"authorization", f"Bearer {payer.token}".encode()), (b"idempotency-key", key)]
    body = {"receiver_agent_id": payee.did, "amount": "10"}
    refusal = await purses.registry.post("/teg/transfer", json=body, headers=headers)
    assert refusal.status_code == 422
    assert refusal.json()["error"]["type"] == "validation_error"
    assert await payer.balance() == "100"


@pytest.mark.parametrize("key", ["k", "k" * 255, "!~", '"9b2f-quoted"', "%00"])
async def test_a_key_of_printable_ascii_is_taken(purses: Purses, key: str) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    assert (await payer.transfer(payee, "10", key=key)).status_code == 200
    assert (await payer.transfer(payee, "10", key=key)).headers["Idempotent-Replayed"] == "true"


async def test_a_key_holds_for_a_day(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    await payer.transfer(payee, "10", key="today")
    await purses.execute(_AGE, payer.did, "today", 24 * 60 - 5)
    assert "Idempotent-Replayed" in (await payer.transfer(payee, "10", key="today")).headers


async def test_after_a_day_a_key_is_free_again_and_holds_its_new_order(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    await payer.transfer(payee, "10", key="yesterday")
    await purses.execute(_AGE, payer.did, "yesterday", 24 * 60)
    fresh = await payer.transfer(payee, "20", key="yesterday")
    assert (fresh.status_code, fresh.json()["amount"]) == (200, "20")
    assert (await payer.transfer(payee, "20", key="yesterday")).content == fresh.content
    assert await payee.balance() == "30"


@pytest.mark.parametrize("refused", ["402", "404", "400", "422"])
async def test_a_refused_order_leaves_its_key_free(purses: Purses, refused: str) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    wrong = {
        "402": (payee, "1000"),
        "404": ("did:hansa:hansa.local:nobody", "10"),
        "400": (payer, "10"),
        "422": (payee, "-10"),
    }[refused]
    assert (await payer.transfer(*wrong, key="free")).status_code == int(refused)
    answer = await payer.transfer(payee, "10", key="free")
    assert answer.status_code == 200
    assert "Idempotent-Replayed" not in answer.headers


async def test_a_refused_order_with_a_key_succeeds_once_it_is_covered(purses: Purses) -> None:
    payer, payee = await purses.agent("10"), await purses.agent()
    assert (await payer.transfer(payee, "10", key="later")).status_code == 402
    await purses.grant(payer, "1")
    assert (await payer.transfer(payee, "10", key="later")).status_code == 200
