"""Lookups of the same moment share a statement, and none of them depends on another."""

import asyncio
from collections.abc import Sequence

import pytest

from hansa.foundation.plumbing.storage.batch_loader import BatchLoader


class CountedStore:
    """Answers with the key in capitals, once it may; counts the keys it is asked for."""

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []
        self.may_answer = asyncio.Event()

    async def load(self, keys: Sequence[str]) -> dict[str, str]:
        self.asked.append(sorted(keys))
        await self.may_answer.wait()
        if "broken" in keys:
            raise LookupError("broken")
        return {key: key.upper() for key in keys if key != "unknown"}


@pytest.fixture
def store() -> CountedStore:
    return CountedStore()


async def looking(gathering: BatchLoader[str, str], *keys: str) -> list[asyncio.Future[str | None]]:
    tasks = [asyncio.ensure_future(gathering.find(key)) for key in keys]
    await asyncio.sleep(0.01)
    return tasks


async def test_what_comes_while_a_statement_runs_shares_the_next(store: CountedStore):
    gathering = BatchLoader(store.load)
    tasks = await looking(gathering, "a") + await looking(gathering, "b", "unknown", "b", "a")
    store.may_answer.set()
    assert await asyncio.gather(*tasks) == ["A", "B", None, "B", "A"]
    assert store.asked == [["a"], ["a", "b", "unknown"]]


async def test_what_has_arrived_and_waits_for_its_lookup_is_taken_in(store: CountedStore):
    gathering = BatchLoader(store.load)
    store.may_answer.set()

    async def arrived(key: str, steps: int) -> str | None:
        for _ in range(steps):
            await asyncio.sleep(0)
        return await gathering.find(key)

    tasks = [asyncio.create_task(arrived(key, steps)) for steps, key in enumerate("abc")]
    assert await asyncio.gather(*tasks) == ["A", "B", "C"]
    assert store.asked == [["a", "b", "c"]]


async def test_a_caller_that_goes_away_does_not_end_the_lookup_of_others_with_the_same_key(
    store: CountedStore,
):
    leaving, staying = await looking(BatchLoader(store.load), "a", "a")
    leaving.cancel()
    store.may_answer.set()
    assert await staying == "A"
    assert leaving.cancelled()


async def test_a_statement_that_fails_fails_for_all_that_share_it_and_for_nobody_else(store: CountedStore):
    gathering = BatchLoader(store.load)
    before = await looking(gathering, "a")
    leaving, *together = await looking(gathering, "broken", "broken", "b")
    leaving.cancel()
    store.may_answer.set()
    assert await asyncio.gather(*before) == ["A"]
    outcomes = await asyncio.gather(*together, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [LookupError, LookupError]
    assert await gathering.find("c") == "C"


async def test_a_lookup_that_comes_within_the_pause_shares_the_statement_behind_it(store: CountedStore):
    gathering = BatchLoader(store.load, pause_seconds=1)
    store.may_answer.set()
    assert await gathering.find("a") == "A"
    first = gathering.find("b")
    # Without the pause its statement has begun by now.
    for _ in range(20):
        await asyncio.sleep(0)
    assert await asyncio.gather(first, gathering.find("c")) == ["B", "C"]
    assert store.asked == [["a"], ["b", "c"]]
