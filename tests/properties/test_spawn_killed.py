"""A process that dies at any statement of a spawn or of an end leaves all of it or nothing, and the job completes what had begun."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import parse_amount
from hansa.rooms import agents, ledger, spawn
from hansa.rooms.spawn.ending import end_due
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier
from tests.properties.test_spawn_interleavings import Family, prove_lineage, set_family, spawn_order
from tests.registry import TestRegistry
from tests.spawning import audited, end_those_due

# Each so many statements of an act one death.
STEP = by_tier(7, 1, 1)
STATEMENTS = ("execute", "fetch", "fetchrow", "fetchval", "fetchmany")


class Died(Exception):
    """The end of a process."""


class Dying:
    """A transaction whose process dies before one of its statements."""

    def __init__(self, tx: Tx, left: int) -> None:
        self._tx, self.left = tx, left

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._tx, name)
        if name not in STATEMENTS:
            return found

        async def counted(*given: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise Died
            return await found(*given, **named)

        return counted


async def die_everywhere(
    registry: TestRegistry,
    act: Callable[[Tx], Awaitable[Any]],
    prove_unchanged: Callable[[], Awaitable[None]],
) -> None:
    """Let the process die at more and more of the statements, until the act is complete."""
    left = 0
    while True:
        try:
            await registry.database.transaction(lambda tx, left=left: act(Dying(tx, left)))  # type: ignore[arg-type]
        except Died:
            await prove_unchanged()
            left += STEP
        else:
            assert left > STEP
            return


@pytest.fixture
async def family(registry: TestRegistry) -> Family:
    await registry.developer()
    return await set_family(registry, await registry.agent(), is_due=True)


async def purses(family: Family) -> tuple[int, ...]:
    dids = [family.parent.did, family.child.did]
    held = await family.registry.database.query(lambda tx: ledger.balances_of(tx, dids))
    return tuple(held[did].liquid for did in dids)


async def test_a_spawn_is_whole_or_nothing(registry: TestRegistry, family: Family):
    before = await purses(family)

    async def unchanged() -> None:
        assert await purses(family) == before
        children = await registry.database.query(
            lambda tx: agents.children_of(tx, family.parent.did, limit=10)
        )
        assert [child.did for child in children] == [family.child.did]

    order = spawn_order(registry, "1")
    await die_everywhere(
        registry,
        lambda tx: spawn.spawn(tx, family.parent, family.parent.did, order, registry.runtime),
        unchanged,
    )
    assert (await purses(family))[0] == before[0] - parse_amount("1.005")
    await registry.database.read(prove_lineage)
    await audited(registry)


async def test_an_end_is_whole_or_nothing(registry: TestRegistry, family: Family):
    before = await purses(family)

    async def unchanged() -> None:
        assert await purses(family) == before
        child = await registry.database.query(lambda tx: agents.child_of(tx, family.child.did))
        assert child.state == "living"

    await die_everywhere(registry, lambda tx: end_due(tx, registry.runtime), unchanged)
    child = await registry.database.query(lambda tx: agents.child_of(tx, family.child.did))
    assert child.state == "ended"
    await registry.database.read(prove_lineage)
    await registry.database.read(prove_book)
    await audited(registry)


async def test_an_end_that_had_begun_is_completed_by_another_process(
    registry: TestRegistry, family: Family, monkeypatch: pytest.MonkeyPatch
):
    async def died(*_: Any, **__: Any) -> None:
        raise Died

    with monkeypatch.context() as patch:
        # The beginning is committed with a reason to wait; the sweep of the next attempt dies.
        patch.setattr(ledger, "awaits_crossing", lambda *_: _true())
        await registry.database.transaction(lambda tx: end_due(tx, registry.runtime))
        patch.undo()
        patch.setattr(ledger, "sweep_account", died)
        with pytest.raises(Died):
            await end_those_due(registry)
    child = await registry.database.query(lambda tx: agents.child_of(tx, family.child.did))
    assert child.state == "ending"
    await end_those_due(registry)
    child = await registry.database.query(lambda tx: agents.child_of(tx, family.child.did))
    assert child.state == "ended"
    await audited(registry)


async def _true() -> bool:
    return True
