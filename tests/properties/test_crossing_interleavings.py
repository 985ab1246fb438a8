"""Steps of crossings that meet, in every order of their statements: each is done once, and the limits hold."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import ledger
from tests.properties.interleaving import Choose, Director, directing, in_every_order
from tests.registry import DatabaseFarm
from tests.rooms.ledger.purses import Purses, open_purses

PEER, OTHER = "peer.example", "other.example"
AMOUNT = Minor(10**9)
FEE = Minor(5 * 10**6)

# What was done before with a transfer of 10 from or to an agent with 10; two acts that meet; the state of the transfer, what
# the agent holds, and how many acts were refused.
MEETINGS: dict[str, tuple[str, tuple[str, str], set[tuple[str | None, str, int]]]] = {
    "two reserves of one transfer out": ("nothing", ("reserve_out", "reserve_out"), {("reserved", "0", 0)}),
    "two reserves that one balance covers once": (
        "nothing",
        ("reserve_out", "other_out"),
        {("reserved", "0", 1), (None, "0", 1)},
    ),
    "commit and abort out": (
        "reserved out",
        ("commit_out", "abort_out"),
        {("committed", "0", 1), ("aborted", "10", 1)},
    ),
    "two aborts out": ("reserved out", ("abort_out", "abort_out"), {("aborted", "10", 0)}),
    "two reserves of one transfer in": ("nothing", ("reserve_in", "reserve_in"), {("reserved", "10", 0)}),
    "two reserves in that the limit allows once": (
        "nothing",
        ("reserve_in", "other_in"),
        {("reserved", "10", 1), (None, "10", 1)},
    ),
    "two commits in": ("reserved in", ("commit_in", "commit_in"), {("committed", "19.95", 0)}),
    "commit and abort in": (
        "reserved in",
        ("commit_in", "abort_in"),
        {("committed", "19.95", 1), ("aborted", "10", 1)},
    ),
    "a commit in and a transfer out": ("reserved in", ("commit_in", "other_out"), {("committed", "9.95", 0)}),
    "a commit in and a suspension": ("reserved in", ("commit_in", "suspend"), {("committed", "19.95", 0)}),
    "a reserve in and a closing": (
        "emptied",
        ("reserve_in", "close"),
        {("reserved", "0", 1), (None, "0", 1)},
    ),
    "a commit in and a forced closing": (
        "emptied, reserved in",
        ("commit_in", "close_anyway"),
        {("committed", "9.95", 1), ("committed", "0", 0)},
    ),
}


class Scene:
    """An agent, the transfer that the acts are about, and another one."""

    def __init__(self, purses: Purses, did: str, book: ledger.Book) -> None:
        self.purses, self.did, self.book = purses, did, book
        self.transfer, self.other = uuid4(), uuid4()
        # Peers of their own: what earlier plays left does not count.
        self.peer = f"{self.transfer}.{PEER}"

    def step(self, name: str) -> Any:
        match name:
            case "reserve_out":
                return ledger.ReserveOut(self.peer, self.transfer, self.did, AMOUNT)
            case "other_out":
                return ledger.ReserveOut(OTHER, self.other, self.did, AMOUNT)
            case "reserve_in":
                return self._entry(self.transfer)
            case "other_in":
                return self._entry(self.other)
        made = {
            "commit_out": ledger.CommitOut,
            "abort_out": ledger.AbortOut,
            "commit_in": ledger.CommitIn,
            "abort_in": ledger.AbortIn,
        }
        return made[name](self.peer, self.transfer)

    def _entry(self, transfer: UUID) -> ledger.ReserveIn:
        return ledger.ReserveIn(self.peer, transfer, self.did, AMOUNT, FEE, AMOUNT)

    async def act(self, tx: Tx, name: str) -> Any:
        match name:
            case "suspend":
                return await ledger.suspend_accounts(tx, [self.did])
            case "close":
                return await ledger.close_account(tx, self.did)
            case "close_anyway":
                return await ledger.close_account(tx, self.did, waits_for_crossings=False)
        return await ledger.apply(tx, [self.step(name).order(self.book)], self.book)

    async def prepare(self, state: str) -> None:
        if state.startswith("emptied"):
            out = ledger.ReserveOut(OTHER, uuid4(), self.did, AMOUNT).order(self.book)
            done = ledger.CommitOut(OTHER, out.terms.crossing.transfer_id).order(self.book)  # type: ignore[union-attr]
            await self.purses.registry.database.transaction(
                lambda tx: ledger.apply(tx, [out, done], self.book)
            )
        if "reserved" in state:
            await self.purses.registry.database.transaction(
                lambda tx: self.act(tx, "reserve_out" if "out" in state else "reserve_in")
            )

    async def found(self) -> tuple[str | None, str]:
        """Return the state of the transfer, and the units of the agent."""

        async def read(tx: Tx) -> tuple[str | None, str]:
            crossings = [
                await ledger.crossing(tx, self.peer, direction, self.transfer, self.book)  # type: ignore[arg-type]
                for direction in ("out", "in")
            ]
            state = next((one.state for one in crossings if one), None)
            return state, format_amount((await ledger.balance_of(tx, self.did)).liquid)

        return await self.purses.registry.database.read(read)


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Purses, Director]]:
    async with (
        open_purses(database_farm, tmp_path_factory.mktemp("crossed")) as purses,
        directing(purses.registry.runtime.database.dsn, 2) as director,
    ):
        yield purses, director


@pytest.mark.parametrize("name", MEETINGS)
async def test_however_two_steps_meet_each_is_done_once(name: str, stage: tuple[Purses, Director]) -> None:
    purses, director = stage
    state, acts, left = MEETINGS[name]
    book = ledger.Book.of(purses.registry.settings)

    async def play(choose: Choose) -> None:
        agent = await purses.agent("10")
        scene = Scene(purses, agent.did, book)
        await scene.prepare(state)
        sides = [lambda tx, one=one: scene.act(tx, one) for one in acts]
        outcomes = await director.play(sides, choose)
        for place, outcome in enumerate(outcomes):
            if isinstance(outcome, asyncpg.SerializationError):
                # What every act does on its own.
                outcomes[place] = await purses.registry.database.transaction(sides[place])
        refused = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        assert all(isinstance(one, Refused) for one in refused), outcomes
        assert (*await scene.found(), len(refused)) in left, outcomes

    assert await in_every_order(play) >= 2
    await purses.prove()
    totals = await purses.registry.database.read(ledger.corridor_totals)
    assert [one.frame for one in totals if one.delta] == []
