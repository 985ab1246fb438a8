"""A thief of the auditor's key of a registry, which rotates it: no peer cosigns a tree under that key once it is notified."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.rooms import auditor
from hansa.rooms.auditor.attestations import checkpoint_keys, kid_of
from hansa.rooms.auditor.transparency import notes
from hansa.rooms.auditor.witnessing import PEER_KEYS, follow_peers, peer_logs, store
from hansa.rooms.catalogue.peer_acts import HINTS
from tests.neighbours.crossing_scene import run
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm
from tests.running_jobs import jobs_of, run_due, working

ORIGIN = "a.example/log"


@pytest.fixture
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    """Peers that cosign the logs of each other."""
    async with neighbours(database_farm, tmp_path_factory.mktemp("auditors")) as pair:
        for one in (pair.a, pair.b):
            await grow(one)
            await follow_peers(one.registry.runtime)
        await auditor.ask_witnesses(pair.a.registry.runtime)
        assert await cosigned_size(pair) > 0
        yield pair


async def grow(one: Neighbour) -> None:
    """The log gains a leaf and a checkpoint."""
    runtime = one.registry.runtime
    await runtime.database.transaction(lambda tx: record_leaf(tx, "card", "1", bytes(32)))
    await auditor.run_cycle(runtime)


async def cosigned_size(pair: Neighbours) -> int:
    """Size of the log of a that b cosigned last."""
    found = await pair.b.registry.database.query(store.roots)
    return found[ORIGIN][0] if ORIGIN in found else 0


async def key_of_a(pair: Neighbours) -> Ed25519PrivateKey:
    runtime = pair.a.registry.runtime
    return (await runtime.database.query(lambda tx: checkpoint_keys(tx, runtime.seal)))[0]


async def rotate(pair: Neighbours) -> None:
    runtime = pair.a.registry.runtime
    frame = runtime.settings.ledger_id
    await runtime.database.transaction(lambda tx: auditor.rotate_auditor_key(tx, frame, runtime.seal))


async def shown(pair: Neighbours, key: Ed25519PrivateKey) -> int:
    """Status of the answer of b to a checkpoint of the log of a that this key alone signed."""
    seen = await pair.b.registry.database.query(lambda tx: store.seen(tx, ORIGIN))
    assert seen is not None
    note = notes.signed_note(notes.checkpoint_text(ORIGIN, seen.size, seen.root), ORIGIN, [key])
    submission = f"old {seen.size}\n\n{note}"
    answer = await pair.b.registry.http.post("/witness/add-checkpoint", content=submission)
    return answer.status_code


async def test_a_stolen_key_of_an_auditor_counts_no_more_at_a_peer_that_was_notified(pair: Neighbours):
    stolen = await key_of_a(pair)
    assert await shown(pair, stolen) == 200
    await rotate(pair)
    # The notification alone ends it: nothing was read by b since.
    await run_due(pair.a.registry.runtime, HINTS)
    assert await shown(pair, stolen) == 404
    await run_due(pair.b.registry.runtime, PEER_KEYS)
    assert (await shown(pair, stolen), await shown(pair, await key_of_a(pair))) == (403, 200)


async def test_a_rotation_of_the_key_of_an_auditor_keeps_its_witnesses(pair: Neighbours):
    a, b = pair.a.registry.runtime, pair.b.registry.runtime
    before, stolen = await cosigned_size(pair), await key_of_a(pair)
    async with working(a, HINTS), working(b, PEER_KEYS), asyncio.timeout(60):
        await rotate(pair)
        while await shown(pair, await key_of_a(pair)) != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert await shown(pair, stolen) == 403
    await grow(pair.a)
    await auditor.ask_witnesses(a)
    assert await cosigned_size(pair) > before


async def test_a_reading_that_began_before_a_key_was_withdrawn_does_not_bring_it_back(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    stolen = await key_of_a(pair)
    read_keys = peer_logs._read_keys

    async def read_and_notified(*given: Any) -> Any:
        kept = await read_keys(*given)
        await rotate(pair)
        await run_due(pair.a.registry.runtime, HINTS)
        return kept

    await run(pair.b, "UPDATE auditor_peer_log SET read_at = read_at - interval '10 minutes'")
    with monkeypatch.context() as patch:
        patch.setattr(peer_logs, "_read_keys", read_and_notified)
        await follow_peers(pair.b.registry.runtime)
    assert await shown(pair, stolen) == 404
    # A peer without keys is read with the next turn, whenever its keys were withdrawn.
    await follow_peers(pair.b.registry.runtime)
    assert (await shown(pair, stolen), await shown(pair, await key_of_a(pair))) == (403, 200)


async def test_a_peer_that_states_no_keys_of_its_auditor_or_those_that_are_known_is_not_read(
    pair: Neighbours,
):
    key = await key_of_a(pair)
    for kids in ([], [auditor_kid(key)]):
        hint = {"next": "0", "auditor_kids": kids}
        answer = await pair.a.call(pair.b, "POST", "/api/v1/federation/hint", hint)
        assert answer.status == 200, answer.body
    assert await jobs_of(pair.b.registry.runtime, PEER_KEYS.name) == []
    assert await shown(pair, key) == 200


def auditor_kid(key: Ed25519PrivateKey) -> str:
    return kid_of(key.public_key().public_bytes_raw())
