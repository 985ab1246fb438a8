"""A peer that asks about transfers which never were: the records of the answers are limited, and no answer is given without its record."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from hansa.rooms.transfers.crossing import inputs as judging
from hansa.rooms.transfers.crossing.messages import Body, Code, Message, MessageType
from tests.neighbours.crossing_scene import across, run, said, settle, written_at_once
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, TestAgent

LIMIT = 5
PEER_C = "spiffe://c.example/registry/c"
NAMING = (MessageType.QUERY, MessageType.PREPARED)


@pytest.fixture
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Neighbours]:
    monkeypatch.setattr(judging, "TOMBSTONES_MAX", LIMIT)
    async with neighbours(database_farm, tmp_path_factory.mktemp("pair")) as pair:
        yield pair


def invented(alice: TestAgent, bob: TestAgent) -> Body:
    """A transfer that left a, as b states it."""
    return Body(str(uuid4()), alice.did, bob.did, 10**8, "AVT")


async def named_by_b(pair: Neighbours, kind: MessageType, *bodies: Body) -> list[Message]:
    """Answers of a to a message of this kind about each of the transfers, all in one request."""
    messages = [
        Message(kind, body, net=body.amount, fee=0)
        if kind is MessageType.PREPARED
        else Message(kind, body, code=Code.TIMEOUT if kind is MessageType.ABORT else None)
        for body in bodies
    ]
    return await said(pair.b, pair.a, *await written_at_once(pair.b, pair.a, messages))


async def count(one: Neighbour, table: str) -> int:
    found: int = await one.registry.database.query(lambda tx: tx.fetchval(f"SELECT count(*) FROM {table}"))
    return found


@pytest.mark.parametrize("kind", NAMING)
async def test_unknown_transfers_of_a_peer_are_recorded_up_to_a_limit_and_answered_only_with_their_record(
    pair: Neighbours, kind: MessageType
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    bodies = [invented(alice, bob) for _ in range(LIMIT + 3)]
    first = await named_by_b(pair, kind, *bodies[:2])
    # The limit is kept within one request as well.
    rest = await named_by_b(pair, kind, *bodies[2:])
    answered = [one.body.transfer_id for one in (*first, *rest) if one.body is not None]
    assert {(one.type, one.code) for one in (*first, *rest)} == {(MessageType.ABORT, Code.UNKNOWN)}
    assert answered == [body.transfer_id for body in bodies[:LIMIT]]
    for other in NAMING:
        assert await named_by_b(pair, other, *(invented(alice, bob) for _ in range(4))) == []
    assert (await count(pair.a, "transfers_sent"), await count(pair.a, "transfers_entry")) == (LIMIT, LIMIT)
    assert (await pair.a.refused(pair.b))["transfer_tombstones"] == 11
    # The answer is binding: a repeated question gets it again.
    (again,) = await named_by_b(pair, MessageType.QUERY, bodies[0])
    assert (again.type, again.code) == (MessageType.ABORT, Code.UNKNOWN)


async def test_a_peer_that_filled_its_records_ends_no_transfer_and_takes_no_room_of_others(
    pair: Neighbours,
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await named_by_b(pair, MessageType.QUERY, *(invented(alice, bob) for _ in range(LIMIT + 1)))
    assert (await across(alice, bob.did, "5")).status_code == 200
    await settle(pair.a, pair.b)
    assert await bob.balance() == "104.975"
    # Transfers of another peer, and those that this registry began, do not count.
    await run(pair.a, "INSERT INTO transfers_pair (peer) VALUES ($1)", PEER_C)
    await run(pair.a, "UPDATE transfers_sent SET peer = $1 WHERE code = 'UNKNOWN'", PEER_C)
    assert (
        len(await named_by_b(pair, MessageType.QUERY, *(invented(alice, bob) for _ in range(LIMIT)))) == LIMIT
    )


async def test_an_abort_of_an_unknown_transfer_beyond_the_limit_is_counted_and_records_nothing(
    pair: Neighbours,
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    bodies = [Body(str(uuid4()), bob.did, alice.did, 10**8, "AVT") for _ in range(LIMIT + 3)]
    assert len(await named_by_b(pair, MessageType.ABORT, *bodies)) == LIMIT
    assert await count(pair.a, "transfers_received") == LIMIT
    assert (await pair.a.refused(pair.b))["transfer_tombstones"] == 3
