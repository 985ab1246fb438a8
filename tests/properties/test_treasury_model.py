"""Drawn histories of one treasury: every answer and every state is that of the model, units leave once and by the rules, holds are open orders."""

import random
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.money import UNIT, Minor
from hansa.foundation.values.rights import Right
from hansa.rooms import ledger
from hansa.rooms.organizations.founding import NewOrganization, found
from hansa.rooms.organizations.teams import acts as teams
from tests.founded import open_copy
from tests.neighbours.two_registries import introduce
from tests.properties.scale import by_tier, part_of, printed_seed
from tests.properties.test_organization_interleavings import person
from tests.properties.treasury_faults import FAULTS
from tests.properties.treasury_history import HELD, PEOPLE, History
from tests.properties.treasury_scene import TEAM, Stage
from tests.registry import DatabaseFarm

HISTORIES = by_tier(100, 10_000, 100_000)
OTHER = {
    "trust_domain": "other.example",
    "registry_name": "other",
    "federation_base_url": "https://other.example",
    "federation_port": 9443,
}
ABROAD = "did:hansa:other.example:payee"
# Enough histories to find each planted fault.
PLANTED_HISTORIES = 3_000
# A long run prints each such number; HANSA_TEST_FIRST goes on from it.
PRINTED = 1_000


class Undone(Exception):
    """The end of a history, which leaves nothing."""


async def live(stage: Stage, seed: str, histories: Iterable[int]) -> None:
    for number in histories:

        async def play(tx: Tx, number: int = number) -> None:
            await History(stage, tx, random.Random(f"{seed}-{number}")).live()
            raise Undone

        with pytest.raises(Undone):
            await stage.registry.database.transaction(play)
        if (number + 1) % PRINTED == 0:
            print(f"{number + 1} histories", flush=True)


@pytest.fixture
async def stage(database_farm: DatabaseFarm, tmp_path: Path) -> AsyncIterator[Stage]:
    async with (
        open_copy(database_farm, tmp_path / "own") as registry,
        open_copy(database_farm, tmp_path / "other", **OTHER) as other,
    ):
        await introduce(registry, other)
        people = [await person(registry) for _ in range(PEOPLE)]
        new = NewOrganization("modelled", "Modelled", "", "private")
        run, founder = registry.database.transaction, people[0]
        made = (await run(lambda tx: found(tx, founder, new, registry.settings))).organization
        team = await run(lambda tx: teams.make_team(tx, founder, made.slug, TEAM, Right.READ))
        giver, *others = [await registry.agent() for _ in range(4)]
        assert (await giver.transfer(made.treasury_did, str(HELD - 10))).status_code == 200
        await run(
            lambda tx: ledger.grant(
                tx,
                payee=made.treasury_did,
                amount=Minor(10 * UNIT),
                ref="more",
                book=ledger.Book.of(registry.settings),
            )
        )
        await run(
            lambda tx: tx.execute(
                "UPDATE agents_agent SET organization_id = $1 WHERE did = $2", made.id, others[0].did
            )
        )
        own, *strangers = [
            Agent(
                one.did,
                founder.id,
                (),
                frozenset(),
                is_governed=False,
                organization_id=made.id if one is others[0] else None,
            )
            for one in others
        ]
        yield Stage(registry, people, made.slug, made.id, team.id, made.treasury_did, own, strangers, ABROAD)


async def test_a_treasury_and_its_model_answer_every_history_alike(stage: Stage):
    await live(stage, str(printed_seed()), part_of(HISTORIES))


async def test_the_auditor_finds_a_history_sound(stage: Stage):
    """One that is committed, as the auditor reads what others have committed."""
    seed = printed_seed()
    await stage.registry.database.transaction(lambda tx: History(stage, tx, random.Random(f"{seed}")).live())
    verdict = await stage.registry.supply()
    assert (verdict["status"], verdict["delta"]) == ("OK", "0")


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_planted_fault_is_found(stage: Stage, fault: str, monkeypatch: pytest.MonkeyPatch):
    plant, found_by = FAULTS[fault]
    plant(monkeypatch)
    # The same histories each time, from the one on that found it when the fault was written down.
    with pytest.raises(AssertionError):
        await live(stage, "planted", [*range(found_by, PLANTED_HISTORIES), *range(found_by)])
