"""Hot routes work on so many requests at once; the others wait in turn, and not for long."""

import asyncio

import pytest

from hansa.foundation.plumbing.admission import Admission
from hansa.foundation.words.errors import Unavailable


async def test_places_are_given_in_the_order_of_asking():
    admission, told = Admission(places=1, patience_seconds=5), []

    async def ask(number: int) -> None:
        async with admission:
            told.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(ask(number) for number in range(20)))
    assert told == list(range(20))


async def test_never_more_than_the_places_are_worked_on_at_once():
    admission, inside, most = Admission(places=3, patience_seconds=5), 0, 0

    async def ask() -> None:
        nonlocal inside, most
        async with admission:
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.001)
            inside -= 1

    await asyncio.gather(*(ask() for _ in range(50)))
    assert (most, inside) == (3, 0)


async def test_who_finds_no_place_in_time_is_told_when_to_come_back():
    admission = Admission(places=1, patience_seconds=0.02)
    async with admission:
        with pytest.raises(Unavailable) as refusal:
            async with admission:
                raise AssertionError("let in beside the one inside")
    assert int(refusal.value.headers["Retry-After"]) >= 1
    async with admission:
        pass


async def test_a_client_that_goes_away_leaves_its_place_to_the_next():
    admission = Admission(places=1, patience_seconds=5)
    async with admission:
        leaving = asyncio.create_task(_pass_through(admission))
        staying = asyncio.create_task(_pass_through(admission))
        await asyncio.sleep(0)
        leaving.cancel()
    await staying
    assert leaving.cancelled()


async def _pass_through(admission: Admission) -> None:
    async with admission:
        pass
