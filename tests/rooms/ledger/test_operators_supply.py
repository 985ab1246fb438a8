"""An operator registry issues nothing of its own: its units crossed in, and a compensation replaces the slashed ones."""

from uuid import uuid4

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import ledger
from tests.properties.proof import prove_book
from tests.registry import StartRegistry, TestAgent, TestRegistry

FRAME = "hansa.local"
CAME, FEE = parse_amount("10"), parse_amount("0.05")


@pytest.fixture
async def operator(start_registry: StartRegistry) -> TestRegistry:
    return await start_registry(registry_name="north", registry_tier="cloud-operator")


async def crossed_in(registry: TestRegistry) -> TestAgent:
    """Return an agent whose units crossed in from the frame."""
    agent, book, transfer = await registry.agent(), ledger.Book.of(registry.settings), uuid4()
    steps = (
        ledger.ReserveIn(FRAME, transfer, agent.did, CAME, FEE, None, f"did:hansa:{FRAME}:sender"),
        ledger.CommitIn(FRAME, transfer, None),
    )
    for step in steps:
        await registry.database.transaction(lambda tx, step=step: ledger.apply(tx, [step.order(book)], book))
    return agent


async def ruled(registry: TestRegistry, agent: TestAgent, *, slash: Minor, compensation: Minor) -> None:
    """Change the supply as a ruling does, undone at the end."""
    book = ledger.Book.of(registry.settings)
    orders = [
        ledger.orders.destroy(agent.did, slash, "dispute:1"),
        ledger.orders.issue(agent.did, compensation, "dispute:1"),
    ]

    async def act(tx: Tx) -> None:
        await ledger.require_issuable(tx, compensation, amount_max=CAME, parties=[agent.did], book=book)
        await ledger.apply(tx, orders, book)
        await ledger.require_backed(tx, book)
        raise Undone

    await registry.database.transaction(act)


class Undone(Exception):
    """The end of a transaction that is to leave nothing."""


async def test_a_compensation_at_an_operator_is_at_most_what_was_slashed_there(operator: TestRegistry):
    agent = await crossed_in(operator)
    with pytest.raises(Undone):
        await ruled(operator, agent, slash=Minor(400), compensation=Minor(400))
    with pytest.raises(ledger.IssuanceRefused, match="at most what was slashed here"):
        await ruled(operator, agent, slash=Minor(400), compensation=Minor(401))


async def test_what_crossed_in_is_all_that_circulates_and_the_book_holds(operator: TestRegistry):
    await crossed_in(operator)
    supply = await operator.supply()
    figures = ("status", "delta", "tokens_issued", "total_circulating", "frame")
    assert [supply[name] for name in figures] == ["OK", "0", "0", "10", f"{FRAME}/registry/north"]
    await operator.database.query(prove_book)


async def test_a_frame_compensates_beyond_what_was_slashed(registry: TestRegistry):
    agent = await registry.agent()
    with pytest.raises(Undone):
        await ruled(registry, agent, slash=Minor(400), compensation=Minor(401))
