"""Payment tokens at one moment: a hundred verifications at once, and requests on either side of the expiry."""

import asyncio
from collections.abc import Awaitable
from datetime import datetime
from typing import Any

import asyncpg
import pytest

from hansa.rooms.commerce.payments import Verifier, VerifyOrder, expire_due_tokens
from hansa.rooms.commerce.payments.verify import FEWEST_BESIDE
from tests.paying import Payments
from tests.payment_proof import prove_tokens
from tests.properties.proof import prove_book
from tests.registry import TestRegistry, another_process, at_once

AHEAD_SECONDS = 0.04

IS_BLOCKED = (
    "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid)))"
)
_LOCK = "SELECT FROM commerce_payment_token WHERE id = $1 FOR UPDATE"
_EXPIRES_SOON = """
UPDATE commerce_payment_token SET expires_at = clock_timestamp() + $2 * interval '1 second'
WHERE id = $1 RETURNING expires_at
"""


@pytest.fixture
async def payments(registry: TestRegistry) -> Payments:
    return await Payments.between_two(registry)


async def expires_soon(payments: Payments, token_id: str) -> datetime:
    return await payments.registry.database.transaction(
        lambda tx: tx.fetchval(_EXPIRES_SOON, token_id, AHEAD_SECONDS)
    )


async def timed(payments: Payments, request: Awaitable[Any]) -> tuple[datetime, Any, datetime]:
    """The answer, between two readings of the database's clock."""

    async def now() -> datetime:
        return await payments.registry.database.query(lambda tx: tx.fetchval("SELECT clock_timestamp()"))

    return await now(), await request, await now()


async def proven(payments: Payments) -> None:
    await payments.registry.database.read(prove_tokens)
    await payments.registry.database.read(prove_book)
    assert (await payments.registry.supply())["delta"] == "0"


async def test_verifications_pass_one_that_waits_for_a_rival(payments: Payments):
    waited_for, other = await payments.authorized(), await payments.authorized()
    database = payments.registry.database
    verifier = Verifier(payments.registry.runtime)
    rival = await asyncpg.connect(database.dsn)
    try:
        locking = rival.transaction()
        await locking.start()
        await rival.execute(_LOCK, waited_for["token_id"])
        waiting = asyncio.create_task(verifier.verify(VerifyOrder(waited_for["token"])))
        while not await rival.fetchval(IS_BLOCKED):  # noqa: ASYNC110
            await asyncio.sleep(0)
        passing = await asyncio.gather(
            *(verifier.verify(VerifyOrder(other["token"])) for _ in range(FEWEST_BESIDE))
        )
        assert [one.is_first_use for one in passing].count(True) == 1
        assert not waiting.done()
        await locking.commit()
        assert (await waiting).is_first_use
    finally:
        await rival.close()


async def test_of_100_verifications_at_once_by_different_uses_one_is_the_first_use(payments: Payments):
    made = await payments.authorized()
    answers = await at_once(*(payments.verify(made["token"], use_id=f"store.{n}") for n in range(100)))
    assert {(answer["valid"], answer["status"]) for answer in answers} == {(True, "consumed")}
    [first] = [n for n, answer in enumerate(answers) if answer["first_use"]]
    again = await payments.verify(
        made["token"], use_id=f"store.{first}", target_agent_did=payments.service.did
    )
    assert (again["first_use"], again["first_use_id"]) == (True, f"store.{first}")


async def test_of_verifications_in_four_processes_at_once_one_is_the_first_use(payments: Payments):
    verifiers = [Verifier(another_process(payments.registry.runtime)) for _ in range(4)]
    for _ in range(5):
        token = (await payments.authorized())["token"]
        orders = [VerifyOrder(token, use_id=f"store.{n}") for n in range(100)]
        found = await asyncio.gather(*(verifiers[n % 4].verify(order) for n, order in enumerate(orders)))
        assert [one.is_first_use for one in found].count(True) == 1
        assert {one.error for one in found} == {None}


async def test_a_token_is_valid_up_to_its_expiry_and_not_after_it(payments: Payments):
    made = await payments.authorized("10", reserve=True)
    expires = await expires_soon(payments, made["token_id"])
    seen = set()
    while "Token expired" not in seen:
        before, answer, after = await timed(payments, payments.verify(made["token"]))
        if before > expires:
            assert answer["error"] == "Token expired"
        if after <= expires:
            assert answer["valid"]
        seen.add(answer["error"])
    assert await payments.caller.balance() == "100"
    await proven(payments)


async def test_the_sweep_ends_a_token_after_its_expiry_and_not_before(payments: Payments):
    made = await payments.authorized("10", reserve=True)
    expires = await expires_soon(payments, made["token_id"])
    status = "authorized"
    while status == "authorized":
        before, _, after = await timed(payments, expire_due_tokens(payments.registry.runtime))
        status = (await payments.listed(made["token_id"]))["status"]
        if before > expires:
            assert status == "expired"
        if after <= expires:
            assert status == "authorized"
    assert status == "expired"
    await proven(payments)


async def test_the_sweep_ends_all_that_is_due_however_many_and_of_whatever_kind(
    payments: Payments, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.rooms.commerce.payments.ending.EXPIRED_AT_ONCE", 2)
    made = [await payments.authorized("1", reserve=number < 5) for number in range(8)]
    for one in made:
        await payments.past_expiry(one["token_id"])
    await expire_due_tokens(payments.registry.runtime)
    assert {(await payments.listed(one["token_id"]))["status"] for one in made} == {"expired"}
    await proven(payments)


async def test_a_token_that_the_sweep_cannot_end_hinders_no_other(payments: Payments):
    stuck, other = [await payments.authorized("10", reserve=True) for _ in range(2)]
    refused = (
        f"ALTER TABLE commerce_payment_token ADD CHECK (id <> '{stuck['token_id']}' OR status <> 'expired')"
    )
    await payments.registry.database.transaction(lambda tx: tx.execute(refused))
    for one in (stuck, other):
        await payments.past_expiry(one["token_id"])
    await expire_due_tokens(payments.registry.runtime)
    statuses = [(await payments.listed(one["token_id"]))["status"] for one in (stuck, other)]
    assert statuses == ["authorized", "expired"]
    await proven(payments)


async def test_a_settlement_at_the_very_expiry_pays_or_the_token_expires(payments: Payments):
    for number in range(10):
        made = await payments.authorized("1", reserve=number % 2 == 0)
        expires = await expires_soon(payments, made["token_id"])
        # Begun a little later each time, so that some come before the expiry and some after it.
        await asyncio.sleep(AHEAD_SECONDS * number / 8)
        requests = asyncio.gather(
            payments.settle(made["token"]), expire_due_tokens(payments.registry.runtime)
        )
        before, (settled, _), after = await timed(payments, requests)
        ended = await payments.ended(made["token_id"])
        assert (settled.status_code, ended["status"]) in {(200, "settled"), (400, "expired")}
        if before > expires:
            assert ended["status"] == "expired"
        if after <= expires:
            assert ended["status"] == "settled"
    await proven(payments)
