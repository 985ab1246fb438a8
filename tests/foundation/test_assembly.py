"""The rooms of a process fit together, or the start ends with the name of the one that does not."""

import subprocess
import sys
from collections.abc import Mapping
from itertools import chain

import pytest
from fastapi import APIRouter

from hansa.doors.assembly import ASSEMBLY
from hansa.foundation.plumbing.assembled import Assembly, RoomsDoNotFit
from hansa.foundation.plumbing.jobs import sweep
from hansa.foundation.plumbing.jobs.reactors import Reactor
from hansa.foundation.plumbing.process.runtime import Slot, Slots
from hansa.foundation.plumbing.room import ACCOUNT_END, REACTORS, AccountEnd, Blocker, Room, Routes
from tests.registry import TestRegistry, another_process

PRICES: Slot[dict[str, int]] = Slot("shop: prices")
BASKET: Slot[list[str]] = Slot("shop: basket", build=lambda _: [])
SHOP = Room("shop", offers=(PRICES,))
BAKERY = Room("bakery", fills=(PRICES.filled_with({"bread": 3}),))
MILL = Room("mill", fills=(PRICES.filled_with({"flour": 1}),))


async def nothing(*_: object) -> None:
    """Work that does nothing."""


def trouble_with(*rooms: Room) -> str:
    with pytest.raises(RoomsDoNotFit) as refused:
        Assembly(rooms)
    return str(refused.value)


def test_a_slot_that_no_room_fills_stops_the_start_by_its_name():
    assert trouble_with(SHOP) == "slot 'shop: prices' is filled by no room"


def test_a_slot_that_two_rooms_fill_stops_the_start_by_its_name():
    error = trouble_with(SHOP, BAKERY, MILL)
    assert error == "slot 'shop: prices' is filled by bakery and mill; one room may fill it"


def test_a_slot_that_joins_has_the_fillings_of_all_its_rooms_the_lowest_room_first():
    wares: Slot[tuple[str, ...]] = Slot("shop: wares", joined=lambda found: tuple(chain(*found)))
    mill = Room("mill", fills=(wares.filled_with(("flour",)),))
    bakery = Room("bakery", fills=(wares.filled_with(("bread", "cake")),))
    assembly = Assembly([Room("shop", offers=(wares,)), mill, bakery])
    assert assembly.slots()._values[wares] == ("flour", "bread", "cake")
    assert trouble_with(Room("shop", offers=(wares,))) == "slot 'shop: wares' is filled by no room"


def test_a_slot_that_no_room_offers_stops_the_start_by_its_name():
    assert trouble_with(BAKERY) == "slot 'shop: prices' is filled by bakery and offered by no room"


def test_a_slot_that_two_rooms_offer_stops_the_start_by_its_name():
    error = trouble_with(SHOP, Room("market", offers=(PRICES,)), BAKERY)
    assert error == "slot 'shop: prices' is offered 2 times"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (Room("shop"), Room("shop"), "room 'shop' is declared 2 times"),
        (
            Room("shop", routes=(Routes(1, APIRouter()),)),
            Room("mill", routes=(Routes(1, APIRouter()),)),
            "position of routes 1 is declared 2 times",
        ),
        (
            Room("shop", jobs=(sweep("clean", 1, nothing),)),
            Room("mill", jobs=(sweep("clean", 9, nothing),)),
            "job 'clean' is declared 2 times",
        ),
        (
            Room("shop", reactors=(Reactor("sell", (), nothing),)),
            Room("mill", reactors=(Reactor("sell", (), nothing),)),
            "reactor 'sell' is declared 2 times",
        ),
        (
            Room("shop", settings=frozenset({"colour"})),
            Room("mill"),
            "room 'shop' reads the setting 'colour', which does not exist",
        ),
    ],
    ids=["name", "position", "job", "reactor", "setting"],
)
def test_what_two_rooms_claim_or_does_not_exist_stops_the_start_by_its_name(
    first: Room, second: Room, expected: str
):
    assert trouble_with(first, second) == expected


def test_everything_that_does_not_fit_is_named_at_once():
    assert trouble_with(SHOP, Room("shop")).count(";") == 1


def test_a_command_ends_with_the_name_of_the_slot_that_is_not_filled():
    script = (
        "from hansa.rooms import ledger\n"
        "from msgspec.structs import replace\n"
        "ledger.ROOM = replace(ledger.ROOM, fills=())\n"
        "import hansa.doors.serving.serve\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "slot 'journal: readings of the ledger' is filled by no room" in ended.stderr


def test_routers_are_matched_in_the_order_of_their_positions():
    first, second, third = APIRouter(), APIRouter(), APIRouter()
    assembly = Assembly(
        [
            Room("shop", routes=(Routes(30, third), Routes(5, second, at_root=True))),
            Room("mill", routes=(Routes(20, first),)),
        ]
    )
    assert assembly.api_routers == (first, third)
    assert assembly.root_routers == (second,)


async def test_each_process_builds_a_value_of_its_own_once(registry: TestRegistry):
    one, other = Slots(), Slots()
    assert one.value(BASKET, registry.runtime) is one.value(BASKET, registry.runtime)
    assert one.value(BASKET, registry.runtime) is not other.value(BASKET, registry.runtime)


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (
            Room("shop", fills=(BASKET.filled_with([]),)),
            "slot 'shop: basket' is filled by shop and offered by no room",
        ),
        (Room("shop", offers=(BASKET,)), "slot 'shop: basket' is filled by no room"),
    ],
    ids=["filled", "offered"],
)
def test_a_slot_that_builds_its_value_is_neither_filled_nor_offered(room: Room, expected: str):
    assert trouble_with(room) == expected


async def test_an_account_is_ended_from_the_uppermost_room_down_and_every_blocker_is_named(
    registry: TestRegistry,
):
    ended: list[str] = []

    def room(name: str) -> Room:
        async def agents(_: object, developer_id: int) -> dict[str, str]:
            return {f"did:x:{developer_id}": "active"}

        async def blockers(_: object, owned: Mapping[str, str]) -> list[Blocker]:
            return [Blocker(name, did, "1", "Take it away.") for did in owned]

        async def end(_: object, __: int) -> None:
            ended.append(name)

        return Room(name, account_end=AccountEnd(blockers, end, agents=agents if name == "low" else None))

    slots = Assembly([room("low"), Room("middle"), room("high")]).slots()
    end = slots.value(ACCOUNT_END, registry.runtime)
    kinds = [blocker.kind for blocker in await registry.database.read(lambda tx: end.blockers(tx, 1))]
    assert kinds == ["high", "low"]
    await registry.database.transaction(lambda tx: end.end(tx, 1))
    assert ended == ["high", "low"]


async def test_every_reactor_of_the_rooms_can_be_read_in_the_process(registry: TestRegistry):
    assert REACTORS.of(another_process(registry.runtime)) == ASSEMBLY.reactors != ()
