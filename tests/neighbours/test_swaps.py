"""Specification 2 "Cross-frame routes", 5 M and P, 6 S and W 16-17: transfers into another currency."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from hansa.rooms.auditor.cross_registry import compare_with_peers
from hansa.rooms.transfers.crossing import swap_batch as gathering_swaps
from hansa.rooms.transfers.crossing.corridor import Corridor
from hansa.rooms.transfers.crossing.reserving import CrossingRequest
from tests.neighbours.crossing_scene import LostCalls, across, deadlines_pass, open_rows, refusal, run
from tests.neighbours.pool_scene import Currencies, currencies, quote
from tests.neighbours.two_registries import Neighbour
from tests.registry import DatabaseFarm, TestAgent


@pytest.fixture(scope="module")
async def scene(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Currencies]:
    async with currencies(database_farm, tmp_path_factory.mktemp("swaps")) as scene:
        await scene.open_pool("10000", "20000")
        yield scene


async def agents(scene: Currencies) -> tuple[TestAgent, TestAgent]:
    return await scene.a.registry.agent(), await scene.b.registry.agent()


async def send(payer: TestAgent, payee: TestAgent, amount: str, **more: Any) -> Any:
    body = {"receiver_did": payee.did, "amount": amount, **more}
    return await payer.registry.post("/teg/send", json=body, headers=payer.headers)


@asynccontextmanager
async def gathered() -> AsyncIterator[list[int]]:
    """How many swaps each transaction of this block wrote: those that come while one is under way are the next one's."""
    written: list[int] = []
    right = gathering_swaps.reserve_together

    async def reserve_together(tx: Tx, corridor: Corridor, all_of: Sequence[CrossingRequest]) -> Any:
        written.append(len(all_of))
        return await right(tx, corridor, all_of)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering_swaps, "reserve_together", reserve_together)
        yield written


def units(text: str) -> int:
    whole, _, fraction = text.partition(".")
    return int(whole + fraction.ljust(8, "0"))


async def k_of(scene: Currencies) -> int:
    one, other = await scene.reserves()
    return units(one) * units(other)


async def test_a_transfer_into_another_currency_is_swapped_at_the_price_of_the_pool(scene: Currencies):
    alice, bob = await agents(scene)
    k = await k_of(scene)
    answer = await across(alice, bob.did, "10", message="Invoice 17")
    assert answer.status_code == 200, answer.text
    returned = answer.json()
    assert (returned["status"], returned["method"]) == ("completed", "fx")
    assert (returned["amount"], returned["currency_sent"]) == ("10", "ARA")
    # gross = floor(20000 * 10 / 10010) = 19.98001998; the fee is 0.0999001.
    assert (returned["amount_received"], returned["currency_received"]) == ("19.88011988", "BOB")
    assert (returned["fee_amount"], returned["fee_currency"]) == ("0.0999001", "BOB")
    assert returned["new_sender_balance"] == "90"
    await scene.settle()
    assert (await alice.balance(), await bob.balance()) == ("90", "119.88011988")
    assert await scene.reserves() == ("10010", "19980.11988012")
    assert await k_of(scene) > k
    await scene.prove()
    assert (await open_rows(scene.a), await open_rows(scene.b)) == (0, 0)
    for party in (alice, bob):
        state = (
            await party.registry.get(f"/teg/transfers/{returned['transfer_id']}", headers=party.headers)
        ).json()
        assert (state["state"], state["amount_received"], state["currency_received"]) == (
            "committed",
            "19.88011988",
            "BOB",
        )


async def test_the_home_prices_both_directions(scene: Currencies):
    alice, bob = await agents(scene)
    quoted = (await quote(bob, receiver_did=alice.did, amount="20")).json()
    sent = (await send(bob, alice, "20")).json()
    assert (sent["method"], sent["status"], sent["currency_received"]) == ("fx", "completed", "ARA")
    assert sent["amount_received"] == quoted["amount_out"]
    assert (sent["fee_amount"], sent["new_sender_balance"]) == (quoted["fee"], "80")
    await scene.settle()
    assert units(await alice.balance()) == units("100") + units(quoted["amount_out"])
    await scene.prove()
    await scene.reserves()


async def test_a_dry_run_states_the_price_and_moves_nothing(scene: Currencies):
    alice, bob = await agents(scene)
    before = await scene.reserves()
    planned = (await send(alice, bob, "10", dry_run=True)).json()
    assert (planned["method"], planned["status"], planned["currency_received"]) == ("fx", "dry_run", "BOB")
    sent = (await send(alice, bob, "10")).json()
    assert planned["amount_received"] == sent["amount_received"]
    await scene.settle()
    assert before != await scene.reserves()


@pytest.mark.parametrize("sender_is_home", [True, False])
async def test_a_quote_is_honoured_or_refused_and_never_silently_worse(
    scene: Currencies, sender_is_home: bool
):
    alice, bob = await agents(scene)
    payer, payee = (alice, bob) if sender_is_home else (bob, alice)
    first = (await quote(payer, receiver_did=payee.did, amount="5")).json()
    second = (await quote(payer, receiver_did=payee.did, amount="5")).json()
    honoured = await send(payer, payee, "5", quote_id=first["quote_id"])
    assert honoured.status_code == 200, honoured.text
    assert units(honoured.json()["amount_received"]) >= units(first["amount_out"])
    await scene.settle()
    # The price has moved since the second quote.
    assert await refusal(await send(payer, payee, "5", quote_id=second["quote_id"])) == (
        409,
        "BELOW_MIN_AMOUNT_OUT",
    )
    # The other direction moves it back: the quote, not spent by the refusal, is honoured.
    back = await send(payee, payer, "20" if sender_is_home else "10")
    assert back.status_code == 200
    await scene.settle()
    late = await send(payer, payee, "5", quote_id=second["quote_id"])
    assert late.status_code == 200, late.text
    assert units(late.json()["amount_received"]) >= units(second["amount_out"])
    assert await refusal(await send(payer, payee, "5", quote_id=second["quote_id"])) == (409, "QUOTE_ENDED")
    await scene.settle()
    await scene.prove()


async def test_a_quote_is_of_its_agent_amount_and_minute(scene: Currencies):
    alice, bob = await agents(scene)
    other = await scene.a.registry.agent()
    made = (await quote(alice, receiver_did=bob.did, amount="5")).json()
    by = made["quote_id"]
    assert await refusal(await send(other, bob, "5", quote_id=by)) == (404, "QUOTE_UNKNOWN")
    assert await refusal(await send(alice, bob, "4", quote_id=by)) == (422, "QUOTE_DIFFERS")
    assert await refusal(await send(alice, other, "5", quote_id=by)) == (422, "NOT_A_SWAP")
    assert (await send(alice, bob, "5", quote_id="none")).status_code == 422
    await scene.a.registry.database.transaction(
        lambda tx: tx.execute("UPDATE transfers_quote SET expires_at = now() - interval '1 second'")
    )
    assert await refusal(await send(alice, bob, "5", quote_id=by)) == (409, "QUOTE_ENDED")
    assert await alice.balance() == "100"


async def test_two_swaps_at_once_with_one_quote_are_one(scene: Currencies):
    alice, bob = await agents(scene)
    made = (await quote(alice, receiver_did=bob.did, amount="1")).json()
    answers = await asyncio.gather(*(send(alice, bob, "1", quote_id=made["quote_id"]) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    await scene.settle()
    assert await alice.balance() == "99"
    await scene.prove()


@pytest.mark.parametrize("sender_is_home", [True, False])
async def test_a_swap_below_min_amount_out_is_refused_and_moves_nothing(
    scene: Currencies, sender_is_home: bool
):
    alice, bob = await agents(scene)
    payer, payee = (alice, bob) if sender_is_home else (bob, alice)
    priced = (await quote(payer, receiver_did=payee.did, amount="5")).json()["amount_out"]
    before = await scene.reserves()
    more = f"{(units(priced) + 1) / 10**8:.8f}"
    assert await refusal(await send(payer, payee, "5", min_amount_out=more)) == (409, "BELOW_MIN_AMOUNT_OUT")
    for bad in ("0", "-1", "x", 1):
        assert (await send(payer, payee, "5", min_amount_out=bad)).status_code == 422
    await scene.settle()
    assert (await payer.balance(), await payee.balance()) == ("100", "100")
    assert await scene.reserves() == before
    exactly = await send(payer, payee, "5", min_amount_out=priced)
    assert exactly.status_code == 200, exactly.text
    await scene.settle()
    await scene.prove()


async def test_concurrent_pieces_never_lower_k(scene: Currencies):
    """50 pieces priced before any of them is decided, in both directions, some of which are aborted."""
    payers = [await scene.a.registry.agent() for _ in range(6)] + [
        await scene.b.registry.agent() for _ in range(6)
    ]
    alice, bob = await agents(scene)
    k = await k_of(scene)

    async def piece(n: int) -> int:
        payer = payers[n % 12]
        payee = bob if payer.registry is scene.a.registry else alice
        answer = await across(payer, payee.did, "10", backend="async", min_amount_out="0.00000001")
        return answer.status_code

    statuses = await asyncio.gather(*(piece(n) for n in range(50)))
    assert set(statuses) == {200}
    await scene.a.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE transfers_sent SET deadline = now() WHERE state = 'reserved' AND transfer_id::text < '4'"
        )
    )
    await scene.settle()
    assert await k_of(scene) > k
    await scene.prove()


async def test_swaps_at_the_same_moment_are_each_priced_with_those_before_and_refused_alone(
    scene: Currencies,
):
    payers = [await scene.a.registry.agent() for _ in range(6)]
    alice, bob = await agents(scene)
    key = {"Idempotency-Key": "one-of-many"}

    async def keyed() -> Any:
        body = {"receiver_did": bob.did, "amount": "2"}
        return await alice.registry.post("/teg/send", json=body, headers={**alice.headers, **key})

    async with gathered() as written:
        *good, poor, low, first, second = await asyncio.gather(
            *(send(payer, bob, "3", min_amount_out="0.1") for payer in payers[:4]),
            send(payers[4], bob, "100.5", min_amount_out="0.1"),
            send(payers[5], bob, "3", min_amount_out="900"),
            keyed(),
            keyed(),
        )
    assert [answer.status_code for answer in good] == [200] * 4
    assert await refusal(poor) == (402, "INSUFFICIENT_BALANCE")
    assert await refusal(low) == (409, "BELOW_MIN_AMOUNT_OUT")
    assert 200 in {first.status_code, second.status_code} <= {200, 422}
    received = [units(answer.json()["amount_received"]) for answer in good]
    assert len(set(received)) == len(received), "each is priced with those before it pending"
    assert max(written) > 1
    await scene.settle()
    assert await alice.balance() == "98"
    made = first if first.status_code == 200 else second
    again = await keyed()
    assert again.json()["transfer_id"] == made.json()["transfer_id"]
    await scene.prove()


async def test_a_swap_whose_peer_is_silent_is_aborted_and_frees_what_it_reserved(
    scene: Currencies, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await agents(scene)
    before = await scene.reserves()
    lost = LostCalls(monkeypatch)
    lost.loses = lambda _: "request"
    assert await refusal(await send(alice, bob, "5")) == (503, "CROSSING_TIMEOUT")
    lost.loses = lambda _: "answer"
    assert await refusal(await send(bob, alice, "5")) == (503, "CROSSING_TIMEOUT")
    lost.loses = lambda _: None
    await scene.settle()
    assert await scene.reserves() == before
    assert (await alice.balance(), await bob.balance()) == ("100", "100")
    await scene.prove()


async def test_a_peer_that_aborts_a_swap_for_which_this_registry_was_prepared_loses_trust_once_an_hour(
    scene: Currencies, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await agents(scene)
    with monkeypatch.context() as patch:
        lost = LostCalls(patch)
        lost.loses = lambda _: "answer"
        for _ in range(2):
            assert await refusal(await send(bob, alice, "5")) == (503, "CROSSING_TIMEOUT")
    await scene.settle()
    peer = await scene.a.peer(scene.b)
    signals = await scene.a.registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT count(*) FROM federation_peer_signal WHERE peer_id = $1 AND kind = 'swap_aborted'",
            peer.id,
        )
    )
    assert signals == 1


async def test_the_limits_of_the_pool_are_those_of_the_registry_whose_unit_it_is(scene: Currencies):
    rich = await scene.a.registry.agent()
    _, bob = await agents(scene)
    await grant(scene.a, rich, 5000)
    assert await refusal(await send(rich, bob, "1001", min_amount_out="1")) == (422, "SIZE_CAP")
    # Without a minimum, what is lost to the size of the swap is bounded.
    assert await refusal(await send(rich, bob, "900")) == (409, "BELOW_MIN_AMOUNT_OUT")
    assert await rich.balance() == "5100"


async def test_the_breaker_refuses_and_opens_again_after_an_hour(scene: Currencies):
    rich, poor = await scene.a.registry.agent(), await scene.b.registry.agent()
    await grant(scene.a, rich, 5000)
    sent = 0
    while (answer := await send(rich, poor, "400", min_amount_out="1")).status_code == 200:
        sent += 1
        await scene.settle()
    assert await refusal(answer) == (409, "BREAKER_OPEN")
    assert sent > 0
    back = await send(poor, rich, "50", min_amount_out="1")
    assert back.status_code == 200, back.text
    for one in (scene.a, scene.b):
        await an_hour_passes(one)
    assert (await send(rich, poor, "400", min_amount_out="1")).status_code == 200
    await scene.settle()
    await scene.prove()


async def test_an_async_swap_is_locked_and_keeps_its_deadline(scene: Currencies):
    alice, bob = await agents(scene)
    returned = (await across(alice, bob.did, "5", backend="async")).json()
    assert (returned["status"], returned["method"]) == ("locked", "fx")
    await deadlines_pass(scene.a)
    await scene.settle()
    state = await alice.registry.get(f"/teg/transfers/{returned['transfer_id']}", headers=alice.headers)
    assert state.json()["state"] == "aborted"
    assert await alice.balance() == "100"
    await scene.prove()


async def test_a_swap_leaves_transit_as_it_was_and_counts_in_the_audit_across_in_both_currencies(
    scene: Currencies,
):
    async def audited(one: Neighbour) -> dict[str, dict[str, Any]]:
        answer = await one.registry.get("/projections/cross-frame-audit", headers=one.registry.internal)
        return {pair["currency"]: pair for pair in answer.json()["pairs"]}

    async def transit(one: Neighbour) -> int:
        found: int = await one.registry.database.query(
            lambda tx: tx.fetchval("SELECT sum(transit) FROM ledger_account")
        )
        return found

    alice, bob = await agents(scene)
    await scene.settle()
    before = await audited(scene.a)
    in_transit = [await transit(one) for one in (scene.a, scene.b)]
    for payer, payee in ((alice, bob), (bob, alice)):
        assert (await send(payer, payee, "5", min_amount_out="0.1")).status_code == 200
    await scene.settle()
    for one in (scene.a, scene.b):
        await compare_with_peers(one.registry.runtime)
    assert [await transit(one) for one in (scene.a, scene.b)] == in_transit
    of_a, of_b = await audited(scene.a), await audited(scene.b)
    assert set(of_a) == set(of_b) == {"ARA", "BOB"}
    assert Decimal(of_a["ARA"]["out"]) == Decimal(before["ARA"]["out"]) + 5
    for currency in ("ARA", "BOB"):
        one, other = of_a[currency], of_b[currency]
        assert (one["out"], one["in"]) == (other["in"], other["out"])
        assert [(pair["in_flight"], pair["disputed"], pair["delta"]) for pair in (one, other)] == [
            ("0", "0", "0")
        ] * 2


async def test_a_swap_that_one_side_alone_records_is_named_on_both_in_its_currency(scene: Currencies):
    alice, bob = await agents(scene)
    assert (await send(alice, bob, "5", min_amount_out="0.1")).status_code == 200
    await scene.settle()
    more = "UPDATE transfers_swapped SET foreign_in = foreign_in + $1"
    await run(scene.b, more, 7)
    try:
        for one in (scene.a, scene.b):
            await compare_with_peers(one.registry.runtime)
        for one in (scene.a, scene.b):
            answer = await one.registry.get("/projections/cross-frame-audit", headers=one.registry.internal)
            found = {pair["currency"]: pair for pair in answer.json()["pairs"]}
            assert (found["ARA"]["disputed"], found["ARA"]["delta"]) == ("0.00000007", "0.00000007")
            assert (found["BOB"]["disputed"], found["BOB"]["delta"]) == ("0", "0")
    finally:
        await run(scene.b, more, -7)
        for one in (scene.a, scene.b):
            await compare_with_peers(one.registry.runtime)


async def test_an_aborted_swap_frees_its_idempotency_key(scene: Currencies, monkeypatch: pytest.MonkeyPatch):
    alice, bob = await agents(scene)
    with monkeypatch.context() as patch:
        lost = LostCalls(patch)
        lost.loses = lambda _: "request"
        assert await refusal(await across(alice, bob.did, "5", key="freed")) == (503, "CROSSING_TIMEOUT")
    again = await across(alice, bob.did, "5", key="freed")
    assert again.status_code == 200, again.text
    assert "Idempotent-Replayed" not in again.headers
    replayed = await across(alice, bob.did, "5", key="freed")
    assert replayed.json()["transfer_id"] == again.json()["transfer_id"]
    await scene.settle()
    assert await alice.balance() == "95"


async def test_statements_and_events_name_both_currencies(scene: Currencies):
    alice, bob = await agents(scene)
    returned = (await send(alice, bob, "5")).json()
    await scene.settle()
    for one, did in ((alice, bob.did), (bob, alice.did)):
        lines = (await one.registry.get("/teg/transactions", headers=one.headers)).json()["items"]
        assert lines[0]["counterparty"] == did, lines[0]
    recent = (await scene.a.registry.get("/public/eventstore-recent")).json()["events"]
    completed = next(one for one in recent if one["event_type"] == "CrossRegistryTransferCompleted")
    data = completed["data"]
    assert (data["amount"], data["currency"]) == ("5", "ARA")
    assert (data["amount_received"], data["currency_received"]) == (returned["amount_received"], "BOB")


async def grant(one: Neighbour, agent: TestAgent, granted: int) -> None:
    book = ledger.Book.of(one.registry.settings)
    await one.registry.database.transaction(
        lambda tx: ledger.grant(tx, payee=agent.did, amount=Minor(granted * 10**8), ref="test", book=book)
    )


async def an_hour_passes(one: Neighbour) -> None:
    await one.registry.database.transaction(
        lambda tx: tx.execute("UPDATE transfers_pool_minute SET minute = minute - interval '61 minutes'")
    )
    await one.registry.database.transaction(
        lambda tx: tx.execute("UPDATE transfers_pool SET base_at = base_at - interval '61 minutes'")
    )


async def test_the_page_shows_pools_with_reserves_prices_and_fees(scene: Currencies):
    alice, bob = await agents(scene)
    assert (await send(alice, bob, "5")).status_code == 200
    assert (await send(bob, alice, "5")).status_code == 200
    await scene.settle()
    page = (await scene.a.registry.http.get("/swaps")).text
    assert page.count("<figure") == 3
    for shown in ("ARA and BOB", "b.example", "BOB for 1 ARA", "Fees kept each hour, ARA"):
        assert shown in page
    returned = (await scene.b.registry.http.get("/swaps.json")).json()
    (pool,) = returned["pools"]
    assert (returned["currency"], pool["currency"], pool["home"]) == ("BOB", "ARA", "a.example")
    of_b = await scene.pool(scene.b)
    assert (pool["reserve_own"], pool["reserve_foreign"]) == (of_b["reserve_from"], of_b["reserve_to"])
    assert all(float(one["rate"]) > 0 for one in pool["history"])
