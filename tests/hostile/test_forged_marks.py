"""A mark costs its forger at least a hundred times its yield."""

from decimal import Decimal
from pathlib import Path

from hansa.rooms.catalogue.marks import GRADES as MARKS
from hansa.rooms.commerce.requirement import RECORD_COST
from tests.hostile.forged_marks import Forger, Played, table
from tests.properties.scale import by_tier
from tests.registry import StartRegistry
from tests.rooms.reputation.rated import Rated

WITH_GRANTS, WITH_OWN_UNITS = by_tier((15, 15), (252, 250), (252, 250))
IS_AS_IN_THE_GUIDE = by_tier(False, True, True)
FIRST_HOUR = by_tier(6, 100, 100)
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "grades.md"


def published(name: str) -> str:
    """The row of an attack in the guide."""
    printed = GUIDE.read_text().split("<!-- printed by python -m bench.forging_played -->\n")[1]
    return next(line for line in printed.splitlines() if line.startswith(f"| {name} |"))


def require_published(name: str, played: Played) -> None:
    """Require that the guide states the outcome; with fewer owners than in the guide only its price."""
    row = table((name, played)).splitlines()[-1]
    cells, stated = row.split("|"), published(name).split("|")
    assert cells[8] == stated[8]
    assert not IS_AS_IN_THE_GUIDE or row == published(name)


def mark_of(jobs: int) -> str | None:
    return next((mark for least, mark in reversed(MARKS) if jobs >= least), None)


async def test_new_owners_forge_no_mark_with_genesis_grants_and_get_no_more_grants_than_an_hour_pays(
    start_registry: StartRegistry,
):
    """The attack of 252 new owners, once good for a Sovereign mark and 25,000 units in a minute, gets no mark and one hour's grants."""
    registry = await start_registry(genesis_grants_per_address=10**6, genesis_grants_per_hour=FIRST_HOUR)
    target = await registry.agent()
    played = await Forger(registry, target).with_genesis_grants(WITH_GRANTS)
    assert (played.jobs, played.mark, played.yielded) == (0, None, 0)
    # The target had the first grant of the hour.
    assert played.funded == 100 * (FIRST_HOUR - 1)
    assert played.fees > 0
    assert (await Rated(registry).reputation(target.did))["grade"] == "unrated"
    assert (await registry.supply())["status"] == "OK"
    require_published("new owners with genesis grants", played)


async def test_a_mark_forged_with_units_of_ones_own_costs_a_hundred_times_the_bonds_that_it_replaces(
    start_registry: StartRegistry,
):
    registry = await start_registry()
    target = await registry.agent()
    played = await Forger(registry, target).with_units_of_its_own(WITH_OWN_UNITS)
    assert (played.jobs, played.mark) == (WITH_OWN_UNITS, mark_of(WITH_OWN_UNITS))
    assert played.fees >= Decimal("0.01") * WITH_OWN_UNITS
    assert played.yielded > 0
    assert played.fees >= RECORD_COST * played.yielded
    assert RECORD_COST >= 100
    require_published("owners with units of their own", played)


async def test_a_lost_dispute_takes_the_fees_behind_a_record_as_a_slash_takes_a_bond(
    start_registry: StartRegistry,
):
    registry = await start_registry()
    target, victim = await registry.agent(), await registry.agent()
    forger = Forger(registry, target)
    assert (await forger.with_units_of_its_own(5)).yielded > 0
    other = Forger(registry, await registry.agent())
    await other.with_units_of_its_own(1)
    await forger.rated.rule(victim, target, "IN_FAVOR_OF_COMPLAINANT")
    await forger.rated.rule(other.target, victim, "IN_FAVOR_OF_DEFENDANT")
    await forger.rated.compute()
    fees = await registry.database.query(
        lambda tx: tx.fetch("SELECT agent_did, fees, jobs_verified FROM reputation_record WHERE fees > 0")
    )
    # A complainant that lost keeps them.
    assert [(row["agent_did"], row["jobs_verified"]) for row in fees] == [(other.target.did, 1)]
    assert (await forger.rated.track_record(target.did))["jobs_verified"] == 5
