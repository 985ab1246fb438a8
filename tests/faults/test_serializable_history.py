"""Clients of several processes at once see one order of all transfers, and the checker would see it if they did not."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hansa.doors.startup import open_runtime
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms import ledger
from tests.faults import planted
from tests.faults.list_append import Finding, History, Rule, find_contradictions
from tests.faults.traffic import GatheringDesk, PlainDesk, Traffic, open_funded, read_lists
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier, printed_seed
from tests.registry import StartRegistry, TestRegistry

TRANSFERS = by_tier(2_000, 100_000, 1_000_000)
TRANSFERS_PLANTED = 300
ACCOUNTS = [f"did:hansa:hansa.local:party-{number}" for number in range(12)]
FEW_ACCOUNTS = ACCOUNTS[:4]


@pytest.fixture
async def registry(start_registry: StartRegistry) -> TestRegistry:
    """A registry whose treasury reaches for the holdings of all parties."""
    return await start_registry(genesis_supply="90000000000")


@pytest.fixture
async def processes(registry: TestRegistry, tmp_path: Path) -> AsyncIterator[list[Runtime]]:
    """Four runtimes with pools of their own on the database of one registry."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                open_runtime(
                    registry.settings.model_copy(update={"data_dir": tmp_path / str(number)}),
                    registry.database.dsn,
                )
            )
            for number in range(4)
        ]


async def test_one_order_explains_what_the_clients_of_several_processes_see(
    registry: TestRegistry, processes: list[Runtime]
):
    seed = printed_seed()
    *gathering, plain = processes
    desks = [*(GatheringDesk(runtime) for runtime in gathering), PlainDesk(plain)]
    await open_funded(plain, ACCOUNTS)
    history = await Traffic(desks, ACCOUNTS, seed).run(TRANSFERS)
    assert await _contradictions(registry, history) == []
    assert (await registry.supply())["delta"] == "0"
    await registry.database.query(prove_book)
    outcomes = Counter("refused" if one.is_refused else "done" for one in history.transfers.values())
    assert min(outcomes["done"], outcomes["refused"], len(history.readings)) > TRANSFERS // 100
    print(f"{dict(outcomes)}, {len(history.readings)} readings")


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (planted.NoLock, Rule.BALANCE),
        (planted.ReadThenWrite, Rule.BALANCE),
        (planted.NoUniqueKey, Rule.APPENDED_ONCE),
        (planted.IdsBeforeTheLock, Rule.READING),
        (planted.BalanceFromOutside, Rule.ACKNOWLEDGED),
    ],
)
async def test_a_planted_mistake_is_found(
    registry: TestRegistry, wrong: type[planted.PlantedDesk], rule: Rule
):
    found = await _play_planted(registry, wrong)
    assert rule in {finding.rule for finding in found}


async def test_the_same_posting_without_a_mistake_passes(registry: TestRegistry):
    assert await _play_planted(registry, planted.PlantedDesk) == []


async def _play_planted(registry: TestRegistry, desk: type[planted.PlantedDesk]) -> list[Finding]:
    await open_funded(registry.runtime, FEW_ACCOUNTS)
    traffic = Traffic([desk(registry.database)], FEW_ACCOUNTS, printed_seed())
    return await _contradictions(registry, await traffic.run(TRANSFERS_PLANTED))


async def _contradictions(registry: TestRegistry, history: History) -> list[Finding]:
    collector = ledger.Book.of(registry.settings).fee_collector
    return find_contradictions(history, await read_lists(registry.database), collector)
