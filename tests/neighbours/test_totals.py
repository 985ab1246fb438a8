"""Totals between two registries over mutual TLS: agreement, units in transit, and a disagreement named on both sides."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Self
from uuid import UUID, uuid4

import pytest
from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import federation, ledger
from hansa.rooms.auditor.cross_registry import compare_with_peers, exchange, routes
from hansa.rooms.auditor.cross_registry.exchange import own_id, own_totals
from hansa.rooms.auditor.cross_registry.rules import Totals
from hansa.rooms.auditor.cross_registry.statements import signed_statement
from hansa.rooms.transfers import confirmed_between
from tests.neighbours.crossing_scene import across, settle
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, TestAgent

AMOUNT, FEE = parse_amount("10"), parse_amount("0.05")
ROUTE = "/api/v1/federation/totals"
AGREED = {"disputed": "0", "delta": "0"}


class Border:
    """Two registries, an agent of each, and the steps of transfers from a to b."""

    def __init__(self, pair: Neighbours, sender: TestAgent, receiver: TestAgent) -> None:
        self.a, self.b, self.sender, self.receiver = pair.a, pair.b, sender, receiver

    async def carry_out(self, one: Neighbour, *steps: Any) -> None:
        book = ledger.Book.of(one.registry.settings)
        orders = [step.order(book) for step in steps]
        await one.registry.database.transaction(lambda tx: ledger.apply(tx, orders, book))

    async def send(self, transfer: UUID) -> None:
        reserve = ledger.ReserveOut("b.example", transfer, self.sender.did, AMOUNT)
        await self.carry_out(self.a, reserve, ledger.CommitOut("b.example", transfer))

    async def credit(self, transfer: UUID) -> None:
        reserve = ledger.ReserveIn("a.example", transfer, self.receiver.did, AMOUNT, FEE, None)
        await self.carry_out(self.b, reserve, ledger.CommitIn("a.example", transfer))

    async def confirm(self, transfer: UUID) -> None:
        book = ledger.Book.of(self.a.registry.settings)
        await self.a.registry.database.transaction(
            lambda tx: ledger.confirm_out(tx, "b.example", [transfer], book)
        )

    async def compare(self) -> None:
        for one in (self.a, self.b):
            await compare_with_peers(one.registry.runtime)

    async def pair(self, one: Neighbour) -> dict[str, Any]:
        answer = await one.registry.get("/projections/cross-frame-audit", headers=one.registry.internal)
        assert answer.status_code == 200, answer.text
        (found,) = answer.json()["pairs"]
        return {
            name: value for name, value in found.items() if name not in {"as_of", "currency", "ledger_id"}
        }

    async def statement(self, key: federation.SigningKey | None = None, **more: str) -> str:
        """A statement of a to b."""
        runtime = self.a.registry.runtime
        signing = key or await federation.Signatory(runtime.database, runtime.seal).present_key()
        names = {"author": own_id(runtime), "reader": own_id(self.b.registry.runtime), "nonce": "n", **more}
        return signed_statement(signing, Totals(0, 0, 0), **names)


@pytest.fixture
async def border(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Border]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("totals")) as pair:
        yield Border(pair, await pair.a.registry.agent(), await pair.b.registry.agent())
        # A listener that ends waits for the connections of the other one.
        for one in (pair.a, pair.b):
            await federation.PEER_CALLS.of(one.registry.runtime).close()


async def test_when_quiet_both_sides_agree_and_delta_is_exactly_0(border: Border):
    transfer = uuid4()
    await border.send(transfer)
    await border.credit(transfer)
    for _ in range(2):
        await border.confirm(transfer)
    await border.compare()
    assert await border.pair(border.a) == {
        "peer": "registry-b",
        "out": "10",
        "in": "0",
        "in_flight": "0",
        **AGREED,
    }
    assert await border.pair(border.b) == {
        "peer": "registry-a",
        "out": "0",
        "in": "10",
        "in_flight": "0",
        **AGREED,
    }


async def test_a_receipt_confirms_a_transfer_and_counts_for_the_trust_of_both_peers(border: Border):
    answer = await across(border.sender, border.receiver.did, "10")
    assert answer.status_code == 200, answer.text
    await settle(border.a, border.b)
    (totals,) = await border.a.registry.database.read(ledger.corridor_totals)
    assert (totals.committed_out, totals.confirmed_out) == (AMOUNT, AMOUNT)
    await border.compare()
    for one, other in ((border.a, border.b), (border.b, border.a)):
        found = await border.pair(one)
        assert (found["in_flight"], found["disputed"], found["delta"]) == ("0", "0", "0")
        assert (await one.peer(other)).total_interactions == 1


async def test_what_is_in_transit_is_in_flight_and_no_disagreement(border: Border):
    committed = uuid4()
    await border.send(committed)
    reserve = ledger.ReserveOut("b.example", uuid4(), border.sender.did, AMOUNT)
    await border.carry_out(border.a, reserve)
    await border.compare()
    found = await border.pair(border.a)
    assert found == {"peer": "registry-b", "out": "10", "in": "0", "in_flight": "20", **AGREED}
    await border.credit(committed)
    await border.compare()
    assert (await border.pair(border.a))["in_flight"] == "10"


async def test_a_credit_that_nobody_sent_is_named_on_both_sides(border: Border):
    await border.send(uuid4())
    for _ in range(2):
        await border.credit(uuid4())
    await border.compare()
    for one in (border.a, border.b):
        found = await border.pair(one)
        assert (found["disputed"], found["delta"]) == ("10", "10")


async def test_a_confirmed_transfer_that_the_peer_lost_is_named_on_both_sides(border: Border):
    transfer = uuid4()
    await border.send(transfer)
    await border.credit(transfer)
    await border.confirm(transfer)
    await border.b.registry.database.transaction(
        lambda tx: tx.execute("UPDATE ledger_corridor SET committed_in = 0")
    )
    await border.compare()
    assert (await border.pair(border.a))["delta"] == "-10"
    # At b the gap of its own transit account counts as well.
    assert (await border.pair(border.b))["disputed"] == "10"


class Traffic:
    """Transfers in both directions, without a pause, while the block runs."""

    def __init__(self, border: Border) -> None:
        self._border = border
        self._ended = False
        self._crossed = asyncio.Event()

    async def __aenter__(self) -> Self:
        directions = (
            (self._border.sender, self._border.receiver),
            (self._border.receiver, self._border.sender),
        )
        self._tasks = [
            asyncio.create_task(self._send(*direction)) for direction in directions for _ in range(3)
        ]
        await self.next_crossing()
        return self

    async def next_crossing(self) -> None:
        self._crossed.clear()
        await asyncio.wait_for(self._crossed.wait(), 60)

    async def __aexit__(self, *_: object) -> None:
        self._ended = True
        await asyncio.gather(*self._tasks)

    async def _send(self, payer: TestAgent, payee: TestAgent) -> None:
        while not self._ended:
            answer = await across(payer, payee.did, "0.1")
            assert answer.status_code == 200, answer.text
            self._crossed.set()


async def test_while_units_cross_without_a_pause_one_minor_unit_is_named_on_both_sides_within_two_cycles(
    border: Border,
):
    async with Traffic(border) as traffic:
        for _ in range(3):
            await border.compare()
            for one in (border.a, border.b):
                found = await border.pair(one)
                assert (found["disputed"], found["delta"]) == ("0", "0"), "no false disagreement"
        # A credit that nobody sent, far less than what is in transit.
        await border.b.registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE ledger_corridor SET committed_in = committed_in + 1; UPDATE ledger_account SET transit = transit - 1"
                " WHERE kind = 'system' AND did LIKE '%transit%'"
            )
        )
        for _ in range(2):
            await traffic.next_crossing()
            await border.compare()
        for one in (border.a, border.b):
            found = await border.pair(one)
            assert (found["disputed"], found["delta"]) == ("0.00000001", "0.00000001")
        await border.b.registry.database.transaction(
            lambda tx: tx.execute("UPDATE ledger_corridor SET committed_in = committed_in - 2")
        )
        for _ in range(2):
            await border.compare()
        for one in (border.a, border.b):
            assert (await border.pair(one))["disputed"] == "0.00000001"


async def test_a_total_at_a_place_counts_what_the_receipts_up_to_there_confirm_and_nothing_after_it(
    border: Border,
):
    a, b = border.a.registry, border.b.registry
    for amount in ("1", "2", "4"):
        assert (await across(border.sender, border.receiver.did, amount)).status_code == 200
        await settle(border.a, border.b)
    places = [
        (row["receipt_epoch"], row["receipt_seq"])
        for row in await a.database.query(lambda tx: tx.fetch("SELECT * FROM transfers_sent ORDER BY amount"))
    ]
    assert places == sorted(set(places))
    assert places == [
        (row["entry_epoch"], row["entry_seq"])
        for row in await b.database.query(
            lambda tx: tx.fetch("SELECT * FROM transfers_received ORDER BY amount")
        )
    ]
    peer = own_id(b.runtime)
    up_to = [
        await a.database.read(partial(confirmed_between, peer=peer, after=None, through=place))
        for place in places
    ]
    assert up_to == [parse_amount("1"), parse_amount("3"), parse_amount("7")]
    between = await a.database.read(partial(confirmed_between, peer=peer, after=places[0], through=places[1]))
    assert between == parse_amount("2")


async def test_a_peer_that_states_no_place_is_compared_by_bounds(
    border: Border, monkeypatch: pytest.MonkeyPatch
):
    assert (await across(border.sender, border.receiver.did, "10")).status_code == 200
    await settle(border.a, border.b)
    monkeypatch.setattr(exchange, "own_totals", without_place)
    monkeypatch.setattr(routes, "own_totals", without_place)
    await border.compare()
    assert (await border.pair(border.a))["disputed"] == "0"
    await border.b.registry.database.transaction(
        lambda tx: tx.execute("UPDATE ledger_corridor SET committed_in = committed_in + 1")
    )
    await border.compare()
    assert (await border.pair(border.a))["disputed"] == "0.00000001"


async def without_place(tx: Tx, *given: Any) -> Totals:
    return replace(await own_totals(tx, *given), place=None)


async def test_nothing_is_confirmed_that_was_not_committed(border: Border):
    transfer = uuid4()
    with pytest.raises(ledger.CrossingUnknown):
        await border.confirm(transfer)
    await border.carry_out(border.a, ledger.ReserveOut("b.example", transfer, border.sender.did, Minor(1)))
    with pytest.raises(ledger.CrossingUnknown):
        await border.confirm(transfer)


async def test_a_peer_that_cannot_be_reached_leaves_the_last_comparison(border: Border):
    await border.send(uuid4())
    await border.compare()
    await border.a.registry.database.transaction(
        lambda tx: tx.execute("UPDATE federation_peer SET federation_base_url = 'https://127.0.0.1:9'")
    )
    await compare_with_peers(border.a.registry.runtime)
    assert (await border.pair(border.a))["disputed"] == "0"


async def test_only_statements_that_the_peer_signed_for_this_registry_are_answered(border: Border):
    good = await border.statement()
    answer = await border.a.call(border.b, "POST", ROUTE, {"messages": [good, good]})
    assert answer.status == 200
    runtime = border.b.registry.runtime
    stranger = await federation.Signatory(runtime.database, runtime.seal).present_key()
    for bad in (
        "x",
        good[:-2] + ("AA" if good[-2:] != "AA" else "BB"),
        await border.statement(stranger),
        await border.statement(reader="spiffe://c.example/registry/c"),
        await border.statement(author="spiffe://c.example/registry/c"),
        await border.statement(nonce=""),
    ):
        answer = await border.a.call(border.b, "POST", ROUTE, {"messages": [bad]})
        assert (answer.status, b"TOTALS_REFUSED" in answer.body) == (422, True), bad
    for malformed in ({}, {"messages": []}, {"messages": [7]}, {"messages": [good] * 501}):
        assert (await border.a.call(border.b, "POST", ROUTE, malformed)).status == 422


async def test_without_a_certificate_nothing_is_answered(border: Border):
    answer = await border.b.registry.post("/federation/totals", json={"messages": [await border.statement()]})
    assert answer.status_code == 401
    assert (await border.b.registry.get("/projections/cross-frame-audit")).status_code == 401
